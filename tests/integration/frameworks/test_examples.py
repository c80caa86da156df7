"""The examples with frameworks run as they say, before a scripted model and the real service."""

import json

import pytest

from tests.integration.frameworks.environment import (
    AGENTS,
    QUESTION,
    python,
    run,
    settings,
    strict_model,
)
from tests.integration.venvs import ROOT
from tests.support import Process
from tests.turns.model import PHANTOM, ScriptedModel
from tests.turns.shapes import BY_NAME, Json, Said

pytestmark = pytest.mark.integration

EXAMPLES = ROOT / "examples"
FRAMEWORK_AGENTS = {
    "langchain_agent": ("openai", "GraphRecursionError", 10),
    "agents_sdk": ("openai-responses", "MaxTurnsExceeded", 10),
    "pydantic_ai_agent": ("anthropic", "UsageLimitExceeded", 10),
}
"""The interface that an agent uses, how its limit shows, and the calls of the model up to there."""


@pytest.mark.parametrize("example", FRAMEWORK_AGENTS)
def test_an_agent_finds_and_calls_its_tool(example: str, server: Process):
    with strict_model() as (model, upstream):
        said = run(
            EXAMPLES / f"{example}.py", *QUESTION.split(), env=settings(upstream, server.url)
        )
    assert said.startswith("It said: ")
    assert "sent to a@b.example" in said
    first, second = model.seen(BY_NAME[FRAMEWORK_AGENTS[example][0]])
    assert first == second
    assert "send_email" in first
    assert len(set(first) - {PHANTOM}) < 8


class Restless(ScriptedModel):
    """Calls a tool again and again."""

    def say(self, interface: str, body: Json) -> Said:
        call = (f"call_{len(self.requests)}", self.wants, self.arguments)
        return Said("Once more.", (call,))


@pytest.mark.parametrize("example", FRAMEWORK_AGENTS)
def test_a_model_that_never_answers_is_stopped(example: str, server: Process):
    _, error, calls = FRAMEWORK_AGENTS[example]
    with (
        strict_model(Restless({"to": "a@b.example"})) as (model, upstream),
        pytest.raises(AssertionError, match=error),
    ):
        run(EXAMPLES / f"{example}.py", *QUESTION.split(), env=settings(upstream, server.url))
    assert len(model.requests) == calls


def test_a_host_searches_the_tools_of_the_fastmcp_server(server: Process):
    host, script = AGENTS / "stdio_host.py", EXAMPLES / "fastmcp_server.py"
    env = settings("http://127.0.0.1:9", server.url)
    said = json.loads(run(host, str(python()), str(script), env=env))
    assert said["listed"] == ["search_tools", "call_tool"]
    assert said["found"][0] == "send_email"
    assert said["answer"] == "sent to a@b.example"
