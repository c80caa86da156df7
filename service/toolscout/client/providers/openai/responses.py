"""OpenAI Responses."""

from collections.abc import Sequence
from typing import Any

from toolscout.client.providers.openai.chat import forced_name
from toolscout.client.providers.provider import (
    Call,
    Json,
    ProviderName,
    Turns,
    arguments_of,
    mapping,
    mappings,
    names_once,
)


class OpenAIResponses(Turns):
    """`POST /v1/responses`.

    With `previous_response_id` the request does not contain the conversation's first message, so
    the caller must name the session.
    """

    name: ProviderName = "openai-responses"

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
        """Remove these items."""
        items = mappings(response.get("output"))
        kept = [i for i in items if i.get("type") != "function_call" or i.get("name") != name]
        return response if len(kept) == len(items) else {**response, "output": kept}
