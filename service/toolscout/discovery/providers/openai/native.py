"""OpenAI Responses with the provider's own deferred loading, searched by the caller.

Every function is declared with `defer_loading: true`, and `{"type": "tool_search", "execution":
"client"}` beside them. The model asks with an item `tool_search_call`; the definitions in the
`tool_search_output` that answers it are loaded from there on, so the declarations before the
conversation stay the same. Source: OpenAI's documentation of client-executed tool search.
"""

from collections.abc import Sequence
from typing import Any

from toolscout.discovery.providers.models import version_of
from toolscout.discovery.providers.openai.namespaces import grouped
from toolscout.discovery.providers.openai.responses import OpenAIResponses
from toolscout.discovery.providers.openai.searches import NATIVE, is_search
from toolscout.discovery.providers.provider import (
    Answered,
    Call,
    Json,
    Tools,
    arguments_of,
    mapping,
    mappings,
)

FIRST = (5, 4)
"""First version of GPT that loads deferred tools."""


class NativeResponses(OpenAIResponses):
    """`POST /v1/responses` with `defer_loading`."""

    search_name: str | None = NATIVE
    max_tools: int | None = None

    def defers(self, request: Json) -> bool:
        """GPT 5.4 and later."""
        return version_of("gpt", request.get("model")) >= FIRST

    def function(self, name: str, description: str, schema: Json) -> Any:
        """The search tool, which has no name."""
        execution = {"type": NATIVE, "execution": "client"}
        return {**execution, "description": description, "parameters": schema}

    def offered(self, request: Json, search: Any, tools: Tools) -> Json:
        """Every tool where it was, deferred unless it is visible; the history has those found."""
        seen = set(map(id, (*tools.visible, *tools.known)))
        declared = [tool if id(tool) in seen else _deferred(tool) for tool in tools.all]
        return self.with_tools(request, [search, *declared])

    def calls(self, response: Json) -> list[Call]:
        """The calls of functions, and the searches that are the caller's to answer."""
        searches = [
            Call(str(item.get("call_id") or ""), NATIVE, arguments_of(item.get("arguments")))
            for item in mappings(response.get("output"))
            if is_search(item, NATIVE)
        ]
        return [*super().calls(response), *searches]

    def continued(self, request: Json, response: Json, results: Sequence[Answered]) -> Json:
        """Every item of the turn, then the definitions that each search loads."""
        continued = super().continued(request, response, ())
        outputs = [
            {
                "type": "tool_search_output",
                "call_id": call.id,
                "status": "completed",
                "execution": "client",
                "tools": grouped([_deferred(tool) for tool in tools]),
            }
            for call, _, tools in results
        ]
        # Such an output has no room for words, and nothing in it says why it is empty.
        words = [{"role": "developer", "content": text} for _, text, tools in results if not tools]
        return {**continued, "input": [*continued["input"], *outputs, *words]}

    def referred(self, history: Sequence[Any]) -> set[str]:
        """Names of the functions in `tool_search_output` items."""
        loaded = [
            tool
            for item in mappings(list(history))
            if item.get("type") == "tool_search_output"
            for tool in self.tools(item)
        ]
        return {name for tool in loaded if isinstance(name := mapping(tool).get("name"), str)}


def _deferred(tool: Any) -> Any:
    """Only functions can be deferred; built-ins stay as they are."""
    given = mapping(tool)
    return {**given, "defer_loading": True} if given.get("type") == "function" else tool
