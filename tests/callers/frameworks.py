"""Agents of the frameworks, each a program in the environment that has them."""

import json
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.callers.cases import STRICT, Caller, CallerError, Running
from tests.gateway.proxies import proxy
from tests.integration.frameworks import environment
from tests.support import ran

AGENTS = Path(__file__).with_name("agents")
LIBRARIES = ["google-genai", "langchain", "openai-agents", "pydantic-ai-slim", "smolagents"]
OTHERS = [
    "crewai",
    "dspy",
    "llama-index-core",
    "agent-framework-openai",
    "google-adk",
    "haystack-ai",
    "strands-agents",
]


SETTINGS = {"streams": False, "forced": "", "thinks": False, "strict": False}


class Framework:
    """An agent that is asked through lines of JSON; see `agents/loop.py`."""

    def __init__(
        self,
        command: Sequence[str | Path],
        url: str,
        service: str,
        about: dict[str, str],
        **options: Any,
    ) -> None:
        self._process = subprocess.Popen(
            command,
            cwd=environment.ROOT,
            env=environment.settings(url, service),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._exchange({**SETTINGS, "about": about, **options})

    def ask(self, text: str) -> list[str]:
        """Return the names of the tools that were called."""
        called: list[str] = self._exchange({"ask": text})["called"]
        return called

    def drop(self, name: str) -> None:
        """Remove a tool from the next requests."""
        self._write({"drop": name})

    def close(self) -> None:
        """End the agent's input, and wait for it."""
        self._process.communicate(timeout=environment.AGENT_S)

    def _exchange(self, line: dict[str, Any]) -> dict[str, Any]:
        self._write(line)
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline() or "{}")
        if not answer:
            raise RuntimeError("the agent has ended")
        if "error" in answer:
            raise CallerError(answer["error"], answer["kinds"])
        return answer

    def _write(self, line: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        print(json.dumps(line), file=self._process.stdin, flush=True)


class Proxied(Framework):
    """The same before `toolscout proxy`."""

    def __init__(
        self, command: Sequence[str | Path], url: str, service: str, *args: Any, **options: Any
    ) -> None:
        self.stack = ExitStack()
        address = self.stack.enter_context(proxy(url, selector=service)).url
        super().__init__(command, address, service, *args, **options)

    def close(self) -> None:
        super().close()
        self.stack.close()


def behind_proxy(agent: str) -> Any:
    """Return what starts an agent whose framework takes no transport."""

    def start(url: str, service: str, about: dict[str, str], **options: Any) -> Running:
        command = [environment.other_python(), AGENTS / f"{agent}.py"]
        return Proxied(command, url, service, about, **options)

    return start


def of(agent: str, *form: str) -> Any:
    def start(url: str, service: str, about: dict[str, str], **options: Any) -> Running:
        command = [environment.python(), AGENTS / f"{agent}.py", *form]
        return Framework(command, url, service, about, **options)

    return start


def versions() -> dict[str, str]:
    """Those of the frameworks."""
    code = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    found: dict[str, str] = {}
    for python, names in (environment.python(), LIBRARIES), (environment.other_python(), OTHERS):
        printed = ran([python, "-c", code, *names]).stdout
        found |= zip(names, printed.split(), strict=True)
    return found


MUST_CALL = "`tool_choice: none`"
"""No case for a run that ends by a call."""

CALLERS = [
    Caller("LangChain agent", "1, and 1 for blocking calls", of("langchain_agent")),
    Caller("OpenAI Agents SDK", "1", of("agents_sdk")),
    Caller("pydantic-ai agent", "1", of("pydantic_ai_agent")),
    Caller(
        "pydantic-ai agent, `output_type`",
        "1",
        of("pydantic_ai_agent", "structured"),
        [MUST_CALL],
        ends="final_result",
    ),
    Caller(
        "LangChain agent, `ToolStrategy`",
        "1, and 1 for blocking calls",
        of("langchain_agent", "structured"),
        [MUST_CALL],
        ends="Answer",
    ),
    Caller(
        "smolagents `ToolCallingAgent`",
        "1",
        of("smolagents_agent"),
        ["forced choice", "removed tools in the history", MUST_CALL, STRICT],
        ends="final_answer",
    ),
    Caller("google-genai", "1", of("google_genai")),
    Caller("LlamaIndex `FunctionAgent`", "0, one variable", behind_proxy("llama_index_agent")),
    Caller(
        "CrewAI agent",
        "0, one variable",
        behind_proxy("crewai_agent"),
        ["forced choice", "removed tools in the history", MUST_CALL],
    ),
    Caller(
        "DSPy `ReActV2`",
        "0, one variable",
        behind_proxy("dspy_agent"),
        ["forced choice", MUST_CALL],
        ends="submit",
    ),
    Caller("Strands agent", "0, one variable", behind_proxy("strands_agent")),
    Caller("Haystack agent", "0, one variable", behind_proxy("haystack_agent")),
    Caller("Google ADK agent", "0, one variable", behind_proxy("adk_agent")),
    Caller("Microsoft Agent Framework", "0, one variable", behind_proxy("agent_framework_agent")),
]
