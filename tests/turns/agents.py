"""Loops around the real SDKs, as their users write them: an agent answers a question with tools."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from tests.client.upstream import Exchange, Peer, peer
from tests.turns.model import ScriptedModel
from tests.turns.pictures import show
from tests.turns.shapes import BY_NAME, Json, Shape

MODELS = {"openai": "gpt-5.4", "openai-responses": "gpt-5.4", "anthropic": "claude-opus-5"}
QUESTION = "please write to a@b.example"


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


@pytest.fixture
def upstream(model: ScriptedModel) -> Iterator[Peer]:
    with peer(model) as started:
        yield started


@pytest.fixture
def service() -> Iterator[Peer]:
    """Yield a service that finds other tools for what the user says than for the model."""

    def script(exchange: Exchange) -> None:
        exchange.select("tool_3" if exchange.json["pattern"] == QUESTION else "send_email")

    with peer(script) as started:
        yield started


OPEN: list["Agent"] = []
"""Those that are closed when the test ends."""


THINKING = {"type": "enabled", "budget_tokens": 1_024}
STRICT: Json = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "note": {"type": ["string", "null"]}},
    "required": ["path", "note"],
    "additionalProperties": False,
}
"""A schema as `strict` wants it: every field is required, and what is optional may be null."""


def make_strict(tool: Json) -> Json:
    """Return a tool with the strict schema."""
    if "function" in tool:
        return {**tool, "function": make_strict(tool["function"])}
    key = "input_schema" if "input_schema" in tool else "parameters"
    return {**tool, key: STRICT, "strict": True}


class Agent:
    """A loop around a real SDK with a transport, as its user writes it."""

    def __init__(
        self,
        interface: str,
        url: str,
        transport: httpx2.BaseTransport,
        about: dict[str, str],
        *,
        model: str = "",
        streams: bool = False,
        forced: str = "",
        key: str = "k",
        thinks: bool = False,
        pictures: int = 0,
        strict: bool = False,
    ) -> None:
        self.interface = interface
        self.more = {"thinking": THINKING} if thinks else {}
        self.pictures = pictures
        self.strict = strict
        self.streams = streams
        self.model = model or MODELS[interface]
        self.shape: Shape = BY_NAME[interface]
        self.tools = [self.shape.tool(name, text) for name, text in about.items()]
        if strict:
            self.tools = [make_strict(tool) for tool in self.tools]
        choice = self.shape.forbidding() if forced == "none" else self.shape.forcing(forced)
        self.choice: Any = choice if forced else {}
        self.messages: list[Any] = []
        self.http = httpx2.Client(transport=transport)
        kind: Any = anthropic.Anthropic if interface == "anthropic" else openai.OpenAI
        self.client = kind(api_key=key, base_url=url, http_client=self.http, max_retries=0)
        OPEN.append(self)

    def ask(self, text: str) -> list[str]:
        """Answer a question; the names of the tools that were called."""
        content = show(self.interface, text, self.pictures)
        self.messages.append({"role": "user", "content": content})
        self.pictures = 0
        called: list[str] = []
        calls = [""]
        while calls:
            calls = getattr(self, self.interface.replace("-", "_"))()
            called += calls
            self.choice = {}
        return called

    def takes(self, arguments: Mapping[str, Any]) -> bool:
        """Whether the function of a tool can be called with these arguments."""
        return not self.strict or arguments.keys() == STRICT["properties"].keys()

    def drop(self, name: str) -> None:
        """Remove a tool from the next requests."""
        named = [self.shape.names({"tools": [tool]}) for tool in self.tools]
        self.tools = [t for t, names in zip(self.tools, named, strict=True) if names != [name]]

    def close(self) -> None:
        """Close the connections, and with them the transport."""
        self.http.close()

    def openai(self) -> list[str]:
        request: Any = {"model": self.model, "messages": self.messages, "tools": self.tools}
        request |= {**self.more, **self.choice}
        if self.streams:
            with self.client.chat.completions.stream(**request) as stream:
                completion = stream.get_final_completion()
        else:
            completion = self.client.chat.completions.create(**request)
        message = completion.choices[0].message
        self.messages.append(message.to_dict())
        calls = message.tool_calls or []
        for call in calls:
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": "sent"})
        return [c.function.name for c in calls if self.takes(json.loads(c.function.arguments))]

    def openai_responses(self) -> list[str]:
        request: Any = {"model": self.model, "input": self.messages, "tools": self.tools}
        request |= {**self.more, **self.choice}
        if self.streams:
            with self.client.responses.stream(**request) as stream:
                items = stream.get_final_response().output
        else:
            items = self.client.responses.create(**request).output
        self.messages += [item.to_dict() for item in items]
        calls = [item for item in items if item.type == "function_call"]
        for call in calls:
            output = {"type": "function_call_output", "call_id": call.call_id, "output": "sent"}
            self.messages.append(output)
        return [call.name for call in calls if self.takes(json.loads(call.arguments))]

    def anthropic(self) -> list[str]:
        request: Any = {"model": self.model, "messages": self.messages, "tools": self.tools}
        request |= {**self.more, **self.choice}
        if self.streams:
            with self.client.messages.stream(**request, max_tokens=9) as stream:
                message = stream.get_final_message()
        else:
            message = self.client.messages.create(**request, max_tokens=9)
        self.messages.append({"role": "assistant", "content": message.content})
        calls = [block for block in message.content if block.type == "tool_use"]
        told = [{"type": "tool_result", "tool_use_id": c.id, "content": "sent"} for c in calls]
        if told:
            self.messages.append({"role": "user", "content": told})
        return [call.name for call in calls if self.takes(call.input)]
