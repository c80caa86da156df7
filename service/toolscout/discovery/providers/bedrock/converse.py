"""Bedrock: the Converse shape, and Anthropic's messages for `InvokeModel`."""

from collections.abc import Sequence
from typing import Any

from toolscout.discovery.providers.anthropic.messages import Anthropic
from toolscout.discovery.providers.bedrock.stream import BedrockStream
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


class AnthropicOnBedrock(Anthropic):
    """`InvokeModel`, whose body is Anthropic's with `anthropic_version`."""

    name: ProviderName = "bedrock-anthropic"
    stream: OpenStream | None = None
    """No SDK hands out the bytes of this stream."""


class BedrockConverse(Turns):
    """`Converse`."""

    name: ProviderName = "bedrock"
    stream: OpenStream | None = BedrockStream

    def tools(self, request: Json) -> list[Any]:
        """`toolConfig.tools`: specifications, and cache points without a name."""
        return list(mapping(request.get("toolConfig")).get("tools") or [])

    def with_tools(self, request: Json, tools: Sequence[Any]) -> Json:
        """The request with other tools; without any, `toolConfig` goes."""
        rest = {key: value for key, value in request.items() if key != "toolConfig"}
        config = mapping(request.get("toolConfig"))
        return {**rest, "toolConfig": {**config, "tools": list(tools)}} if tools else rest

    def query(self, request: Json) -> str:
        """The last user message with text; those with only tool results are skipped."""
        return next(filter(None, map(_text, reversed(self.user_turns(request)))), "")

    def recent(self, request: Json) -> list[str]:
        """Names in `toolUse` blocks."""
        names = [
            mapping(block.get("toolUse")).get("name")
            for message in self.turns(request)
            for block in mappings(message.get("content"))
        ]
        return names_once(names)

    def listed(self, request: Json) -> list[str]:
        """`toolConfig.toolChoice.tool.name`."""
        return names_once([mapping(_choice(request).get("tool")).get("name")])

    def must_call(self, request: Json) -> bool:
        """Whether `toolConfig.toolChoice` is `any`."""
        return "any" in _choice(request)

    def function(self, name: str, description: str, schema: Json) -> Any:
        """A tool specification."""
        wrapped = {"json": schema}
        return {"toolSpec": {"name": name, "description": description, "inputSchema": wrapped}}

    def calls(self, response: Json) -> list[Call]:
        """The `toolUse` blocks."""
        used = (mapping(block.get("toolUse")) for block in _blocks(response))
        return [
            Call(str(use.get("toolUseId") or ""), name, arguments_of(use.get("input")))
            for use in used
            if isinstance(name := use.get("name"), str)
        ]

    def continued(self, request: Json, response: Json, results: Sequence[Answered]) -> Json:
        """The model's whole turn, reasoning included, then the results."""
        answered = {call.id for call, *_ in results}
        content = [
            block
            for block in _blocks(response)
            if "toolUse" not in block or mapping(block["toolUse"]).get("toolUseId") in answered
        ]
        blocks = [
            {"toolResult": {"toolUseId": call.id, "content": [{"text": text}]}}
            for call, text, _ in results
        ]
        turns = [{"role": "assistant", "content": content}, {"role": "user", "content": blocks}]
        return {**request, "messages": [*(request.get("messages") or []), *turns]}

    def without_calls(self, response: Json, name: str) -> Json:
        """Remove these blocks; a turn without other calls ends with `end_turn`."""
        blocks = _blocks(response)
        kept = [b for b in blocks if mapping(b.get("toolUse")).get("name") != name]
        if len(kept) == len(blocks):
            return response
        output = mapping(response.get("output"))
        message = {**mapping(output.get("message")), "content": kept}
        stripped = {**response, "output": {**output, "message": message}}
        if not any("toolUse" in block for block in kept):
            stripped["stopReason"] = "end_turn"
        return stripped


def _choice(request: Json) -> Json:
    return mapping(mapping(request.get("toolConfig")).get("toolChoice"))


def _blocks(response: Json) -> list[Json]:
    return mappings(mapping(mapping(response.get("output")).get("message")).get("content"))


def _text(message: Json) -> str:
    blocks = mappings(message.get("content"))
    return "\n".join(block["text"] for block in blocks if isinstance(block.get("text"), str))
