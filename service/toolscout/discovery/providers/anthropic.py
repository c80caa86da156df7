"""Anthropic messages and their stream."""

from typing import Any

from toolscout.discovery.providers import sse
from toolscout.discovery.providers.blocks import Blocks, BlockStream, Names
from toolscout.discovery.providers.fields import Json, mapping
from toolscout.discovery.providers.provider import Called, OpenStream, ProviderName
from toolscout.discovery.providers.sse import Event
from toolscout.discovery.providers.usage import add

_PIECES = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
_THINKING = ("thinking", "redacted_thinking")


class AnthropicStream(BlockStream):
    """The stream of `POST /v1/messages`."""

    names = Names(
        message_start="message_start",
        start="content_block_start",
        delta="content_block_delta",
        stop="content_block_stop",
        message_ends=("message_delta", "message_stop"),
        error="error",
        at="index",
    )

    def fail(self, status: int, error: Json) -> bytes:
        """Return the event `error`."""
        return sse.write({"type": "error", "error": error}, "error")

    def _end(self, event: Event) -> bytes:
        """Without a real call the stop reason is `end_turn`."""
        data = dict(event.data or {})
        delta = mapping(data.get("delta"))
        if delta.get("stop_reason") == "tool_use" and not self._calls:
            data["delta"] = {**delta, "stop_reason": "end_turn"}
        if self._spent is not None and "usage" in data:
            data["usage"] = add(self._spent, self._usage)
        return self._with_data(event, data)

    def _write(self, event: Event, data: Json) -> bytes:
        return sse.write(data, str(data.get("type")))

    def _called(self, block: Json) -> Any:
        return block.get("name") if block.get("type") == "tool_use" else None

    def _is_thinking(self, block: Json) -> bool:
        return block.get("type") in _THINKING

    def _collect(self, event: Event, index: Any) -> Json:
        data = event.data or {}
        if event.kind == self.names.start:
            self._blocks[index] = dict(mapping(data.get("content_block")))
        block = self._blocks.get(index, {})
        delta = mapping(data.get("delta"))
        kind = str(delta.get("type"))
        if field := _PIECES.get(kind):
            block[field] = str(block.get(field) or "") + str(delta.get(field) or "")
        elif kind == "input_json_delta" and index in self._blocks:
            self._inputs.setdefault(index, []).append(str(delta.get("partial_json") or ""))
        elif kind == "citations_delta":
            block["citations"] = [*(block.get("citations") or []), delta.get("citation")]
        return block

    def _with_input(self, block: Json, given: Any) -> Json:
        return {**block, "input": given}

    def _events_of(self, call: Json, opened: list[Event]) -> list[Event]:
        kind, data = opened[0].kind, opened[0].data or {}
        piece = {"type": "input_json_delta", "partial_json": call["input"]}
        delta = {"type": self.names.delta, "index": data.get("index"), "delta": piece}
        block = {**call, "input": {}}
        return [Event(b"", {**data, "content_block": block}, kind), Event(b"", delta)]


class Anthropic(Blocks):
    """`POST /v1/messages`."""

    name: ProviderName = "anthropic"
    stream: OpenStream | None = AnthropicStream
    reason_key = "stop_reason"

    def passes(self, request: Json) -> bool:
        """Return whether the conversation is kept as a `thread`, and with it every search."""
        return bool(request.get("thread"))

    def function(self, name: str, description: str, schema: Json) -> Any:
        """Return a client tool."""
        return {"name": name, "description": description, "input_schema": schema}

    def turn_of(self, response: Json) -> Json:
        """Return the response itself."""
        return response

    def call_in(self, part: Json, place: int = 0) -> Called | None:
        """Return that of a `tool_use` block; those that Anthropic runs itself are none."""
        called = part.get("id"), part.get("name"), part.get("input")
        return called if part.get("type") == "tool_use" else None

    def result(self, call_id: str, text: str) -> Json:
        """Return a `tool_result` block."""
        return {"type": "tool_result", "tool_use_id": call_id, "content": text}

    def with_blocks(self, response: Json, blocks: list[Json]) -> Json:
        """Return the response with other `content`."""
        return {**response, "content": blocks}
