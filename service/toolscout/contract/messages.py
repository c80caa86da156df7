"""Messages of a conversation, in the shapes of OpenAI, Anthropic, or plain `{role, content}`.

Only what a search reads is decoded; everything else in a message is passed over.
"""

from typing import Annotated, Any

import msgspec

from toolscout.contract.bounds import MAX_MESSAGES, MAX_PARTS


class MessagePart(msgspec.Struct, frozen=True):
    """A part of a message's content: a text, or the call of a tool (`tool_use`)."""

    type: str | None = None
    text: Any = None
    """Only a text is read."""
    name: str | None = None


class CalledFunction(msgspec.Struct, frozen=True):
    """The function of a call."""

    name: str | None = None


class MessageCall(msgspec.Struct, frozen=True):
    """A call in an assistant's message, as OpenAI's chat completions have it."""

    function: CalledFunction | None = None
    custom: CalledFunction | None = None


Parts = Annotated[tuple[MessagePart | None, ...], msgspec.Meta(max_length=MAX_PARTS)]
Calls = Annotated[tuple[MessageCall | None, ...], msgspec.Meta(max_length=MAX_PARTS)]


class Message(msgspec.Struct, frozen=True):
    """One message of a conversation, or an item of OpenAI's Responses API (`function_call`)."""

    role: str | None = None
    type: str | None = None
    content: str | Parts | None = None
    tool_calls: Calls | None = None
    name: str | None = None


Messages = Annotated[tuple[Message, ...], msgspec.Meta(max_length=MAX_MESSAGES)]
"""A conversation, the oldest message first."""
