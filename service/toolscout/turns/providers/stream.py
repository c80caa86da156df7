"""The reader of a provider's stream: what is the same for all of them."""

import re
from abc import abstractmethod
from collections.abc import Collection
from typing import Any

import msgspec

from toolscout.client.log import logger
from toolscout.common.lru import Lru
from toolscout.turns.providers.calls import Change, call_in, change_calls, is_other
from toolscout.turns.providers.fields import UNREADABLE, Json, add, encode, mapping, object_of

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
LONGEST_END = 4
"""Bytes of the longest end of an event."""


MOST_TEXTS = 256
"""Events that are passed on before they are decoded together: a millisecond's work."""

DONE = "[DONE]"
"""The last event of OpenAI's chat completions, and of some servers' other streams; no JSON."""

LAST_IDS: Lru[str, str] = Lru(10_000)
"""Ids of the responses behind those that a stream showed, by the id that the client got."""


class StreamEvent(msgspec.Struct, frozen=True):
    """One event: its bytes as they came, and its data where that is a JSON object."""

    raw: bytes
    data: dict[str, Any] | None = None
    kind: str = ""
    """`type`, or what Anthropic calls an event of Bedrock: `error` for exceptions and for bytes
    that are none."""
    headers: bytes = b""
    """Of Bedrock."""


class Splitter:
    """Takes bytes in any pieces, gives whole events."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def cut(self, chunk: bytes) -> list[bytes]:
        """Return the events that are complete now, as they came."""
        searched = max(len(self._rest) - LONGEST_END + 1, 0)
        self._rest += chunk
        events = []
        start = 0
        for match in _END.finditer(self._rest, searched):
            raw = bytes(self._rest[start : (end := match.end())])
            if raw.strip():
                events.append(raw)
            start = end
        del self._rest[:start]
        return events

    def read(self, raw: bytes) -> StreamEvent:
        """Decode an event."""
        lines = [line[5:].strip() for line in raw.splitlines() if line.startswith(b"data:")]
        body = b"\n".join(lines)
        if body == DONE.encode():
            return StreamEvent(raw, kind=DONE)
        data = object_of(body)
        return StreamEvent(raw) if data is None else StreamEvent(raw, data, str(data.get("type")))

    def end(self) -> bytes:
        """Return what no event has ended yet."""
        rest = bytes(self._rest)
        self._rest.clear()
        return rest


def write(data: dict[str, Any], name: str | None = None) -> bytes:
    """Return an event as bytes."""
    head = b"" if name is None else b"event: " + name.encode() + b"\n"
    return head + b"data: " + encode(data) + b"\n\n"


class Stream:
    """One turn of the client, made of one or more streams of the model.

    All events are passed on as they come, except calls of the search tool and the end of the turn,
    which is sent only after a turn without a search.

    Args:
        search_name: name of the search tool.
        dispatch_name: name of the tool through which others are called; empty without one.
        change: makes of such a call what it stands for; a search is removed as any other is.
    """

    _id: Any = None
    """The id that the client got, which stays the same for all turns of the model."""

    id_key = "id"
    """Where an event has the id of the response."""
    usage_key = "usage"
    """Where an event has the usage of the response."""

    splitter: type[Splitter] = Splitter
    """Cuts the bytes of the provider into events."""

    def __init__(
        self, search_name: str, dispatch_name: str = "", change: Change | None = None
    ) -> None:
        self._search_name = search_name
        self._dispatch_name = dispatch_name
        self._change = change
        self._renamed: Collection[str] = ()
        """Names of tools whose calls are others for the client."""
        self._count = 0
        """Blocks, items or calls that went to the client."""
        self._spent: Json | None = None
        self._usage: Json = {}
        self.next_turn()

    def give_back(self, names: Collection[str], change: Change) -> None:
        """Hold calls of these names back to their end: they are then what a change makes of them.

        It comes after that of the dispatch tool, which may call such a tool.
        """
        before = self._change
        self._renamed = names
        self._change = change if before is None else lambda *call: change(*before(*call))

    def next_turn(self) -> None:
        """Begin another turn of the model, after a search; keep what the client has got."""
        self._spent = add(self._spent, self._usage or None)
        self._usage = {}
        self._splitter = self.splitter()
        self._places: dict[Any, int] = {}
        """Positions in the client's turn, by those in the model's."""
        self._held: list[StreamEvent] = []
        """Events of the end of the turn."""
        self._texts: list[bytes] = []
        """Events that were passed on undecoded."""

    def feed(self, chunk: bytes) -> bytes:
        """Take bytes of the model, in any pieces; return the bytes for the client."""
        out = b""
        for raw in self._splitter.cut(chunk):
            if self._is_text(raw):
                out += raw
                self._texts.append(raw)
                if len(self._texts) == MOST_TEXTS:
                    self._collect_passed()
                continue
            self._collect_passed()
            event = self._splitter.read(raw)
            if event.kind == DONE:
                self._held.append(event)
                continue
            try:
                out += self._handle(event)
            except Exception:
                logger.exception("an event of the model could not be read, and passes as it came")
                out += event.raw
        return out

    def _is_text(self, raw: bytes) -> bool:
        """Whether an event certainly has but a text, which the client gets as it came."""
        return False

    def _collect_passed(self) -> None:
        """Record the texts of the events that were passed on."""
        if not self._texts:
            return
        passed = self._texts
        self._texts = []
        written = [raw.partition(b"data:")[2] for raw in passed]
        try:
            read = msgspec.json.decode(b"[%b]" % b",".join(written), type=list[dict[str, Any]])
        except UNREADABLE:  # some is no JSON, or more than one line
            read = [event.data or {} for event in map(self._splitter.read, passed)]
        for data in read:
            self._collect_text(data)

    def _collect_text(self, data: Json) -> None:
        """Record what such an event says."""

    @abstractmethod
    def response(self) -> Json:
        """Return the model's turn as a response without streaming."""

    def finish(self, *, is_last: bool = True) -> bytes:
        """End a turn of the model; return the events that were held back.

        Args:
            is_last: whether the client's turn ends with it.
        """
        if not is_last:
            self.next_turn()
            return b""
        out = self._release() + b"".join(map(self._end, self._held))
        self._held = []
        return out

    def rest(self) -> bytes:
        """Return the bytes that no event ended yet; what follows them is not read."""
        return self._splitter.end()

    @abstractmethod
    def fail(self, status: int, error: Json) -> bytes:
        """End the turn with an error, in the form that the provider's streams have for that."""

    @abstractmethod
    def _handle(self, event: StreamEvent) -> bytes:
        """Return what the client gets for an event."""

    def _release(self) -> bytes:
        """Return what waits for a later event of the same turn."""
        return b""

    @abstractmethod
    def _end(self, event: StreamEvent) -> bytes:
        """Return an event of the end of the turn, as it is after all turns of the model."""

    def _write(self, event: StreamEvent, data: Json) -> bytes:
        """Return an event with other data."""
        return write(data)

    def _replace_data(self, event: StreamEvent, data: Json) -> bytes:
        """Return an event with this data, and as it came where that is its own."""
        is_same = event.raw and data == (event.data or {})
        return event.raw if is_same else self._write(event, data)

    def _join_turns(self, data: Json) -> Json:
        """Give an event the first one's id and the whole usage: the client sees one response."""
        self._id = self._id or data.get(self.id_key)  # Azure's first event has an empty one
        return self._add_usage({**data, self.id_key: self._id} if self.id_key in data else data)

    def _add_usage(self, data: Json) -> Json:
        """Add the usage of the model's earlier turns to what has that of the current one."""
        key = self.usage_key
        if self._spent is None or not mapping(data.get(key)):
            return data
        return {**data, key: add(self._spent, data[key])}

    def _place(self, key: Any) -> int:
        """Return the position of a block or an item in the client's turn."""
        if key not in self._places:
            self._places[key] = self._count
            self._count += 1
        return self._places[key]

    def _undo_dispatch(self, calls: Any) -> Any:
        """Return calls through the dispatch tool as those of the tools that they name."""
        return calls if self._change is None else change_calls(calls, self._change)


