"""OpenAI chat completions, and compatible APIs."""

from collections.abc import Sequence
from typing import Any

from toolscout.discovery.providers.openai.stream import OpenAIStream
from toolscout.discovery.providers.provider import (
    Answered,
    Call,
    Json,
    OpenStream,
    ProviderName,
    arguments_of,
    mapping,
    mappings,
    names_once,
)
from toolscout.discovery.providers.shape import Turns

MAX_TOOLS = 128
"""Maximum number of tools of a request; OpenAI refuses more."""


class OpenAIChat(Turns):
    """`POST /v1/chat/completions`."""

    name: ProviderName = "openai"
    stream: OpenStream | None = OpenAIStream
    max_tools: int | None = MAX_TOOLS

    def recent(self, request: Json) -> list[str]:
        """Names in the assistant's `tool_calls`."""
        names = [
            mapping(call.get("function")).get("name")
            for message in self.turns(request)
            for call in mappings(message.get("tool_calls"))
        ]
        return names_once(names)

    def choices(self, request: Json) -> int:
        """`n`."""
        number = request.get("n")
        return number if isinstance(number, int) else 1

    def function(self, name: str, description: str, schema: Json) -> Any:
        """A function tool."""
        function = {"name": name, "description": description, "parameters": schema}
        return {"type": "function", "function": function}

    def calls(self, response: Json) -> list[Call]:
        """The `tool_calls` of the first choice, the only one that a loop can continue.

        Its position replaces a missing id.
        """
        choices = mappings(response.get("choices"))
        message = mapping(choices[0].get("message")) if choices else {}
        return [
            Call(call["id"], name, arguments_of(function.get("arguments")))
            for call in _identified(message)
            if isinstance(name := (function := mapping(call.get("function"))).get("name"), str)
        ]

    def continued(self, request: Json, response: Json, results: Sequence[Answered]) -> Json:
        """The assistant's message with the answered calls, then one `tool` message for each.

        The message keeps its other fields, because some models need their reasoning.
        """
        answered = {call.id for call, *_ in results}
        message = mapping(mappings(response.get("choices"))[0].get("message"))
        turn = {
            **{key: value for key, value in message.items() if value is not None},
            "role": "assistant",
            "content": message.get("content"),
            "tool_calls": [call for call in _identified(message) if call["id"] in answered],
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


def _identified(message: Json) -> list[Json]:
    return [
        call if isinstance(call.get("id"), str) and call["id"] else {**call, "id": f"call_{place}"}
        for place, call in enumerate(mappings(message.get("tool_calls")))
    ]
