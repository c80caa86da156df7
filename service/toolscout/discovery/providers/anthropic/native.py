"""Anthropic messages with the provider's own deferred loading.

Every tool is declared, most of them with `defer_loading: true`; the model sees such a tool from the
`tool_reference` to it on. The declarations stay the same, and so does the start of the prompt in
the provider's cache.
Source: Anthropic's documentation of tool search with a custom search tool.
"""

from collections.abc import Sequence
from typing import Any

from toolscout.discovery.providers.anthropic.messages import Anthropic
from toolscout.discovery.providers.models import version_of
from toolscout.discovery.providers.provider import Answered, Json, Tools, mapping, mappings

FIRST = (4, 5)
"""First version of Claude that loads deferred tools."""

MAX_DECLARED = 10_000


class NativeAnthropic(Anthropic):
    """`POST /v1/messages` with `defer_loading`."""

    def defers(self, request: Json) -> bool:
        """Claude 4.5 and later, with no more tools than may be declared."""
        return version_of("claude", request.get("model")) >= FIRST and (
            len(self.tools(request)) < MAX_DECLARED
        )

    def offered(self, request: Json, search: Any, tools: Tools) -> Json:
        """Every tool where it was, deferred unless it is visible; the history has those found."""
        seen = set(map(id, (*tools.visible, *tools.known)))
        declared = [tool if id(tool) in seen else _deferred(tool) for tool in tools.all]
        return self.with_tools(request, [search, *declared])

    def continued(self, request: Json, response: Json, results: Sequence[Answered]) -> Json:
        """The results refer to the tools they load; only declared ones may be referred to."""
        next_request = super().continued(request, response, results)
        *before, answer = next_request["messages"]
        loaded = {call.id: [_reference(tool) for tool in tools] for call, _, tools in results}
        content = [
            {**block, "content": loaded[block["tool_use_id"]] or block["content"]}
            for block in answer["content"]
        ]
        return {**next_request, "messages": [*before, {**answer, "content": content}]}

    def referred(self, history: Sequence[Any]) -> set[str]:
        """Names in `tool_reference` blocks."""
        return {
            name
            for message in mappings(list(history))
            for block in mappings(message.get("content"))
            for inner in mappings(block.get("content"))
            if isinstance(name := inner.get("tool_name"), str)
        }


def _deferred(tool: Any) -> Any:
    """Tools with a schema can be deferred; built-ins stay as they are."""
    given = mapping(tool)
    return {**given, "defer_loading": True} if "input_schema" in given else tool


def _reference(tool: Any) -> Json:
    return {"type": "tool_reference", "tool_name": mapping(tool)["name"]}
