"""The stream of Anthropic messages."""

from typing import Any

from toolscout.discovery import wire
from toolscout.discovery.providers import sse
from toolscout.discovery.providers.calls import called_through, with_calls
from toolscout.discovery.providers.provider import Json, arguments_of, mapping
from toolscout.discovery.providers.usage import add

_PIECES = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
_THINKING = ("thinking", "redacted_thinking")


class AnthropicStream:
    """Removes blocks of searches and renumbers the others.

    Thinking is held back until the next block: before a search it belongs to a turn that the client
    never sees, and its signature would not fit into the client's turn.
    """

    def __init__(self, search_name: str, dispatch_name: str = "") -> None:
        self._search_name = search_name
        self._dispatch_name = dispatch_name
        self._started = False
        self._count = 0
        """Blocks that went to the client."""
        self._spent: Json | None = None
        self._usage: Json = {}
        self.next_turn()

    def next_turn(self) -> None:
        """Reset, except for the blocks sent to the client and the usage."""
        self._spent, self._usage = add(self._spent, self._usage or None), {}
        self.wrote = False
        self._splitter = sse.Splitter()
        self._blocks: dict[Any, Json] = {}
        self._inputs: dict[Any, list[str]] = {}
        self._places: dict[Any, int] = {}
        self._dispatched: dict[Any, list[sse.Event]] = {}
        """Events of calls through the dispatch tool, which wait for the end of their block."""
        self._waiting: list[sse.Event] = []
        self._held: list[sse.Event] = []
        self._calls = 0

    def feed(self, chunk: bytes) -> bytes:
        """See `Stream.feed`."""
        out = wire.handled(self._splitter.feed(chunk), self._handle)
        self.wrote = self.wrote or bool(out)
        return out

    def response(self) -> Json:
        """The message with all its blocks."""
        content = []
        for index, block in sorted(self._blocks.items(), key=lambda item: str(item[0]).zfill(9)):
            pieces = self._inputs.get(index)
            whole = block if pieces is None else {**block, "input": arguments_of("".join(pieces))}
            content.append(whole)
        return {"role": "assistant", "content": content}

    def finish(self) -> bytes:
        """Return the stop reason and the end; without a real call it is `end_turn`."""
        out = b"".join(self._renumbered(event) for event in self._waiting)
        self._waiting = []
        for event in self._held:
            data = event.data or {}
            delta = mapping(data.get("delta"))
            changed = dict(data)
            if delta.get("stop_reason") == "tool_use" and not self._calls:
                changed["delta"] = {**delta, "stop_reason": "end_turn"}
            if self._spent is not None and "usage" in data:
                changed["usage"] = add(self._spent, self._usage)
            out += event.raw if changed == data else sse.write(changed, "message_delta")
        self._held = []
        return out

    def rest(self) -> bytes:
        """See `Stream.rest`."""
        return self._splitter.end()

    def fail(self, status: int, error: Json) -> bytes:
        """Return the event `error`."""
        return sse.write({"type": "error", "error": error}, "error")

    def _handle(self, event: sse.Event) -> bytes:
        data = event.data or {}
        kind = data.get("type")
        if kind == "message_start":
            self._count_usage(mapping(data.get("message")))
            started, self._started = self._started, True
            return b"" if started else event.raw
        if kind in ("message_delta", "message_stop"):
            self._count_usage(data)
            self._held.append(event)
            return b""
        if kind == "error":
            # After an error no block ends properly, not even a search that has begun.
            self._waiting, self._held, self._blocks = [], [], {}
        if kind not in ("content_block_start", "content_block_delta", "content_block_stop"):
            return event.raw
        return self._handle_block(kind, data.get("index"), event)

    def _handle_block(self, kind: str, index: Any, event: sse.Event) -> bytes:
        self._collect(kind, index, event.data or {})
        block = self._blocks.get(index, {})
        if block.get("type") == "tool_use" and block.get("name") == self._search_name:
            return b""
        if block.get("type") in _THINKING:
            self._waiting.append(event)
            return b""
        if self._dispatch_name and block.get("name") == self._dispatch_name:
            self._dispatched.setdefault(index, []).append(event)
            if kind != "content_block_stop":
                return b""
            self._waiting += self._named(index)
        else:
            self._waiting.append(event)
        before, self._waiting = self._waiting, []
        return b"".join(map(self._renumbered, before))

    def _named(self, index: Any) -> list[sse.Event]:
        """Return the events of a call through the dispatch tool, as of a call of its tool."""
        whole = {**self._blocks[index], "input": "".join(self._inputs.get(index, ()))}
        call = with_calls(whole, called_through(self._dispatch_name))
        start, *_, stop = self._dispatched.pop(index)
        piece = {"type": "input_json_delta", "partial_json": call["input"]}
        block = {**call, "input": {}}
        events = [
            {**(start.data or {}), "content_block": block},
            {"type": "content_block_delta", "index": index, "delta": piece},
        ]
        return [*(sse.Event(b"", data) for data in events), stop]

    def _count_usage(self, holder: Json) -> None:
        """Record a usage; later events of a turn replace earlier ones."""
        usage = mapping(holder.get("usage"))
        self._usage |= {key: value for key, value in usage.items() if value is not None}

    def _collect(self, kind: Any, index: Any, data: Json) -> None:
        if kind == "content_block_start":
            block = dict(mapping(data.get("content_block")))
            self._blocks[index] = block
            ours = block.get("name") == self._search_name
            self._calls += block.get("type") == "tool_use" and not ours
        elif kind == "content_block_delta" and index in self._blocks:
            delta = mapping(data.get("delta"))
            block = self._blocks[index]
            field = _PIECES.get(str(delta.get("type")))
            if field is not None:
                block[field] = str(block.get(field) or "") + str(delta.get(field) or "")
            elif delta.get("type") == "input_json_delta":
                self._inputs.setdefault(index, []).append(str(delta.get("partial_json") or ""))
            elif delta.get("type") == "citations_delta":
                block["citations"] = [*(block.get("citations") or []), delta.get("citation")]

    def _renumbered(self, event: sse.Event) -> bytes:
        """Renumber an event of a block for the client."""
        data = event.data or {}
        index = data.get("index")
        if index not in self._places:
            self._places[index] = self._count
            self._count += 1
        place = self._places[index]
        if place == index and event.raw:
            return event.raw
        return sse.write({**data, "index": place}, str(data.get("type")))
