"""The stream of OpenAI chat completions."""

from typing import Any

from toolscout.discovery import wire
from toolscout.discovery.providers import sse
from toolscout.discovery.providers.calls import called_through, with_calls
from toolscout.discovery.providers.provider import Json, mapping, mappings
from toolscout.discovery.providers.usage import add

Key = tuple[int, int]
"""A choice and the position of a call in it, by the model's index or by arrival."""

UNCOUNTED = 1 << 20
"""First position of calls without an index."""

THOUGHTS = ("reasoning_content", "reasoning")
"""Fields of a message that some APIs want back with its calls (DeepSeek, vLLM, OpenRouter)."""


class OpenAIStream:
    """Removes pieces of searches from chunks and renumbers the other calls.

    Some models send no index, or names in pieces or repeatedly: a new id begins a new call, and a
    call is held back while its name may still become that of the search tool.
    """

    def __init__(self, search_name: str, dispatch_name: str = "") -> None:
        self._dispatch_name = dispatch_name
        self._hidden = [name for name in (search_name, dispatch_name) if name]
        self._id: Any = None
        self._roles: set[int] = set()
        self._spent: Json | None = None
        self._usage: Json | None = None
        self.next_turn()

    def next_turn(self) -> None:
        """Reset, except for the calls sent to the client and the usage."""
        self._spent, self._usage = add(self._spent, self._usage), None
        self.wrote = False
        self._splitter = sse.Splitter()
        self._calls: dict[Key, Json] = {}
        self._current: dict[Key, Key] = {}
        self._waiting: dict[Key, Json] = {}
        self._base: Json = {}
        self._places: dict[Key, int] = {}
        self._next_place: dict[int, int] = {}
        self._text: list[str] = []
        self._thinking: list[Json] = []
        self._thoughts: dict[str, list[str]] = {}
        self._held: list[sse.Event] = []

    def feed(self, chunk: bytes) -> bytes:
        """See `Stream.feed`."""
        out = wire.handled(self._splitter.feed(chunk), self._handle)
        self.wrote = self.wrote or bool(out)
        return out

    def response(self) -> Json:
        """Return the first choice: its text, its calls and what it thought."""
        first = [call for (choice, _), call in self._calls.items() if choice == 0]
        message = {"role": "assistant", "content": "".join(self._text) or None, "tool_calls": first}
        message |= {key: "".join(pieces) for key, pieces in self._thoughts.items()}
        if self._thinking:
            message["thinking_blocks"] = self._thinking
        return {"choices": [{"index": 0, "message": message}]}

    def finish(self) -> bytes:
        """Return the finish reason, the usage and `[DONE]`; without a real call it is `stop`."""
        out = self._calls_that_waited() + self._dispatched_calls()
        for event in self._held:
            data = event.data
            if data is None:
                out += event.raw
                continue
            choices = []
            for choice in mappings(data.get("choices")):
                called = choice.get("finish_reason") == "tool_calls"
                if called and not self._next_place.get(_index(choice)):
                    choice = {**choice, "finish_reason": "stop"}
                choices.append(choice)
            changed = self._with_usage(self._with_first_id({**data, "choices": choices}))
            out += event.raw if event.raw and changed == data else sse.write(changed)
        self._held = []
        return out

    def rest(self) -> bytes:
        """See `Stream.rest`."""
        return self._splitter.end()

    def fail(self, status: int, error: Json) -> bytes:
        """Return an event with the `error`, on which the SDK raises."""
        return sse.write({"error": error})

    def _calls_that_waited(self) -> bytes:
        """Return calls that were held back until the end."""
        choices = [
            {"index": key[0], "delta": {"tool_calls": [self._begin_call(key[0], key, piece)]}}
            for key, piece in tuple(self._waiting.items())
        ]
        return (
            sse.write(self._with_first_id({**self._base, "choices": choices})) if choices else b""
        )

    def _dispatched_calls(self) -> bytes:
        """Return the calls that were made through the dispatch tool."""
        calls = []
        for key, call in self._calls.items():
            if call["function"]["name"] == self._dispatch_name:
                whole = with_calls(call, called_through(self._dispatch_name))
                place = self._next_place.get(key[0], 0)
                self._next_place[key[0]] = place + 1
                calls.append(
                    {"index": key[0], "delta": {"tool_calls": [{**whole, "index": place}]}}
                )
        return sse.write(self._with_first_id({**self._base, "choices": calls})) if calls else b""

    def _handle(self, event: sse.Event) -> bytes:
        data = event.data
        if event.is_done:
            self._held.append(event)
            return b""
        if data is None or "choices" not in data:
            return event.raw
        self._usage = mapping(data.get("usage")) or self._usage
        self._base = {key: data[key] for key in data if key not in ("choices", "usage")}
        choices = mappings(data["choices"])
        if (self._held or mapping(data.get("usage"))) and all(map(_is_empty, choices)):
            self._held.append(event)  # the usage belongs to the end of the turn
            return b""
        kept = [choice for choice in map(self._choice, choices) if choice is not None]
        ending = [choice for choice in kept if choice.get("finish_reason")]
        if ending:
            whole = event if ending == choices else sse.Event(b"", {**data, "choices": ending})
            self._held.append(whole)
        going = [choice for choice in kept if not choice.get("finish_reason")]
        if not going:
            return b""
        changed = self._with_usage(self._with_first_id({**data, "choices": going}))
        return event.raw if changed == data else sse.write(changed)

    def _choice(self, choice: Json) -> Json | None:
        """Remove pieces of searches from a choice; None if nothing is left."""
        number = _index(choice)
        delta = dict(mapping(choice.get("delta")))
        if number == 0 and isinstance(delta.get("content"), str):
            self._text.append(delta["content"])
        if number == 0:
            self._collect_thinking(mappings(delta.get("thinking_blocks")))
            for key in THOUGHTS:
                if isinstance(delta.get(key), str):
                    self._thoughts.setdefault(key, []).append(delta[key])
        if delta.get("role") and number in self._roles:
            del delta["role"]
        elif delta.get("role"):
            self._roles.add(number)
        pieces = mappings(delta.get("tool_calls"))
        if pieces:
            kept = [piece for piece in (self._call_piece(number, p) for p in pieces) if piece]
            delta["tool_calls"] = kept
            if not kept:
                del delta["tool_calls"]
        filled = {key: value for key, value in delta.items() if value not in (None, "")}
        was_bare = not mapping(choice.get("delta"))
        if not filled and not choice.get("finish_reason") and not was_bare:
            return None
        return {**choice, "delta": delta}

    def _collect_thinking(self, pieces: list[Json]) -> None:
        """Join the pieces of thinking blocks; Claude refuses a call whose thinking is missing.

        LiteLLM streams the blocks of Claude in chunks of OpenAI; a signature ends each block.
        """
        for piece in pieces:
            last = self._thinking[-1] if self._thinking else {}
            if piece.get("type") == last.get("type") == "thinking" and not last.get("signature"):
                last["thinking"] = f"{last.get('thinking') or ''}{piece.get('thinking') or ''}"
                if piece.get("signature"):
                    last["signature"] = piece["signature"]
            else:
                self._thinking.append(dict(piece))

    def _call_piece(self, number: int, piece: Json) -> Json | None:
        """Renumber a piece of a call for the client; None for a piece of a search."""
        key = self._key_of(number, piece)
        function = mapping(piece.get("function"))
        call = self._calls.setdefault(
            key, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        )
        call["id"] = piece.get("id") or call["id"]
        whole = call["function"]
        named = function.get("name")
        if isinstance(named, str) and named != whole["name"]:
            whole["name"] += named
        if isinstance(function.get("arguments"), str):
            whole["arguments"] += function["arguments"]
        if whole["name"] in self._hidden:
            self._waiting.pop(key, None)
            return None
        if key in self._places:
            return {**piece, "index": self._places[key]}
        may_be_hidden = any(name.startswith(whole["name"]) for name in self._hidden)
        if may_be_hidden and not whole["arguments"]:
            self._waiting.setdefault(key, piece)
            return None
        return self._begin_call(number, key, piece)

    def _begin_call(self, number: int, key: Key, piece: Json) -> Json:
        """Return everything received of a call, as its first piece for the client."""
        self._places[key] = self._next_place.get(number, 0)
        self._next_place[number] = self._places[key] + 1
        if self._waiting.pop(key, None) is None:
            return {**piece, "index": self._places[key]}
        return {**piece, **self._calls[key], "index": self._places[key]}

    def _key_of(self, number: int, piece: Json) -> Key:
        """Return the call of a piece: the one of its index, unless it has a new id."""
        counted = (number, _index(piece))
        key = self._current.get(counted, counted)
        id_ = piece.get("id")
        known = self._calls.get(key)
        if known is not None and id_ and known["id"] and id_ != known["id"]:
            key = (number, UNCOUNTED + len(self._calls))
        self._current[counted] = key
        return key

    def _with_usage(self, data: Json) -> Json:
        """Add the usage of the model's earlier turns to that of a chunk."""
        if self._spent is None or not mapping(data.get("usage")):
            return data
        return {**data, "usage": add(self._spent, data["usage"])}

    def _with_first_id(self, data: Json) -> Json:
        """Give every chunk the first one's id, because the client sees one completion."""
        if self._id is None:
            self._id = data.get("id")
        return {**data, "id": self._id} if "id" in data else data


def _is_empty(choice: Json) -> bool:
    return not any(mapping(choice.get("delta")).values()) and not choice.get("finish_reason")


def _index(item: Json) -> int:
    index = item.get("index")
    return index if isinstance(index, int) else 0
