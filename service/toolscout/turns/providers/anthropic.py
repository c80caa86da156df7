"""Anthropic messages and their stream."""

import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from toolscout.turns.providers.calls import Call, call_in
from toolscout.turns.providers.fields import Json, add, arguments_of, mapping, text_at
from toolscout.turns.providers.provider import Provider, ProviderName, Results, SearchResult
from toolscout.turns.providers.stream import LAST_IDS, PartStream, Stream, StreamEvent, write

_OF_BLOCKS = ("content_block_start", "content_block_delta", "content_block_stop")
"""Kinds of the events of one block."""


class Blocks(Provider):
    """Base of providers whose turns are lists of blocks."""

    reason_key: str
    """Where a response says why it ended."""

    def results(self, results: Results) -> list[Json]:
        """Return a message with the blocks of the results."""
        return [{"role": "user", "content": super().results(results)}]

    def add_words(self, message: Json, words: str) -> Json:
        """Return the message with one more block, whatever marks a text before it."""
        content = message.get("content")
        if isinstance(content, str):
            message = {**message, "content": [self.make_text(content)]}
        return super().add_words(message, words)

    def make_turn(self, request: Json, response: Json, parts: list[Json]) -> list[Json]:
        """Return the whole turn: thinking must come back unchanged."""
        return [{"role": "assistant", "content": parts}]

    def end_response(self, response: Json) -> Json:
        """Return a response that ends with `end_turn` where no call is left."""
        is_calling = any(map(call_in, self.parts_of(self.turn_of(response))))
        return response if is_calling else {**response, self.reason_key: "end_turn"}


class BlockStream(PartStream):
    """Removes blocks of searches and renumbers the others; the kinds of events are Anthropic's.

    The signature of a thought before a search would not fit into the client's turn.
    """

    index_key: str
    """Where an event has the position of its block."""
    block_key: str
    """What a block starts with."""
    reason_key: str
    """Why the model stopped."""

    _started = False

    def next_turn(self) -> None:
        """Reset, except for the blocks sent to the client and the usage."""
        super().next_turn()
        self._inputs: dict[Any, list[str]] = {}
        self._calls = 0
        """Calls that went to the client."""

    def response(self) -> Json:
        """Return the message with all its blocks."""
        blocks = sorted(self._parts.items(), key=lambda item: str(item[0]).zfill(9))
        content = [
            self._add_input(block, arguments_of("".join(self._inputs[index])))
            if index in self._inputs
            else block
            for index, block in blocks
        ]
        return {"role": "assistant", "content": content}

    def _handle(self, event: StreamEvent) -> bytes:
        data = event.data or {}
        if event.kind in _OF_BLOCKS:
            index = data.get(self.index_key)
            block = self._parts.setdefault(index, {})
            block |= mapping(data.get(self.block_key))
            self._add(block, mapping(data.get("delta")), index)
            return self._pass(index, event, is_end=event.kind == "content_block_stop")
        if event.kind == "message_start":
            self._record_usage(mapping(data.get("message")))
            started = self._started
            self._started = True
            return b"" if started else event.raw
        if event.kind in ("message_delta", "message_stop"):
            self._record_usage(data)
            self._held.append(event)
            return b""
        if event.kind == "error":
            # After an error no block ends properly, not even a search that has begun.
            self._waiting = []
            self._held = []
            self._calls = 0
            self._parts = {}
            self._inputs = {}
            self._places = {}
        return event.raw

    def _show(self, event: StreamEvent) -> bytes:
        """Renumber an event of a block for the client."""
        data = event.data or {}
        key = self.index_key
        index = data.get(key)
        if event.kind == "content_block_start" and self._name(self._parts[index]):
            self._calls += 1
        return self._replace_data(event, {**data, key: self._place(index)})

    def _name_call(self, key: Any, events: list[StreamEvent]) -> list[StreamEvent]:
        arguments = "".join(self._inputs.get(key, ()))
        call = self._undo_dispatch(self._add_input(self._parts[key], arguments))
        if self._name(call) == self._search_name:
            return []
        *opened, stop = events
        return [*self._write_events(call, opened), stop]

    def _record_usage(self, holder: Json) -> None:
        """Record a usage; later events of a turn replace earlier ones."""
        usage = mapping(holder.get("usage"))
        self._usage |= {key: value for key, value in usage.items() if value is not None}

    def _end_message(self, data: Json) -> Json:
        """Return the end of a message; without a call that the client sees it is `end_turn`."""
        is_call = data.get(self.reason_key) == "tool_use" and not self._calls
        return {**data, self.reason_key: "end_turn"} if is_call else data

    @abstractmethod
    def _add(self, block: Json, delta: Json, index: Any) -> None:
        """Add a piece to a block."""

    @abstractmethod
    def _add_input(self, block: Json, arguments: Any) -> Json:
        """Return a call with its input."""

    @abstractmethod
    def _write_events(self, call: Json, opened: list[StreamEvent]) -> list[StreamEvent]:
        """Return the events of a call but for its end, made from those of another."""


