"""OpenAI Responses."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from toolscout.common.lru import Lru
from toolscout.discovery import wire
from toolscout.discovery.providers.fields import Json, mappings, names_once
from toolscout.discovery.providers.openai.chat import MAX_TOOLS
from toolscout.discovery.providers.openai.items import flattened, grouped, name_in, without_searches
from toolscout.discovery.providers.openai.responses_stream import ResponsesStream
from toolscout.discovery.providers.provider import (
    Called,
    OpenStream,
    Provider,
    ProviderName,
    SearchResult,
)

MAX_LAST_IDS = 10_000
"""Responses whose last id is remembered."""

MAX_OPEN_BYTES = 16 * 1024 * 1024
"""Maximum bytes of remembered results, as JSON."""

RESULTS = ("function_call_output", "tool_search_output")
"""Types of items that are results."""


class OpenAIResponses(Provider):
    """`POST /v1/responses`.

    With `previous_response_id` the request does not contain the conversation's first message; its
    session is that of the response.
    """

    name: ProviderName = "openai-responses"
    max_tools: int | None = MAX_TOOLS
    history_key = "input"

    last_ids: Lru[str, str] = Lru(MAX_LAST_IDS)
    """Ids of the responses behind those that a stream showed; see `ResponsesStream`."""

    open_results: Lru[str, list[Json]] = Lru(MAX_OPEN_BYTES)
    """Results of searches by the id of the response that made them beside other calls."""

    def __init__(self) -> None:
        self.stream: OpenStream | None = partial(ResponsesStream, self.last_ids)

    def resumed(self, request: Json) -> Json:
        """Name the response behind the one that a stream showed, and answer its searches.

        The API keeps a response as the model wrote it, and refuses to go on without the result of
        each of its calls.
        """
        given = self.previous(request)
        last = self.last_ids.get(given) or given
        results = self.open_results.get(last)
        if results is not None:
            request = {**request, "input": [*results, *self.history(request)]}
        return request if last == given else {**request, "previous_response_id": last}

    def leave_open(self, response: Json, results: Sequence[SearchResult]) -> None:
        """Remember the results until a request names the response."""
        name = response.get("id")
        items = self.continued({"input": []}, response, results)["input"]
        kept = [i for i in items if i.get("type") in RESULTS or i.get("role") == "developer"]
        if isinstance(name, str):
            self.open_results.put(name, kept, len(wire.encode(kept)))

    def previous(self, request: Json) -> str:
        """`previous_response_id`."""
        return _text(request.get("previous_response_id"))

    def stored_as(self, response: Json) -> str:
        """`id`."""
        return _text(response.get("id"))

    def history(self, request: Json) -> list[Any]:
        """Return the items of `input`; one that is a text is a user's."""
        given = request.get("input")
        return (
            [{"role": "user", "content": given}]
            if isinstance(given, str)
            else super().history(request)
        )

    def tools(self, request: Json) -> list[Any]:
        """`tools`, with the functions of namespaces as tools of their own."""
        return flattened(request.get("tools") or [])

    def with_tools(self, request: Json, tools: Sequence[Any]) -> Json:
        """Return the request with other tools, functions back in their namespaces."""
        return super().with_tools(request, grouped(tools))

    def recent(self, request: Json) -> list[str]:
        """Return names in `function_call` items."""
        return names_once(call[1] for item in self.turns(request) if (call := self.call_in(item)))

    def passes(self, request: Json) -> bool:
        """Whether `background` or `conversation` is set.

        A response in the background is fetched later, past any flow, so no search may be in it, and
        none may stay in a `conversation`, where the provider keeps it.
        """
        return bool(request.get("background") or request.get("conversation"))

    def function(self, name: str, description: str, schema: Json) -> Any:
        """Return a function tool."""
        tool = {"type": "function", "name": name, "description": description}
        return {**tool, "parameters": schema}

    def turn_of(self, response: Json) -> Json:
        """Return the response itself."""
        return response

    def parts_of(self, turn: Json) -> list[Json]:
        """Return the items of `output`."""
        return mappings(turn.get("output"))

    def call_in(self, part: Json, place: int = 0) -> Called | None:
        """Return that of a `function_call` item."""
        if part.get("type") != "function_call":
            return None
        name = part.get("name")
        whole = name_in(part.get("namespace"), name) if isinstance(name, str) else None
        return part.get("call_id"), whole, part.get("arguments")

    def continued(self, request: Json, response: Json, results: Sequence[SearchResult]) -> Json:
        """Every item of the turn (calls need the reasoning before them), then the outputs.

        With `store: false` the provider knows reasoning by its encrypted content alone.
        """
        forgotten = request.get("store") is False
        items = self.answered(response, results)
        turn = [item for item in items if not (forgotten and _is_only_an_id(item))]
        outputs = [
            {"type": "function_call_output", "call_id": call.id, "output": text}
            for call, text, _ in results
        ]
        return {**request, "input": [*self.turns(request), *turn, *outputs]}

    def without_calls(self, response: Json, name: str) -> Json:
        """Remove these items, and the tool from the tools that the response repeats."""
        return without_searches(response, name)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _is_only_an_id(item: Json) -> bool:
    return item.get("type") == "reasoning" and not item.get("encrypted_content")
