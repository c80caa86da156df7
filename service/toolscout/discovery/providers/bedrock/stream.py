"""The stream of Bedrock Converse."""

from typing import Any

from toolscout.discovery import wire
from toolscout.discovery.providers.bedrock import framing
from toolscout.discovery.providers.bedrock.framing import Event
from toolscout.discovery.providers.calls import called_through, with_calls
from toolscout.discovery.providers.provider import Json, arguments_of, mapping
from toolscout.discovery.providers.usage import add

_OF_BLOCKS = ("contentBlockStart", "contentBlockDelta", "contentBlockStop")
_ENDS = ("messageStop", "metadata")
_AT = "contentBlockIndex"


class BedrockStream:
    """Removes blocks of searches and renumbers the others.

    Reasoning is held back until the next block: before a search it belongs to a turn that the
    client never sees.
    """

    def __init__(self, search_name: str, dispatch_name: str = "") -> None:
        self._search_name = search_name
        self._dispatch_name = dispatch_name
        self._started = False
        self._count = 0
        """Blocks that went to the client."""
        self._spent: Json | None = None
        self._usage: Json | None = None
        self.next_turn()

    def next_turn(self) -> None:
        """Reset, except for the blocks sent to the client and the usage."""
        self._spent, self._usage = add(self._spent, self._usage), None
        self.wrote = False
        self._splitter = framing.Splitter()
        self._blocks: dict[Any, Json] = {}
        self._inputs: dict[Any, list[str]] = {}
        self._places: dict[Any, int] = {}
        self._dispatched: dict[Any, list[Event]] = {}
        """Events of calls through the dispatch tool, which wait for the end of their block."""
        self._waiting: list[Event] = []
        self._held: list[Event] = []

    def feed(self, chunk: bytes) -> bytes:
        """See `Stream.feed`."""
        out = wire.handled(self._splitter.feed(chunk), self._handle)
        self.wrote = self.wrote or bool(out)
        return out

    def response(self) -> Json:
        """The message with all its blocks."""
        content = []
        for index, block in sorted(self._blocks.items(), key=lambda item: str(item[0]).zfill(9)):
            if "toolUse" in block:
                given = arguments_of("".join(self._inputs.get(index, ())))
                block = {"toolUse": {**block["toolUse"], "input": given}}
            content.append(block)
        return {"output": {"message": {"role": "assistant", "content": content}}}

    def finish(self) -> bytes:
        """Return the stop reason and the usage; without a real call the reason is `end_turn`."""
        out = b"".join(map(self._renumbered, self._waiting))
        called = any("toolUse" in self._blocks[index] for index in self._places)
        for event in self._held:
            data = event.data or {}
            changed = dict(data)
            if data.get("stopReason") == "tool_use" and not called:
                changed["stopReason"] = "end_turn"
            if self._spent is not None and mapping(data.get("usage")):
                changed["usage"] = add(self._spent, data["usage"])
            out += event.raw if changed == data else framing.write(event.headers, changed)
        self._waiting, self._held = [], []
        return out + self._splitter.end()

    def rest(self) -> bytes:
        """See `Stream.rest`."""
        return self._splitter.end()

    def fail(self, status: int, error: Json) -> bytes:
        """Return an exception in a frame."""
        return framing.write_exception(status, error)

    def _handle(self, event: Event) -> bytes:
        data = event.data or {}
        if event.kind == "messageStart":
            started, self._started = self._started, True
            return b"" if started else event.raw
        if event.kind in _ENDS:
            self._usage = mapping(data.get("usage")) or self._usage
            self._held.append(event)
            return b""
        if event.kind not in _OF_BLOCKS:
            if not event.kind:
                # After an exception no block ends properly, not even a search that has begun.
                self._waiting, self._held, self._blocks, self._places = [], [], {}, {}
            return event.raw
        return self._handle_block(event, data)

    def _handle_block(self, event: Event, data: Json) -> bytes:
        block = self._collect(data)
        name = mapping(block.get("toolUse")).get("name")
        if name == self._search_name:
            return b""
        if self._dispatch_name and name == self._dispatch_name:
            held = self._dispatched.setdefault(data.get(_AT), [])
            held.append(event)
            if event.kind != "contentBlockStop":
                return b""
            self._waiting += self._named(data.get(_AT), held)
        else:
            self._waiting.append(event)
        if "reasoningContent" in block:
            return b""
        before, self._waiting = self._waiting, []
        return b"".join(map(self._renumbered, before))

    def _named(self, index: Any, held: list[Event]) -> list[Event]:
        """Return the events of a call through the dispatch tool, as of a call of its tool."""
        given = "".join(self._inputs.get(index, ()))
        whole = {"toolUse": {**self._blocks[index]["toolUse"], "input": given}}
        call = with_calls(whole, called_through(self._dispatch_name))["toolUse"]
        start, *pieces, stop = held
        block = {key: value for key, value in call.items() if key != "input"}
        events = [Event(b"", start.headers, start.kind, {_AT: index, "start": {"toolUse": block}})]
        for piece in pieces[:1]:
            delta = {"toolUse": {"input": call["input"]}}
            events.append(Event(b"", piece.headers, piece.kind, {_AT: index, "delta": delta}))
        return [*events, stop]

    def _collect(self, data: Json) -> Json:
        """Record what an event says of a block; return the block as far as it is known."""
        index = data.get(_AT)
        block = self._blocks.setdefault(index, {})
        block |= mapping(data.get("start"))
        delta = mapping(data.get("delta"))
        if isinstance(delta.get("text"), str):
            block["text"] = block.get("text", "") + delta["text"]
        if "toolUse" in delta:
            piece = mapping(delta["toolUse"]).get("input")
            self._inputs.setdefault(index, []).append(piece if isinstance(piece, str) else "")
        if "reasoningContent" in delta:
            _add_reasoning(block.setdefault("reasoningContent", {}), delta["reasoningContent"])
        return block

    def _renumbered(self, event: Event) -> bytes:
        """Renumber an event of a block for the client."""
        data = event.data or {}
        index = data.get(_AT)
        if index not in self._places:
            self._places[index] = self._count
            self._count += 1
        place = self._places[index]
        if place == index and event.raw:
            return event.raw
        return framing.write(event.headers, {**data, _AT: place})


def _add_reasoning(block: Json, piece: Any) -> None:
    """Add a piece of reasoning; a request has its texts one level deeper than the stream."""
    given = mapping(piece)
    if isinstance(given.get("redactedContent"), str):
        block["redactedContent"] = block.get("redactedContent", "") + given["redactedContent"]
    for key in ("text", "signature"):
        if isinstance(given.get(key), str):
            text = block.setdefault("reasoningText", {})
            text[key] = text.get(key, "") + given[key]