class AnthropicStream(BlockStream):
    """The stream of `POST /v1/messages`.

    Args:
        search_name: name of the search tool.
        dispatch_name: name of the tool through which others are called; empty without one.
    """

    index_key = "index"
    block_key = "content_block"
    reason_key = "stop_reason"

    _first_id = _id = ""
    _same_index: re.Pattern[bytes] | None = None
    """Finds the position of the block that was shown last, where it is the client's too."""

    def response(self) -> Json:
        """Return the message with its id."""
        self._collect_passed()
        return {"id": self._id, **super().response()}

    def fail(self, status: int, error: Json) -> bytes:
        """Return the event `error`."""
        return write({"type": "error", "error": error}, "error")

    def _is_text(self, raw: bytes) -> bool:
        """Whether it is a piece of the text that is being shown."""
        index = self._same_index
        return bool(index and b'"text_delta"' in raw and index.search(raw)) and not self._waiting

    def _collect_text(self, data: Json) -> None:
        index = data.get(self.index_key)
        self._add(self._parts.setdefault(index, {}), mapping(data.get("delta")), index)

    def _show(self, event: StreamEvent) -> bytes:
        shown = super()._show(event)
        index = (event.data or {}).get(self.index_key)
        if shown is event.raw and event.kind == "content_block_delta" and isinstance(index, int):
            self._same_index = re.compile(rb'"index":\s*%d\b' % index)
        return shown

    def _handle(self, event: StreamEvent) -> bytes:
        self._same_index = None
        if event.kind == "message_start":
            self._id = str(mapping((event.data or {}).get("message")).get("id") or "")
            self._first_id = self._first_id or self._id
            if self._id != self._first_id:
                LAST_IDS.put(self._first_id, self._id)
        return super()._handle(event)

    def _end(self, event: StreamEvent) -> bytes:
        data = dict(event.data or {})
        if "delta" in data:
            data["delta"] = self._end_message(mapping(data["delta"]))
        if self._spent is not None and "usage" in data:
            data["usage"] = add(self._spent, self._usage)
        return self._replace_data(event, data)

    def _add(self, block: Json, delta: Json, index: Any) -> None:
        for key in ("text", "thinking", "signature"):
            if isinstance(piece := delta.get(key), str):
                block[key] = str(block.get(key) or "") + piece
        if "partial_json" in delta:
            self._inputs.setdefault(index, []).append(str(delta["partial_json"] or ""))
        if "citation" in delta:
            block["citations"] = [*(block.get("citations") or []), delta["citation"]]

    def _add_input(self, block: Json, arguments: Any) -> Json:
        return {**block, "input": arguments}

    def _write_events(self, call: Json, opened: list[StreamEvent]) -> list[StreamEvent]:
        kind = opened[0].kind
        data = opened[0].data or {}
        piece = {"type": "input_json_delta", "partial_json": call["input"]}
        delta = {"type": "content_block_delta", "index": data.get("index"), "delta": piece}
        block = {**call, "input": {}}
        return [StreamEvent(b"", {**data, "content_block": block}, kind), StreamEvent(b"", delta)]


_KEPT_BY_THREADS = ("system", "tools")


class Anthropic(Blocks):
    """`POST /v1/messages`.

    With a `thread` the provider keeps the conversation, its tools and its system text; a request
    that continues one has only new messages, and may not repeat the others.
    """

    name: ProviderName = "anthropic"
    stream: type[Stream] | None = AnthropicStream
    previous_key = "thread"
    reason_key = "stop_reason"

    def is_keeping_tools(self, request: Json) -> bool:
        """Return whether there is a `thread`."""
        return bool(request.get(self.previous_key))

    def previous(self, request: Json) -> str:
        """`previous_message_id` of the thread."""
        return text_at(mapping(request.get("thread")), "previous_message_id")

    def with_tools(self, request: Json, tools: Sequence[Any]) -> Json:
        """Return the request with other tools, or with none where a thread has them."""
        if not self.previous(request):
            return super().with_tools(request, tools)
        return {key: value for key, value in request.items() if key not in _KEPT_BY_THREADS}

    def continue_request(self, request: Json, response: Json, results: Results) -> Json:
        """Return the request with what was added; in a thread, with the results alone."""
        name = self.find_stored_id(response)
        if not self.is_keeping_tools(request) or not name:  # a response of ours has no name
            return super().continue_request(request, response, results)
        return self.continue_from(self.with_history(request, self.results(results)), name)

    def add_results(self, request: Json, results: list[Json]) -> Json:
        """Return the request with blocks before those of its first message."""
        (ours,) = results
        (first, *others) = self.history(request)
        content = first["content"]
        own = [{"type": "text", "text": content}] if isinstance(content, str) else content
        return self.with_history(request, [{**first, "content": [*ours["content"], *own]}, *others])

    def continue_from(self, request: Json, name: str) -> Json:
        """Return the request as one that continues a thread."""
        return {**request, "thread": {"type": "continue", "previous_message_id": name}}

    def forbid_calls(self, request: Json) -> Json:
        """Return the request with a `tool_choice` of the type `none`."""
        return {**request, "tool_choice": {"type": "none"}}

    def needs_thoughts(self, request: Json) -> bool:
        """Return whether it thinks: a turn that calls tools has to begin with what led to them."""
        return mapping(request.get("thinking")).get("type") not in (None, "disabled")

    def can_take_made_up_call(self, request: Json) -> bool:
        """Return whether the last message is not the model's, and need not show what it thought."""
        last = self.turns(request)[-1:]
        is_users = any(turn.get("role") == "user" for turn in last)
        return is_users and super().can_take_made_up_call(request)

    def make_search(self, call: Call) -> Json:
        """Return a message of one block."""
        block = {"type": "tool_use", "id": call.id, "name": call.name}
        return {"content": [{**block, "input": dict(call.arguments)}]}

    def function(self, name: str, description: str, schema: Json) -> Any:
        """Return a client tool."""
        return {"name": name, "description": description, "input_schema": schema}

    def result(self, answered: SearchResult) -> Json:
        """Return a `tool_result` block."""
        return {"type": "tool_result", "tool_use_id": answered.call.id, "content": answered.text}


class AnthropicOnBedrock(Anthropic):
    """`InvokeModel`, whose body is Anthropic's with `anthropic_version`."""

    name: ProviderName = "bedrock-anthropic"
    stream = None  # no SDK hands out its bytes
