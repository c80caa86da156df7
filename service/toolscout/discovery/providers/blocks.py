"""What Anthropic's messages and Bedrock's Converse share: turns that are lists of blocks."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from toolscout.discovery.providers.fields import Json, arguments_of, mapping, text_of
from toolscout.discovery.providers.provider import Provider, SearchResult
from toolscout.discovery.providers.sse import Event
from toolscout.discovery.providers.stream import Stream


class Blocks(Provider):
    """Base of providers whose turns are lists of blocks."""

    reason_key: str
    """Where a response says why it ended."""

    def query(self, request: Json) -> str:
        """Return the last user message with text; skip those with only tool results."""
        texts = (text_of(turn.get("content")) for turn in reversed(self.user_turns(request)))
        return next(filter(None, texts), "")

    @abstractmethod
    def result(self, call_id: str, text: str) -> Json:
        """Return the block with the result of a call."""

    @abstractmethod
    def with_blocks(self, response: Json, blocks: list[Json]) -> Json:
        """Return the response with other blocks."""

    def continued(self, request: Json, response: Json, results: Sequence[SearchResult]) -> Json:
        """Append the whole turn (thinking must come back unchanged), then the results."""
        blocks = [self.result(call.id, text) for call, text, _ in results]
        turns = [
            {"role": "assistant", "content": self.answered(response, results)},
            {"role": "user", "content": blocks},
        ]
        return {**request, "messages": [*(request.get("messages") or []), *turns]}

    def without_calls(self, response: Json, name: str) -> Json:
        """Remove these blocks; a turn without other calls ends with `end_turn`."""
        blocks = self.parts_of(self.turn_of(response))
        kept = [b for b in blocks if not (call := self.call_in(b)) or call[1] != name]
        if len(kept) == len(blocks):
            return response
        reason = {} if any(map(self.call_in, kept)) else {self.reason_key: "end_turn"}
        return {**self.with_blocks(response, kept), **reason}


class Names(NamedTuple):
    """What a provider calls the events of a stream of blocks."""

    message_start: str
    start: str
    """Of a block, as the next two."""
    delta: str
    stop: str
    message_ends: tuple[str, str]
    error: str
    at: str
    """Key of the position of a block."""


class BlockStream(Stream):
    """Removes blocks of searches and renumbers the others.

    Thinking is held back until the next block: before a search it belongs to a turn that the client
    never sees, and its signature would not fit into the client's turn.
    """

    names: Names

    def __init__(self, search_name: str, dispatch_name: str = "") -> None:
        self._started = False
        super().__init__(search_name, dispatch_name)

    def next_turn(self) -> None:
        """Reset, except for the blocks sent to the client and the usage."""
        super().next_turn()
        self._blocks: dict[Any, Json] = {}
        self._inputs: dict[Any, list[str]] = {}
        self._unnamed: dict[Any, list[Event]] = {}
        """Events of calls through the dispatch tool, which wait for the end of their block."""
        self._waiting: list[Event] = []
        self._calls = 0
        """Calls that went to the client."""

    def response(self) -> Json:
        """Return the message with all its blocks."""
        blocks = sorted(self._blocks.items(), key=lambda item: str(item[0]).zfill(9))
        content = [
            block
            if (pieces := self._inputs.get(index)) is None
            else self._with_input(block, arguments_of("".join(pieces)))
            for index, block in blocks
        ]
        return {"role": "assistant", "content": content}

    def _handle(self, event: Event) -> bytes:
        data = event.data or {}
        if event.kind in (self.names.start, self.names.delta, self.names.stop):
            return self._handle_block(event, data.get(self.names.at))
        if event.kind == self.names.message_start:
            self._count_usage(mapping(data.get("message")))
            started, self._started = self._started, True
            return b"" if started else event.raw
        if event.kind in self.names.message_ends:
            self._count_usage(data)
            self._held.append(event)
            return b""
        if event.kind == self.names.error:
            # After an error no block ends properly, not even a search that has begun.
            self._waiting, self._held, self._calls = [], [], 0
            self._blocks, self._inputs, self._places = {}, {}, {}
        return event.raw

    def _handle_block(self, event: Event, index: Any) -> bytes:
        block = self._collect(event, index)
        name = self._called(block)
        if name == self._search_name:
            return b""
        if self._dispatch_name and name == self._dispatch_name:
            self._unnamed.setdefault(index, []).append(event)
            if event.kind != self.names.stop:
                return b""
            self._waiting += self._named(index, self._unnamed.pop(index))
        else:
            self._waiting.append(event)
        return b"" if self._is_thinking(block) else self._release()

    def _release(self) -> bytes:
        before, self._waiting = self._waiting, []
        return b"".join(map(self._renumbered, before))

    def _renumbered(self, event: Event) -> bytes:
        """Renumber an event of a block for the client."""
        data, at = event.data or {}, self.names.at
        index = data.get(at)
        if event.kind == self.names.start and self._called(self._blocks.get(index, {})):
            self._calls += 1
        return self._with_data(event, {**data, at: self._place(index)})

    def _named(self, index: Any, held: list[Event]) -> list[Event]:
        """Return the events of a call through the dispatch tool, as of a call of its tool."""
        given = "".join(self._inputs.get(index, ()))
        call = self._dispatched(self._with_input(self._blocks[index], given))
        *opened, stop = held
        return [*self._events_of(call, opened), stop]

    def _count_usage(self, holder: Json) -> None:
        """Record a usage; later events of a turn replace earlier ones."""
        usage = mapping(holder.get("usage"))
        self._usage |= {key: value for key, value in usage.items() if value is not None}

    @abstractmethod
    def _called(self, block: Json) -> Any:
        """Return the name of the tool that a block calls; None if it is no call."""

    @abstractmethod
    def _is_thinking(self, block: Json) -> bool:
        """Return whether a block belongs to what follows it."""

    @abstractmethod
    def _collect(self, event: Event, index: Any) -> Json:
        """Record what an event says of a block; return the block as far as it is known."""

    @abstractmethod
    def _with_input(self, block: Json, given: Any) -> Json:
        """Return a call with its input."""

    @abstractmethod
    def _events_of(self, call: Json, opened: list[Event]) -> list[Event]:
        """Return the events of a call but for its end, made from those of another."""
