"""Anthropic's tool runner, in Python and in node, whose loop is the SDK's own."""

from typing import Any

import anthropic
import httpx2
from anthropic import beta_tool

from tests.callers.cases import THINKING, Caller, Running
from tests.callers.in_node import in_node
from tests.callers.sdks import BOTH
from tests.turns.agents import THINKING as THINKS
from tests.turns.pictures import show
from toolscout.discovery import Transport


class Runner:
    """Asks by `client.beta.messages.tool_runner`."""

    def __init__(
        self,
        kept: bool,
        url: str,
        service: str,
        about: dict[str, str],
        *,
        streams: bool = False,
        forced: str = "",
        thinks: bool = False,
        strict: bool = False,
        pictures: int = 0,
    ) -> None:
        self.about, self.streams, self.forced = about, streams, forced
        self.strict, self.pictures = strict, pictures
        self.options: Any = {} if kept else {"thread": False}
        self.options |= {"thinking": THINKS} if thinks else {}
        self.called: list[str] = []
        self.messages: list[Any] = []
        self.http = httpx2.Client(transport=Transport(service))
        self.client = anthropic.Anthropic(
            api_key="k", base_url=url, http_client=self.http, max_retries=0
        )

    def ask(self, text: str) -> list[str]:
        self.called = []
        self.messages.append({"role": "user", "content": show("anthropic", text, self.pictures)})
        self.pictures = 0
        choice: Any = {"type": "none"} if self.forced == "none" else None
        if self.forced and choice is None:
            choice = {"type": "tool", "name": self.forced}
        runner: Any = self.client.beta.messages.tool_runner(
            model="claude-opus-5",
            max_tokens=9,
            messages=self.messages,
            tools=[self._tool(*item) for item in self.about.items()],
            stream=self.streams,
            max_iterations=5,
            **self.options,
            **({"tool_choice": choice} if choice else {}),
        )
        for turn in runner:
            last = turn.get_final_message() if self.streams else turn
            if choice:
                runner.set_messages_params(
                    lambda params: params | {"tool_choice": {"type": "auto"}}
                )
        self.messages.append({"role": "assistant", "content": last.content})
        self.forced = ""
        return self.called

    def drop(self, name: str) -> None:
        del self.about[name]

    def close(self) -> None:
        self.http.close()

    def _tool(self, name: str, text: str) -> Any:
        def call(path: str) -> str:
            self.called.append(name)
            return "sent"

        def call_with(path: str, note: str | None) -> str:
            return call(path)

        if self.strict:
            return beta_tool(call_with, name=name, description=text, strict=True)
        return beta_tool(call, name=name, description=text)


def in_python(kept: bool) -> Any:
    def start(url: str, service: str, about: dict[str, str], **options: Any) -> Running:
        return Runner(kept, url, service, about, **options)

    return start


CALLERS = [
    Caller("Anthropic tool runner", "1", in_python(True), can=BOTH),
    Caller("Anthropic tool runner, `thread=False`", "1", in_python(False), can=BOTH),
    Caller(
        "Anthropic tool runner, node",
        "0, one variable",
        in_node("tool_runner", "kept"),
        can=[THINKING],
    ),
    Caller(
        "Anthropic tool runner, node, `thread: false`",
        "0, one variable",
        in_node("tool_runner", "sent"),
        can=[THINKING],
    ),
]