class PartStream(Stream):
    """Base of streams whose events each tell of one part of the turn: a block, an item.

    Parts that are searches never reach the client. A call is held back while its name is unknown,
    and one through the dispatch tool until its end.
    """

    def next_turn(self) -> None:
        """Reset, except for the parts sent to the client and the usage."""
        super().next_turn()
        self._parts: dict[Any, Json] = {}
        """What is known of each part, by its position in the model's turn."""
        self._waiting: list[tuple[Any, StreamEvent]] = []
        """Parts and events of theirs that are held back."""

    def _pass(self, key: Any, event: StreamEvent, *, is_end: bool) -> bytes:
        """Return what the client gets once an event of a part has come."""
        part = self._parts[key]
        name = self._name(part)
        if name == self._search_name:
            return b""
        if not self._is_open(name) and not self._can_wait(key, event):
            return self._release() + self._show(event)
        self._waiting.append((key, event))
        if not is_end or not name:
            return b""
        own = [one for place, one in self._waiting if place == key]
        others = [one for one in self._waiting if one[0] != key]
        # What is called is known now, so these belong to no part that is held back.
        made = self._name_call(key, own)
        self._waiting = [*others, *((None, one) for one in made)]
        return self._release() if made else b""

    def _release(self) -> bytes:
        """Return what was held back, but for parts that the client may never see."""
        held = self._waiting
        self._waiting = []
        out = b""
        for key, event in held:
            name = self._name(self._parts.get(key, {}))
            if self._is_open(name):
                self._waiting.append((key, event))
            elif name != self._search_name:
                out += self._show(event)
        return out

    def _can_wait(self, key: Any, event: StreamEvent) -> bool:
        """Whether a part that is no call is shown only when another one follows."""
        return False

    def _is_open(self, name: str | None) -> bool:
        """Whether it is not known yet what a part calls; when the turn is over, nothing follows."""
        if not name:
            return name == "" and not self._held
        return name == self._dispatch_name or name in self._renamed

    def _write(self, event: StreamEvent, data: Json) -> bytes:
        return write(data, str(data.get("type")))

    def _name(self, part: Json) -> str | None:
        """Return the name of the function that a part calls, empty while it is unknown."""
        call = call_in(part)
        return None if call is None or is_other(part) else call.name

    @abstractmethod
    def _name_call(self, key: Any, events: list[StreamEvent]) -> list[StreamEvent]:
        """Return the events of a call through the dispatch tool, as of a call of its tool.

        There are none of a call that is answered here.
        """

    @abstractmethod
    def _show(self, event: StreamEvent) -> bytes:
        """Renumber an event for the client."""
