"""An environment with the frameworks and this package, and agents that run in it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.client.upstream import peer
from tests.integration.venvs import ROOT, interpreter
from tests.support import environment, ran
from tests.turns.model import ScriptedModel

VENV = ROOT / ".venv-frameworks"
AGENTS = Path(__file__).with_name("agents")
PACKAGES = tuple(
    (
        "anthropic>=2,<3 boto3>=1.40,<2 fastmcp>=4,<5 google-genai>=3,<4 langchain>=1.4,<2 "
        "langchain-anthropic>=1.7,<2 langchain-openai>=1.7,<2 openai>=3,<4 openai-agents>=0.24,<1 "
        "pydantic-ai-slim[anthropic,openai]>=2.68,<3 smolagents[openai]>=1.26,<2"
    ).split()
)
OTHER_VENV = ROOT / ".venv-agents"
OTHER_PACKAGES = tuple(
    (
        "agent-framework-openai>=1.17,<2 crewai>=1.15,<2 dspy>=3.4,<4 google-adk>=2.13,<3 "
        "haystack-ai>=3.4,<4 llama-index-core>=0.14,<1 llama-index-llms-openai>=0.8,<1 "
        "strands-agents[openai]>=1.62,<2"
    ).split()
)
"""Frameworks that need an older SDK of OpenAI or Google; they stand before a proxy."""

AGENT_S = 120
QUESTION = "please write to a@b.example"
"""What every agent is asked; the scripted model answers it with a call of `send_email`."""


def python() -> Path:
    """Return the interpreter of an environment with the frameworks, made on first use."""
    return interpreter(VENV, [*PACKAGES, "-e", f"{ROOT}[proxy]"])


def other_python() -> Path:
    """Return the interpreter of an environment with the others."""
    return interpreter(OTHER_VENV, OTHER_PACKAGES)


def settings(upstream: str, service: str, **more: str) -> dict[str, str]:
    """Return the environment variables of an agent before an upstream and a service."""
    env = environment(
        TOOLSCOUT_ENDPOINT=service,
        OPENAI_BASE_URL=upstream,
        OPENAI_API_KEY="none",
        ANTHROPIC_BASE_URL=upstream,
        ANTHROPIC_API_KEY="none",
        OPENAI_AGENTS_DISABLE_TRACING="1",
        FASTMCP_CHECK_FOR_UPDATES="off",
        GOOGLE_API_KEY="none",
        LITELLM_LOCAL_MODEL_COST_MAP="True",
        HAYSTACK_TELEMETRY_ENABLED="False",
        CREWAI_DISABLE_TELEMETRY="true",
        CREWAI_TRACING_ENABLED="false",
        **more,
    )
    return {name: value for name, value in env.items() if name != "PYTHONPATH"}


def run(script: Path, *arguments: str, env: dict[str, str]) -> str:
    """Return what a program prints in the environment with the frameworks."""
    done = ran([python(), script, *arguments], cwd=ROOT, env=env, timeout=AGENT_S)
    return done.stdout.strip()


def ask(agent: str, *arguments: str, upstream: str, service: str) -> dict[str, Any]:
    """Return what an agent answers to the question, and which tools it called."""
    printed = run(AGENTS / f"{agent}.py", *arguments, QUESTION, env=settings(upstream, service))
    answer: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return answer


@contextmanager
def strict_model(model: ScriptedModel | None = None) -> Iterator[tuple[ScriptedModel, str]]:
    """Yield a model that writes the email, and its address; a refused request is a failure."""
    model = model or ScriptedModel({"to": "a@b.example"})
    with peer(model) as upstream:
        yield model, upstream.url
    assert model.refused == []


HOW = pytest.mark.parametrize("how", ["plain", "stream"])
