"""OpenAI chat completions, and compatible APIs."""

import re
from typing import Any

from toolscout.turns.providers.calls import Call, Remover, call_in
from toolscout.turns.providers.fields import Json, encode, mapping, mappings
from toolscout.turns.providers.provider import Provider, ProviderName, SearchResult
from toolscout.turns.providers.stream import Stream, StreamEvent, write

UNCOUNTED = 1 << 20
"""First position of calls without an index."""

THOUGHTS = ("reasoning_content", "reasoning")
"""Fields of a message that some APIs want back with its calls (DeepSeek, vLLM, OpenRouter)."""

SIGNED = ("extra_content", "provider_specific_fields")
"""Where a call has a thought signature: in Gemini's compatible interface, and in LiteLLM's."""

_BLOCKS = ("thinking_blocks", "reasoning_details")
"""Fields of a message with blocks of thoughts: LiteLLM's and OpenRouter's."""

_THOUGHT_OF = (*THOUGHTS, *_BLOCKS)

_TEXTS = {"thinking": "thinking", "reasoning.text": "text", "reasoning.summary": "summary"}
"""Where such a block has a text, by its type."""


_MORE = re.compile(
    rb'"(?:tool_calls|function_call|finish_reason|role|usage|error)"\s*:\s*[^\sn]'
    rb'|"content"\s*:\s*null|"(?:content|reasoning_content|reasoning|refusal)"\s*:\s*""'
    rb'|"delta"\s*:\s*(?:\{\s*\}|null)|\[DONE\]'
)
"""What an event has that is more than a text; quotes within a text have a backslash before them."""


