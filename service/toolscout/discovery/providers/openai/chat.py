"""OpenAI chat completions, and compatible APIs."""

from collections.abc import Sequence
from typing import Any

from toolscout.discovery.providers.fields import Json, mapping, mappings
from toolscout.discovery.providers.openai.stream import OpenAIStream
from toolscout.discovery.providers.provider import (
    Called,
    OpenStream,
    Provider,
    ProviderName,
    SearchResult,
)

MAX_TOOLS = 128
"""Maximum number of tools of a request; OpenAI refuses more."""


class OpenAIChat(Provider):
    """`POST /v1/chat/completions`."""

    name: ProviderName = "openai"
    stream: OpenStream | None = OpenAIStream
    max_tools: int | None = MAX_TOOLS

    def choices(self, request: Json) -> int:
        """Return `n`."""
        number = request.get("n")
        return number if isinstance(number, int) else 1

    def function(self, name: str, description: str, schema: Json) -> Any:
        """Return a function tool."""
        function = {"name": name, "description": description, "parameters": schema}
        return {"type": "function", "function": function}

    def turn_of(self, response: Json) -> Json:
        """Return the message of the first choice, the only one that a loop can continue."""
        choices = mappings(response.get("choices"))
        return mapping(choices[0].get("message")) if choices else {}

    def parts_of(self, turn: Json) -> list[Json]:
        """Return the `tool_calls` of a message; their position replaces a missing id."""
        return [
            call if isinstance(call.get("id"), str) and call["id"] else {**call, "id": f"call_{at}"}
            for at, call in enumerate(mappings(turn.get("tool_calls")))
        ]

    def call_in(self, part: Json, place: int = 0) -> Called | None:
        """Return that of the `function`."""
        function = mapping(part.get("function"))
        return part["id"], function.get("name"), function.get("arguments")

    def continued(self, request: Json, response: Json, results: Sequence[SearchResult]) -> Json:
        """Return the assistant's message with the answered calls, then one `tool` message for each.

        The message keeps its other fields, because some models need their reasoning.
        """
        message = self.turn_of(response)
        turn = {
            **{key: value for key, value in message.items() if value is not None},
            "role": "assistant",
            "content": message.get("content"),
            "tool_calls": self.answered(response, results),
        }
        if isinstance(turn.get("audio"), dict):
            turn["audio"] = {"id": turn["audio"].get("id")}  # the only key that requests accept
        answers = [
            {"role": "tool", "tool_call_id": call.id, "content": text} for call, text, _ in results
        ]
        return {**request, "messages": [*(request.get("messages") or []), turn, *answers]}

    def without_calls(self, response: Json, name: str) -> Json:
        """Remove these calls from every choice; one without other calls ends with `stop`."""
        choices = []
        changed = False
        for choice in mappings(response.get("choices")):
            message = mapping(choice.get("message"))
            calls = mappings(message.get("tool_calls"))
            kept = [call for call in calls if mapping(call.get("function")).get("name") != name]
            if len(kept) < len(calls):
                changed = True
                message = {**message, "tool_calls": kept}
                choice = {**choice, "message": message}
                if not kept:
                    del message["tool_calls"]
                    choice["finish_reason"] = "stop"
            choices.append(choice)
        return {**response, "choices": choices} if changed else response
