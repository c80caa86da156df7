"""OpenAI Responses and their stream, with the namespaces of their tools.

    {"type": "namespace", "name": "crm", "description": "…", "tools": [{"type": "function", …}]}

A function of a namespace is a tool of its own here. It is known as `crm.find_contact` while it is
searched, and goes back into its namespace before the request is sent.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from toolscout.turns.providers.calls import Call, undo_dispatch
from toolscout.turns.providers.chat import MAX_TOOLS
from toolscout.turns.providers.fields import Json, encode, mapping, mappings
from toolscout.turns.providers.provider import Provider, ProviderName, SearchResult
from toolscout.turns.providers.stream import LAST_IDS, PartStream, Stream, StreamEvent
from toolscout.turns.providers.thoughts import has_words, is_thought

_SPACE = "namespace_description"

NATIVE = "tool_search"
"""Name of the search tool that stands for the API's own (`{"type": "tool_search"}`)."""

_OPENING = ("response.created", "response.queued", "response.in_progress")
_FINAL = ("response.completed", "response.incomplete", "response.failed")

Key = int | str | None
"""An item of a response: its `output_index`, else its id; None for events without an item."""


class ResponsesStream(PartStream):
    """Removes items of searches and makes one response of the model's several.

    The SDKs want one id from `response.created` to `response.completed`, and the id that a client
    gets is its next `previous_response_id`, which must be that of the model's last response:
    earlier ones end with a search whose answer they lack. So `response.created` waits for the first
    item that the client sees, and a response that only searches leaves no trace of its id. If one
    shows text and then searches, its id stays and `LAST_IDS` has the one behind it. A thought
    without a word waits until another item follows: before a search nobody misses it.
    """

    def __init__(self, *names: Any, **more: Any) -> None:
        self._sequence: int | None = None
        """The number of the next event, where the model numbers them."""
        self._earlier: list[Json] = []
        """Items of earlier turns of the model that went to the client."""
        self._done: dict[Key, Json] = {}
        self._opened = False
        super().__init__(*names, **more)

    def next_turn(self) -> None:
        """Reset, except for what was sent to the client and the usage."""
        shown = [item for key, item in self._done.items() if key in self._places]
        self._earlier += self._undo_dispatch(shown)
        super().next_turn()
        self._done = {}
        self._opening: list[StreamEvent] = []

    def response(self) -> Json:
        """Return the items of the model's turn."""
        response = mapping(mapping(self._held and self._held[0].data).get("response"))
        if response.get("status") == "failed":
            return {"output": []}
        # Some servers leave out the end of every item, some the items at the end.
        items = max(list(self._done.values()), mappings(response.get("output")), key=len)
        return {"id": response.get("id"), "output": items}

    def fail(self, status: int, error: Json) -> bytes:
        """Return the event `error`; the API has its fields beside `error`, the SDK reads that."""
        fields = {key: error.get(key) for key in ("code", "message", "param")}
        data = {"type": "error", **fields, "error": error, "sequence_number": 0}
        return self._handle(StreamEvent(b"", data, "error"))

    def _handle(self, event: StreamEvent) -> bytes:  # one for each kind of event
        data = event.data or {}
        if event.kind in _FINAL:
            self._usage = mapping(mapping(data.get("response")).get("usage")) or self._usage
            self._held = [event]
            return b""
        if event.kind == "error":
            # After an error no item ends properly, not even a search that has begun.
            begun = self._release()
            self._waiting = []
            self._done = {}
            self._held = []
            return begun + self._show(event)
        key = _find_key(data)
        if key is not None:
            self._collect(event.kind, key, data)
            return self._pass(key, event, is_end=event.kind == "response.output_item.done")
        if not self._opened:
            self._opening.append(event)  # before the first item all of them wait
            return b""
        if self._waiting and event.kind not in _OPENING:  # it stays behind what came before it
            self._waiting.append((None, event))
            return b""
        return b"" if event.kind in _OPENING else self._show(event)

    def _can_wait(self, key: Key, event: StreamEvent) -> bool:
        is_shown = key in self._places
        return is_thought(self._parts[key]) and not is_shown and not has_words(event.data)

    def _name(self, part: Json) -> str | None:
        return NATIVE if is_search(part, NATIVE) else super()._name(part)

    def _name_call(self, key: Key, events: list[StreamEvent]) -> list[StreamEvent]:
        data = events[-1].data or {}
        call = self._undo_dispatch(self._done[key])
        if self._name(call) == self._search_name:
            return []
        at: Json = {k: data[k] for k in ("output_index", "sequence_number") if k in data}
        piece: Json = {"item_id": call.get("id"), **at}
        added = {**call, "arguments": "", "status": "in_progress"}
        arguments = call.get("arguments")
        kind = "response.function_call_arguments"
        made: list[Json] = [
            {"type": "response.output_item.added", "item": added, **at},
            {"type": f"{kind}.delta", "delta": arguments, **piece},
            {"type": f"{kind}.done", "name": call["name"], "arguments": arguments, **piece},
            {"type": "response.output_item.done", "item": call, **at},
        ]
        return [StreamEvent(b"", event) for event in made]

    def _collect(self, kind: str, key: Key, data: Json) -> None:
        """Record what an event says of an item."""
        item = self._parts.setdefault(key, {})
        item |= mapping(data.get("item"))
        if kind.startswith("response.function_call_arguments."):
            item.setdefault("type", "function_call")
            if isinstance(data.get("name"), str):
                item["name"] = data["name"]
        if kind == "response.output_item.done":
            self._done[key] = mapping(data.get("item"))

    def _open(self) -> bytes:
        """Return the events that came before the first item, once."""
        self._opened = True
        before = self._opening
        self._opening = []
        return b"".join(map(self._show, before))

    def _release(self) -> bytes:
        return self._open() + super()._release()

    def _end(self, event: StreamEvent) -> bytes:
        """Return the end with all items and the whole usage."""
        return self._show(event, is_final=True)

    def _show(self, event: StreamEvent, *, is_final: bool = False) -> bytes:
        """Renumber an event for the client."""
        if event.data is None:
            return event.raw
        data = dict(event.data)
        if "response" in data:
            data["response"] = self._client_view(mapping(data["response"]), is_final)
        if (key := _find_key(data)) is not None:
            place = self._place(key)
            if isinstance(data.get("output_index"), int):
                data["output_index"] = place
        if isinstance(number := data.get("sequence_number"), int):
            data["sequence_number"] = number if self._sequence is None else self._sequence
            self._sequence = data["sequence_number"] + 1
        return self._replace_data(event, data)

    def _client_view(self, response: Json, is_final: bool) -> Json:
        """Return the response of an event as the client sees it."""
        seen = response
        if self._change is not None:
            seen = undo_dispatch(seen, self._dispatch_name, self._change)
        seen = drop_searches(seen, self._search_name)
        own = response.get("id")
        if self._id is None:
            self._id = own
        elif own != self._id and "id" in response:
            seen = {**seen, "id": self._id}
        if not is_final:
            return seen
        if own != self._id and isinstance(own, str) and isinstance(self._id, str):
            LAST_IDS.put(self._id, own)
        if self._earlier and isinstance(seen.get("output"), list):
            seen = {**seen, "output": [*self._earlier, *seen["output"]]}
        return self._add_usage(seen)


