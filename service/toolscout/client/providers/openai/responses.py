"""OpenAI Responses."""

from collections.abc import Callable, Sequence
from typing import Any

from toolscout.client.providers.openai.chat import forced_name
from toolscout.client.providers.openai.responses_stream import ResponsesStream
from toolscout.client.providers.openai.searches import without_searches
from toolscout.client.providers.provider import (
    Call,
    Json,
    ProviderName,
    Stream,
    Turns,
    arguments_of,
    mapping,
    mappings,
    names_once,
)
from toolscout.common.lru import Lru

MAX_LAST_IDS = 10_000
"""Responses whose last id is remembered."""


class OpenAIResponses(Turns):
    """`POST /v1/responses`.

    With `previous_response_id` the request does not contain the conversation's first message, so
    the caller must name the session.
    """

    name: ProviderName = "openai-responses"

    def __init__(self) -> None:
        self._last_ids: Lru[str, str] = Lru(MAX_LAST_IDS)
        self.stream: Callable[[str], Stream] | None = self._stream

    def _stream(self, search_name: str) -> Stream:
        return ResponsesStream(search_name, self._last_ids)

    def resumed(self, request: Json) -> Json:
        """Name the response behind the one that a stream showed; see `ResponsesStream`."""
        given = request.get("previous_response_id")
        last = self._last_ids.get(given) if isinstance(given, str) else None
        return request if last is None else {**request, "previous_response_id": last}

    def turns(self, request: Json) -> list[Json]:
        """The items of `input`; one that is a text is a user's."""
        given = request.get("input")
        return [{"role": "user", "content": given}] if isinstance(given, str) else mappings(given)

    def recent(self, request: Json) -> list[str]:
        """Names in `function_call` items."""
        names = [i.get("name") for i in self.turns(request) if i.get("type") == "function_call"]
        return names_once(names)

    def forced(self, request: Json) -> str | None:
        """`tool_choice`: `none`, or the name of a function."""
        choice = request.get("tool_choice")
        return forced_name(choice, mapping(choice))

    def function(self, name: str, description: str, schema: Json) -> Any:
        """A function tool."""
        tool = {"type": "function", "name": name, "description": description}
        return {**tool, "parameters": schema}

    def calls(self, response: Json) -> list[Call]:
        """The `function_call` items."""
        return [
            Call(str(item.get("call_id") or ""), name, arguments_of(item.get("arguments")))
            for item in mappings(response.get("output"))
            if item.get("type") == "function_call" and isinstance(name := item.get("name"), str)
        ]

    def continued(self, request: Json, response: Json, results: Sequence[tuple[Call, str]]) -> Json:
        """Every item of the turn (calls need the reasoning before them), then the outputs."""
        answered = {call.id for call, _ in results}
        said = [
            item
            for item in mappings(response.get("output"))
            if item.get("type") != "function_call" or item.get("call_id") in answered
        ]
        told = [
            {"type": "function_call_output", "call_id": call.id, "output": text}
            for call, text in results
        ]
        return {**request, "input": [*self.turns(request), *said, *told]}

    def without_calls(self, response: Json, name: str) -> Json:
        """Remove these items, and the tool from the tools that the response repeats."""
        return without_searches(response, name)
