"""Anthropic messages."""

from collections.abc import Sequence
from typing import Any

from toolscout.discovery.providers.anthropic.stream import AnthropicStream
from toolscout.discovery.providers.provider import (
    Answered,
    Call,
    Json,
    OpenStream,
    ProviderName,
    arguments_of,
    mappings,
    names_once,
    text_of,
)
from toolscout.discovery.providers.shape import Turns


class Anthropic(Turns):
    """`POST /v1/messages`."""

    name: ProviderName = "anthropic"
    stream: OpenStream | None = AnthropicStream

    def query(self, request: Json) -> str:
        """The last user message with text; those with only tool results are skipped."""
        texts = (text_of(turn.get("content")) for turn in reversed(self.user_turns(request)))
        return next(filter(None, texts), "")

    def recent(self, request: Json) -> list[str]:
        """Names in the assistant's `tool_use` blocks."""
        names = [
            block.get("name")
            for message in self.turns(request)
            for block in mappings(message.get("content"))
            if block.get("type") == "tool_use"
        ]
        return names_once(names)

    def passes(self, request: Json) -> bool:
        """Whether the provider keeps the conversation as a `thread`, and with it every search."""
        return bool(request.get("thread"))

    def function(self, name: str, description: str, schema: Json) -> Any:
        """A client tool."""
        return {"name": name, "description": description, "input_schema": schema}

    def calls(self, response: Json) -> list[Call]:
        """The `tool_use` blocks; calls that Anthropic runs itself are left out."""
        return [
            Call(str(block.get("id") or ""), name, arguments_of(block.get("input")))
            for block in mappings(response.get("content"))
            if block.get("type") == "tool_use" and isinstance(name := block.get("name"), str)
        ]

    def continued(self, request: Json, response: Json, results: Sequence[Answered]) -> Json:
        """The model's whole turn (thinking blocks must come back unchanged), then the results."""
        answered = {call.id for call, *_ in results}
        content = [
            block
            for block in mappings(response.get("content"))
            if block.get("type") != "tool_use" or block.get("id") in answered
        ]
        blocks = [
            {"type": "tool_result", "tool_use_id": call.id, "content": text}
            for call, text, _ in results
        ]
        turns = [{"role": "assistant", "content": content}, {"role": "user", "content": blocks}]
        return {**request, "messages": [*(request.get("messages") or []), *turns]}

    def without_calls(self, response: Json, name: str) -> Json:
        """Remove these blocks; a turn without other calls ends with `end_turn`."""
        blocks = mappings(response.get("content"))
        kept = [b for b in blocks if b.get("type") != "tool_use" or b.get("name") != name]
        if len(kept) == len(blocks):
            return response
        stripped = {**response, "content": kept}
        if not any(block.get("type") == "tool_use" for block in kept):
            stripped["stop_reason"] = "end_turn"
        return stripped