class OpenAIStream(Stream):
    """Removes pieces of searches from chunks and renumbers the other calls.

    Some models send no index, or names in pieces or repeatedly: a new id begins a new call, and a
    call is held back while its name may still become that of the search tool.
    """

    _has_role = False
    _id_written = b""
    """The id that the client got, as events have it."""

    def next_turn(self) -> None:
        """Reset, except for the calls sent to the client and the usage."""
        super().next_turn()
        self._calls: dict[int, Json] = {}
        self._current: dict[int, int] = {}
        """Calls by the model's index; a new id with the same index is another call."""
        self._waiting: dict[int, Json] = {}
        self._base: Json = {}
        self._said: dict[str, list[str]] = {}
        """Pieces of what the model says and thinks, by their field."""
        self._thinking: dict[str, list[Json]] = {}
        self._remover = Remover(self._search_name, *SIGNED)

    def response(self) -> Json:
        """Return the model's turn: its text, its calls and what it thought."""
        self._collect_passed()
        calls = list(self._calls.values())
        message: Json = {"role": "assistant", "content": None, "tool_calls": calls}
        message |= {key: "".join(pieces) for key, pieces in self._said.items()}
        message["content"] = message["content"] or None
        message |= self._thinking
        return {"choices": [{"index": 0, "message": message}]}

    def fail(self, status: int, error: Json) -> bytes:
        """Return an event with the `error`, on which the SDK raises."""
        return write({"error": error})

    def _release(self) -> bytes:
        """Return calls that were held back until the end, and those through the dispatch tool."""
        calls = [self._begin_call(key, piece) for key, piece in [*self._waiting.items()]]
        calls += self._show_held(self._dispatch_name, *self._renamed)
        choice = {"index": 0, "delta": {"tool_calls": calls}}
        return write(self._join_turns({**self._base, "choices": [choice]})) if calls else b""

    def _show_held(self, *names: str) -> list[Json]:
        """Return the calls of these names that were held back, as those that they stand for."""
        shown = []
        for key, call in self._calls.items():
            if key not in self._places and (name := _function(call)) and name in names:
                meant = self._undo_dispatch(call)
                if _function(meant) == self._search_name:
                    self._remover.remove(call)
                else:
                    shown.append(self._remover.signed({**meant, "index": self._place(key)}))
        return shown

    def _end(self, event: StreamEvent) -> bytes:
        """Without a real call the finish reason is `stop`."""
        if event.data is None:
            return event.raw
        choices = [
            {**choice, "finish_reason": "stop"}
            if choice.get("finish_reason") == "tool_calls" and not self._places
            else choice
            for choice in mappings(event.data.get("choices"))
        ]
        return self._replace_data(event, self._join_turns({**event.data, "choices": choices}))

    def _handle(self, event: StreamEvent) -> bytes:
        data = event.data
        if data is None or "choices" not in data:
            return event.raw
        usage = mapping(data.get("usage"))
        self._usage = usage or self._usage
        self._base = {key: data[key] for key in data if key not in ("choices", "usage")}
        choices = mappings(data["choices"])
        says = any(any(mapping(c.get("delta")).values()) or c.get("finish_reason") for c in choices)
        if (self._held or usage) and not says:
            self._held.append(event)  # the usage belongs to the end of the turn
            return b""
        kept = [choice for choice in map(self._choice, choices) if choice is not None]
        ending = [_make_end(choice) for choice in kept if choice.get("finish_reason")]
        if ending:
            end = event if ending == choices else StreamEvent(b"", {**data, "choices": ending})
            self._held.append(end)
            data = {key: value for key, value in data.items() if key != "usage"}
        going = [spoken for choice in kept if (spoken := _find_spoken_part(choice))]
        if choices and not going:
            return b""
        return self._replace_data(event, self._join_turns({**data, "choices": going}))

    def _is_text(self, raw: bytes) -> bool:
        """Whether it says something under the client's id, with nothing of a call or an end."""
        if not self._id_written and self._id and isinstance(self._id, str):
            self._id_written = encode(self._id)
        is_own = self._id_written and self._id_written in raw and not self._held
        return bool(is_own) and not _MORE.search(raw) and b'"delta"' in raw

    def _collect_text(self, data: Json) -> None:
        for choice in mappings(data.get("choices")):
            self._collect(mapping(choice.get("delta")))

    def _choice(self, choice: Json) -> Json | None:
        """Remove pieces of searches from a choice; None if nothing is left."""
        delta = dict(mapping(choice.get("delta")))
        self._collect(delta)
        if delta.get("role") and self._has_role:
            del delta["role"]
        self._has_role = self._has_role or bool(delta.get("role"))
        if pieces := mappings(delta.get("tool_calls")):
            delta["tool_calls"] = [kept for p in pieces for kept in self._pass_piece(p)]
            if not delta["tool_calls"]:
                del delta["tool_calls"]
        if delta == mapping(choice.get("delta")):  # an empty one keeps a connection alive
            return choice
        is_left = choice.get("finish_reason") or any(v not in (None, "") for v in delta.values())
        return {**choice, "delta": delta} if is_left else None

    def _collect(self, delta: Json) -> None:
        """Record what the model says and thinks."""
        for key in ("content", *THOUGHTS):
            if isinstance(delta.get(key), str):
                self._said.setdefault(key, []).append(delta[key])
        for key in _BLOCKS:
            for piece in mappings(delta.get(key)):
                _join(self._thinking.setdefault(key, []), piece)

    def _pass_piece(self, piece: Json) -> list[Json]:
        """Return what the client gets of a piece; where a call begins, those before it end."""
        is_next = self._renamed and self._key_of(piece) not in self._calls
        ended = self._show_held(*self._renamed) if is_next else []
        passed = self._call_piece(piece)
        return ended if passed is None else [*ended, passed]

    def _call_piece(self, piece: Json) -> Json | None:
        """Renumber a piece of a call for the client; None for a piece of a search."""
        key = self._key_of(piece)
        begun = _begun(piece)
        call = self._calls.get(key) or begun
        if begun["type"] != "function" and _function(call) == "":
            call = {**begun, "id": call["id"]}  # its first piece did not say so
        self._calls[key] = call
        _merge(call, {k: v for k, v in piece.items() if k not in ("index", "type")})
        name = _function(call)
        if key in self._places:
            return {**piece, "index": self._places[key]}
        own = (self._search_name, self._dispatch_name)
        if name and (name in own or name in self._renamed):
            waited = self._waiting.pop(key, None) is not None
            if name == self._search_name:
                self._remover.remove(call if waited else piece)
            return None
        hidden = (*own, *self._renamed)
        may_be_hidden = name is not None and any(one.startswith(name) for one in hidden)
        if may_be_hidden and not call["function"]["arguments"]:
            self._waiting.setdefault(key, piece)
            return None
        return self._begin_call(key, piece)

    def _begin_call(self, key: int, piece: Json) -> Json:
        """Return everything received of a call, as its first piece for the client."""
        received = {} if self._waiting.pop(key, None) is None else self._calls[key]
        return self._remover.signed({**piece, **received, "index": self._place(key)})

    def _key_of(self, piece: Json) -> int:
        """Return the call of a piece: the one of its index, unless it has a new id."""
        number = piece.get("index")
        index = number if isinstance(number, int) else 0
        key = self._current.get(index, index)
        id_ = piece.get("id")
        call = self._calls.get(key)
        if call is not None and id_ and call["id"] and id_ != call["id"]:
            key = UNCOUNTED + len(self._calls)
        self._current[index] = key
        return key


def _make_end(choice: Json) -> Json:
    """Return a choice that ends the turn without what it says: only its end may have to wait."""
    if not any(mapping(choice.get("delta")).values()):
        return choice
    return {key: value for key, value in choice.items() if key != "logprobs"} | {"delta": {}}


