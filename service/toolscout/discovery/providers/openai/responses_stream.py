"""The stream of OpenAI Responses."""

from typing import Any

from toolscout.common.lru import Lru
from toolscout.discovery import wire
from toolscout.discovery.providers import sse
from toolscout.discovery.providers.calls import called_through, with_calls, without_dispatch
from toolscout.discovery.providers.openai.searches import is_search, without_searches
from toolscout.discovery.providers.provider import Json, mapping, mappings
from toolscout.discovery.providers.usage import add

_OPENING = ("response.created", "response.queued", "response.in_progress")
_FINAL = ("response.completed", "response.incomplete", "response.failed")

Key = int | str | None
"""An item of a response: its `output_index`, else its id; None for events without an item."""


class ResponsesStream:
    """Removes items of searches and makes one response of the model's several.

    The SDKs want one id from `response.created` to `response.completed`, and the id that a client
    gets is its next `previous_response_id`, which must be that of the model's last response:
    earlier ones end with a search whose answer they lack. So `response.created` waits for the first
    item that the client sees, and a response that only searches leaves no trace of its id. If one
    shows text and then searches, its id stays and `last_ids` has the one behind it.

    Reasoning is held back until another item follows: before a search it belongs to a turn that the
    client never sees.

    Args:
        last_ids: gets the id of the last response by the id that the client got, where they differ.
        search_name: name of the search tool.
        dispatch_name: name of the tool through which others are called; empty without one.
    """

    def __init__(self, last_ids: Lru[str, str], search_name: str, dispatch_name: str = "") -> None:
        self._search_name = search_name
        self._dispatch_name = dispatch_name
        self._last_ids = last_ids
        self._id: Any = None
        self._sequence: int | None = None
        self._count = 0
        """Items that went to the client."""
        self._earlier: list[Json] = []
        """Those of earlier turns of the model."""
        self._spent: Json | None = None
        self._usage: Json | None = None
        self._opened = False
        self.next_turn()

    def next_turn(self) -> None:
        """Reset, except for what was sent to the client and the usage."""
        if self._count:
            self._earlier += [item for key, item in self._done.items() if key in self._places]
            if self._dispatch_name:
                self._earlier = with_calls(self._earlier, called_through(self._dispatch_name))
        self._spent, self._usage = add(self._spent, self._usage), None
        self.wrote = False
        self._splitter = sse.Splitter()
        self._items: dict[Key, Json] = {}
        self._done: dict[Key, Json] = {}
        self._places: dict[Key, int] = {}
        self._opening: list[sse.Event] = []
        self._waiting: list[tuple[Key, sse.Event]] = []
        self._final: sse.Event | None = None

    def feed(self, chunk: bytes) -> bytes:
        """See `Stream.feed`."""
        out = wire.handled(self._splitter.feed(chunk), self._handle)
        self.wrote = self.wrote or bool(out)
        return out

    def response(self) -> Json:
        """Return the items of the model's turn."""
        response = mapping(mapping(self._final and self._final.data).get("response"))
        if response.get("status") == "failed":
            return {"output": []}
        # Some servers leave out the end of every item, some the items at the end.
        items = max(list(self._done.values()), mappings(response.get("output")), key=len)
        return {"id": response.get("id"), "output": items}

    def finish(self) -> bytes:
        """Return reasoning without an item after it, and the end: all items, the whole usage."""
        out = self._open() + self._release()
        if self._final is not None:
            out += self._write(self._final)
        self._final = None
        return out

    def rest(self) -> bytes:
        """See `Stream.rest`."""
        return self._splitter.end()

    def fail(self, status: int, error: Json) -> bytes:
        """Return the event `error`; the API has its fields beside `error`, the SDK reads that."""
        fields = {key: error.get(key) for key in ("code", "message", "param")}
        data = {"type": "error", **fields, "error": error, "sequence_number": 0}
        return self._handle(sse.Event(b"", data))

    def _handle(self, event: sse.Event) -> bytes:
        data = event.data or {}
        kind = str(data.get("type"))
        if kind in _FINAL:
            self._usage = mapping(mapping(data.get("response")).get("usage")) or self._usage
            self._final = event
            return b""
        if kind == "error":
            # After an error no item ends properly, not even a search that has begun.
            self._waiting, self._done, self._final = [], {}, None
            return self._open() + self._write(event)
        key = _key(data)
        if key is None:
            return self._handle_plain(kind, event)
        return self._handle_item(kind, key, event)

    def _handle_item(self, kind: str, key: Key, event: sse.Event) -> bytes:
        data = event.data or {}
        item = self._collect(kind, key, data)
        if is_search(item, self._search_name):
            return b""
        if self._dispatch_name and item.get("name") == self._dispatch_name:
            # What the model calls is known at the end of its arguments.
            if kind != "response.output_item.done":
                return b""
            self._waiting += [(key, made) for made in self._named(key, data)]
            return self._open() + self._release()
        self._waiting.append((key, event))
        if item.get("type") == "reasoning" or _is_unnamed(item):
            return b""
        return self._open() + self._release()

    def _handle_plain(self, kind: str, event: sse.Event) -> bytes:
        """Handle an event without an item; before the first item all of them wait."""
        if not self._opened:
            self._opening.append(event)
            return b""
        return b"" if kind in _OPENING else self._write(event)

    def _named(self, key: Key, data: Json) -> list[sse.Event]:
        """Return the events of a call through the dispatch tool, as of a call of its tool."""
        call = with_calls(self._done[key], called_through(self._dispatch_name))
        at: Json = {k: data[k] for k in ("output_index", "sequence_number") if k in data}
        piece: Json = {"item_id": call.get("id"), **at}
        added = {**call, "arguments": "", "status": "in_progress"}
        arguments, kind = call.get("arguments"), "response.function_call_arguments"
        made: list[Json] = [
            {"type": "response.output_item.added", "item": added, **at},
            {"type": f"{kind}.delta", "delta": arguments, **piece},
            {"type": f"{kind}.done", "name": call["name"], "arguments": arguments, **piece},
            {"type": "response.output_item.done", "item": call, **at},
        ]
        return [sse.Event(b"", event) for event in made]

    def _collect(self, kind: str, key: Key, data: Json) -> Json:
        """Record what an event says of an item; return the item as far as it is known."""
        item = self._items.setdefault(key, {})
        item |= mapping(data.get("item"))
        if kind.startswith("response.function_call_arguments."):
            item.setdefault("type", "function_call")
            if isinstance(data.get("name"), str):
                item["name"] = data["name"]
        if kind == "response.output_item.done":
            self._done[key] = mapping(data.get("item"))
        return item

    def _open(self) -> bytes:
        """Return the events that came before the first item, once."""
        before, self._opening = self._opening, []
        if self._opened:
            return b""
        self._opened = True
        return b"".join(map(self._write, before))

    def _release(self) -> bytes:
        """Return the events that were held back, but not those of a call without a name yet."""
        held = [(key, event, self._items[key]) for key, event in self._waiting]
        ending = self._final is not None
        self._waiting = [(k, event) for k, event, item in held if _is_unnamed(item) and not ending]
        shown = [
            event
            for _, event, item in held
            if not is_search(item, self._search_name) and (ending or not _is_unnamed(item))
        ]
        return b"".join(map(self._write, shown))

    def _write(self, event: sse.Event) -> bytes:
        """Renumber an event for the client; one that stays the same is returned as it came."""
        if event.data is None:
            return event.raw
        data = dict(event.data)
        if "response" in data:
            data["response"] = self._seen(mapping(data["response"]), event is self._final)
        if isinstance(data.get("output_index"), int):
            data["output_index"] = self._place(_key(data))
        elif (key := _key(data)) is not None:
            self._place(key)
        if isinstance(data.get("sequence_number"), int):
            if self._sequence is None:
                self._sequence = data["sequence_number"]
            data["sequence_number"] = self._sequence
            self._sequence += 1
        return (
            event.raw
            if event.raw and data == event.data
            else sse.write(data, str(data.get("type")))
        )

    def _place(self, key: Key) -> int:
        """Return the position of an item in the client's response."""
        if key not in self._places:
            self._places[key] = self._count
            self._count += 1
        return self._places[key]

    def _seen(self, response: Json, is_final: bool) -> Json:
        """Return the response of an event as the client sees it."""
        seen = without_searches(response, self._search_name)
        own = response.get("id")
        if self._id is None:
            self._id = own
        elif own != self._id and "id" in response:
            seen = {**seen, "id": self._id}
        if not is_final:
            return seen
        if own != self._id and isinstance(own, str) and isinstance(self._id, str):
            self._last_ids.put(self._id, own)
        if self._dispatch_name:
            seen = without_dispatch(seen, self._dispatch_name)
        if self._earlier and isinstance(seen.get("output"), list):
            seen = {**seen, "output": [*self._earlier, *seen["output"]]}
        if self._spent is not None and mapping(seen.get("usage")):
            seen = {**seen, "usage": add(self._spent, seen["usage"])}
        return seen


def _key(data: Json) -> Key:
    for found in (
        data.get("output_index"),
        data.get("item_id"),
        mapping(data.get("item")).get("id"),
    ):
        if isinstance(found, int | str):
            return found
    return None


def _is_unnamed(item: Json) -> bool:
    return item.get("type") == "function_call" and not item.get("name")