def _find_key(data: Json) -> Key:
    ids = (data.get("output_index"), data.get("item_id"), mapping(data.get("item")).get("id"))
    return next((one for one in ids if isinstance(one, int | str)), None)


def is_search(item: Json, name: str) -> bool:
    """Whether an item of a response is a call of the search tool of this name."""
    if name == NATIVE:
        return item.get("type") == "tool_search_call" and item.get("execution") == "client"
    return item.get("type") == "function_call" and item.get("name") == name


def drop_searches(response: Json, name: str) -> Json:
    """Remove the calls of a search tool, and the tool where a response repeats its request's.

    Returns:
        the response itself where it has neither.
    """
    changed = dict(response)
    if isinstance(response.get("output"), list):
        changed["output"] = [i for i in response["output"] if not is_search(mapping(i), name)]
    if isinstance(response.get("tools"), list):
        key = "type" if name == NATIVE else "name"
        changed["tools"] = [t for t in response["tools"] if mapping(t).get(key) != name]
    return response if changed == response else changed


class OpenAIResponses(Provider):
    """`POST /v1/responses`.

    With `previous_response_id` the request does not contain the conversation's first message; its
    session is that of the response.
    """

    name: ProviderName = "openai-responses"
    max_tools: int | None = MAX_TOOLS
    history_key = "input"
    text_type = "input_text"
    previous_key = "previous_response_id"
    stream: type[Stream] | None = ResponsesStream
    response_path = ("output",)

    def history(self, request: Json) -> list[Any]:
        """Return the items of `input`; one that is a text is a user's."""
        items = request.get("input")
        if isinstance(items, str):
            return [{"role": "user", "content": items}]
        return super().history(request)

    def tools(self, request: Json) -> list[Any]:
        """`tools`, with the functions of namespaces as tools of their own."""
        tools: list[Any] = []
        for tool in request.get("tools") or []:
            fields = mapping(tool)
            space = fields.get("name")
            if fields.get("type") != "namespace" or not isinstance(space, str):
                tools.append(tool)
                continue
            added = {"namespace": space, _SPACE: fields.get("description")}
            tools += [
                {**function, "name": f"{space}.{function.get('name')}", **added}
                for function in mappings(fields.get("tools"))
            ]
        return tools

    def with_tools(self, request: Json, tools: Sequence[Any]) -> Json:
        """Return the request with other tools, functions back in their namespaces."""
        return super().with_tools(request, group(tools))

    def _read(self, response: Json) -> list[tuple[Json, Call | None]]:
        """Return the items; a call that the API has answered itself (a hosted shell) is none."""
        read = super()._read(response)
        outputs = [item for item, _ in read if str(item.get("type")).endswith("_output")]
        answered = [item.get("call_id") for item in outputs]
        return [(item, None if call and call.id in answered else call) for item, call in read]

    def has_to_pass(self, request: Json) -> bool:
        """Whether `background` or `conversation` is set.

        A response in the background is fetched later, past any flow, so no search may be in it, and
        none may stay in a `conversation`, where the provider keeps it.
        """
        return bool(request.get("background") or request.get("conversation"))

    def function(self, name: str, description: str, schema: Json) -> Any:
        """Return a function tool."""
        tool = {"type": "function", "name": name, "description": description}
        return {**tool, "parameters": schema}

    def make_search(self, call: Call) -> Json:
        """Return a response of one item."""
        arguments = encode(call.arguments).decode()
        item = {"type": "function_call", "call_id": call.id, "name": call.name}
        return {"output": [{**item, "arguments": arguments}]}

    def result(self, answered: SearchResult) -> Json:
        """Return the item with the result of a search."""
        call, text, _ = answered
        return {"type": "function_call_output", "call_id": call.id, "output": text}

    def make_turn(self, request: Json, response: Json, parts: list[Json]) -> list[Json]:
        """Return every item of the turn: calls need the reasoning before them.

        With `store: false` the provider knows reasoning by its encrypted content alone.
        """
        if request.get("store") is not False:
            return parts
        return [i for i in parts if i.get("type") != "reasoning" or i.get("encrypted_content")]

    def drop_calls(self, response: Json, name: str) -> Json:
        """Remove these items, and the tool from the tools that the response repeats."""
        return drop_searches(response, name)


def group(tools: Iterable[Any]) -> list[Any]:
    """Return the tools with functions back in their namespaces, each where its first one stands."""
    entries: list[Any] = []
    spaces: dict[str, Json] = {}
    for tool in tools:
        fields = mapping(tool)
        if _SPACE not in fields:
            entries.append(tool)
            continue
        plain = dict(fields)
        name = plain.pop("namespace")
        about = plain.pop(_SPACE)
        if name not in spaces:
            described = {} if about is None else {"description": about}
            spaces[name] = {"type": "namespace", "name": name, **described, "tools": []}
            entries.append(spaces[name])
        spaces[name]["tools"].append({**plain, "name": plain["name"].removeprefix(f"{name}.")})
    return entries