def _find_spoken_part(choice: Json) -> Json | None:
    """Return what a choice says, without an end; None if it says nothing and ends the turn."""
    if not choice.get("finish_reason"):
        return choice
    if _make_end(choice) is choice:
        return None
    spoken: Json = {key: choice[key] for key in ("index", "delta", "logprobs") if key in choice}
    return {**spoken, "finish_reason": None}


def _begun(piece: Json) -> Json:
    """Return a call before its first piece: of a function, unless the piece says of what else."""
    kind = piece.get("type") or ("custom" if piece.get("custom") else "function")
    if kind == "function" or piece.get("function"):
        return {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
    return {"id": "", "type": kind}


def _function(call: Json) -> str | None:
    """Return the name of a function, as far as it is known; None where something else is called."""
    name: str | None = call["function"]["name"] if call["type"] == "function" else None
    return name


def _merge(call: Json, piece: Json, *, is_joined: bool = False) -> None:
    """Add a piece of a call to what is known of it; some APIs add keys that OpenAI does not have.

    Of a function the arguments come in pieces, the name in pieces or again and again.
    """
    for key, value in piece.items():
        before = call.get(key)
        if is_joined and key in ("name", "arguments", "input"):
            if isinstance(value, str) and (key != "name" or value != before):
                call[key] = (before or "") + value
        elif isinstance(value, dict):
            call[key] = dict(mapping(before))
            _merge(call[key], value, is_joined=key in ("function", "custom"))
        elif value not in (None, "") and not isinstance(before, dict):
            call[key] = value


def _join(blocks: list[Json], piece: Json) -> None:
    """Add a piece of a block of thoughts; Claude refuses a call whose thinking is missing.

    Its blocks are streamed in chunks of OpenAI; a signature ends each of them.
    """
    last = blocks[-1] if blocks else {}
    text = _TEXTS.get(str(piece.get("type")))
    is_more = all(piece.get(key) == last.get(key) for key in ("type", "index"))
    if text and is_more and not last.get("signature"):
        joined = f"{last.get(text) or ''}{piece.get(text) or ''}"
        last |= {key: value for key, value in piece.items() if value} | {text: joined}
    else:
        blocks.append(dict(piece))


MAX_TOOLS = 128
"""Maximum number of tools of a request; OpenAI refuses more."""


class OpenAIChat(Provider):
    """`POST /v1/chat/completions`."""

    name: ProviderName = "openai"
    stream: type[Stream] | None = OpenAIStream
    max_tools: int | None = MAX_TOOLS
    response_path = ("choices", "message", "tool_calls")
    signed = SIGNED

    def choices(self, request: Json) -> int:
        """Return `n`."""
        number = request.get("n")
        return number if isinstance(number, int) else 1

    def function(self, name: str, description: str, schema: Json) -> Any:
        """Return a function tool."""
        function = {"name": name, "description": description, "parameters": schema}
        return {"type": "function", "function": function}

    def parts_of(self, turn: Json) -> list[Json]:
        """Return the `tool_calls`; their position replaces a missing id."""
        return [
            call if isinstance(call.get("id"), str) and call["id"] else {**call, "id": f"call_{at}"}
            for at, call in enumerate(super().parts_of(turn))
            if call_in(call) is not None
        ]

    def needs_thoughts(self, request: Json) -> bool:
        """Return whether it thinks, or what it thought is in the conversation."""
        if mapping(request.get("thinking")).get("type") not in (None, "disabled"):
            return True
        return any(turn.get(key) for turn in self.turns(request) for key in _THOUGHT_OF)

    def make_search(self, call: Call) -> Json:
        """Return a message of one call."""
        function = {"name": call.name, "arguments": encode(call.arguments).decode()}
        calls = [{"id": call.id, "type": "function", "function": function}]
        return {"choices": [{"message": {"tool_calls": calls}}]}

    def result(self, answered: SearchResult) -> Json:
        """Return a `tool` message."""
        return {"role": "tool", "tool_call_id": answered.call.id, "content": answered.text}

    def make_turn(self, request: Json, response: Json, parts: list[Json]) -> list[Json]:
        """Return the message with these calls, and its other fields: some models need reasoning."""
        message = self.turn_of(response)
        turn = {key: value for key, value in message.items() if value is not None}
        turn |= {"role": "assistant", "content": message.get("content"), "tool_calls": parts}
        if isinstance(turn.get("audio"), dict):
            turn["audio"] = {"id": turn["audio"].get("id")}  # the only key that requests accept
        return [turn]

    def end_response(self, response: Json) -> Json:
        """Return a response whose choices end with `stop` where no call is left."""
        choices = []
        for choice in mappings(response["choices"]):
            message = mapping(choice.get("message"))
            if message.get("tool_calls") == []:
                message = {key: value for key, value in message.items() if key != "tool_calls"}
                choice = {**choice, "message": message, "finish_reason": "stop"}
            choices.append(choice)
        return {**response, "choices": choices}
