"""Claude with thinking on: signed thoughts before each answer, and no call without its own."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from evals.prompt_cost.models import Chat, Interface, Json

BUDGET = {"thinking": {"type": "enabled", "budget_tokens": 2_048}}

FORCING = ("any", "tool", "required", "function")
"""What a choice of tools is called that forces a call."""

THOUGHT = "One of the tools should do this; I call it with what it needs."


def think() -> Json:
    """Return a thinking block."""
    return {"type": "thinking", "thinking": THOUGHT, "signature": sign(THOUGHT)}


def sign(thought: str) -> str:
    """Return the signature of a thought."""
    return sha256(thought.encode()).hexdigest()


def is_own(block: Json) -> bool:
    """Whether a block is a thought as the model had it."""
    return block == {**block, "type": "thinking", "signature": sign(str(block.get("thinking")))}


def read_unsigned(message: Json) -> Json:
    """Return a message as it is billed: signatures are for the provider, not for the model."""
    blocks = {key: value for key, value in message.items() if isinstance(value, list)}
    return message | {
        key: [{k: v for k, v in block.items() if k != "signature"} for block in value]
        for key, value in blocks.items()
    }


class Thinking(Interface):
    """Anthropic's messages."""

    def request(self, messages: list[Any], tools: list[Json]) -> Json:
        """Return a request that asks for thinking."""
        return {**super().request(messages, tools), **BUDGET}

    def said(self, body: Json) -> list[Any]:
        """Return the messages without signatures."""
        return [read_unsigned(message) for message in super().said(body)]

    def refuse(self, body: Json) -> str:
        """Say that calls are forced, or that those of the last turn lack their thought."""
        choice = body.get("tool_choice")
        if (choice.get("type") if isinstance(choice, dict) else choice) in FORCING:
            return "Thinking may not be enabled when tool_choice forces tool use."
        turns = [one for one in body["messages"] if one["role"] == "assistant"]
        if not turns or not self.has_calls(turns[-1]) or is_own(self.first_block(turns[-1])):
            return ""
        return "Expected `thinking` or `redacted_thinking`, but found `tool_use`."

    def answer(self, text: str, calls: Sequence[tuple[str, str, Json]]) -> Json:
        """Return a response that begins with a thought."""
        answer = super().answer(text, calls)
        return {**answer, "content": [think(), *answer["content"]]}

    def has_calls(self, turn: Json) -> bool:
        """Whether a turn of the model calls tools."""
        return any(block["type"] == "tool_use" for block in turn["content"])

    def first_block(self, turn: Json) -> Json:
        """Return the block with which a turn begins."""
        first: Json = turn["content"][0]
        return first


class ThinkingChat(Thinking, Chat):
    """Chat completions as gateways speak them with Claude."""

    def answer(self, text: str, calls: Sequence[tuple[str, str, Json]]) -> Json:
        """Return a response that has a thought beside its text."""
        answer = Chat.answer(self, text, calls)
        answer["choices"][0]["message"]["thinking_blocks"] = [think()]
        return answer

    def has_calls(self, turn: Json) -> bool:
        """Whether a turn of the model calls tools."""
        return bool(turn.get("tool_calls"))

    def first_block(self, turn: Json) -> Json:
        """Return the first thought."""
        first: Json = (turn.get("thinking_blocks") or [{}])[0]
        return first


THINKING: dict[str, Interface] = {one.name: one for one in (Thinking(), ThinkingChat())}
