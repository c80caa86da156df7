"""Read a conversation: its last user turn asks, and what came before weighs less."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from toolscout.contract.bounds import MAX_READ_CHARS
from toolscout.contract.requests import Message
from toolscout.errors import EmptyPattern, FieldError, InvalidRequest
from toolscout.text.passages import find_asking_part
from toolscout.text.tokens import speak_name

MAX_READ = 256
"""Latest messages that are read."""

MAX_EARLIER = 6
"""Earlier user turns that count."""

MAX_TURN_CHARS = MAX_READ_CHARS
"""Characters of a turn to which no further message is added."""

MAX_EARLIER_CHARS = 1_000
"""Characters of an earlier turn that count."""

MAX_NAME_CHARS = 256
"""Characters of a called tool's name that count."""

MAX_CALLED = 6
"""Distinct tools called lately whose names count."""

BEFORE = 0.8
"""Weight of the turn before the last one."""

DECAY = 0.6
"""What every further turn weighs of the one after it."""

CALLED = 0.5
"""Weight of a called tool's name beside the turn in which it was called."""

_TEXTS = ("text", "input_text", None)
_CALLS = (
    "tool_use",
    "server_tool_use",
    "mcp_tool_use",
    "function_call",
    "custom_tool_call",
    "mcp_call",
)


class Earlier(NamedTuple):
    """A text from before the last user turn, and its weight, below 1."""

    text: str
    weight: float


class Conversation(msgspec.Struct, frozen=True):
    """A conversation as a question: the last user turn, and earlier turns and calls."""

    pattern: str
    earlier: tuple[Earlier, ...] = ()


def read(messages: Sequence[Message], path: str = "messages") -> Conversation:
    """Find what a conversation asks for; `path` is its place in the request.

    Messages of the user that follow each other are one turn. What the assistant says does not
    count, because it often offers what nobody asked for; the names of the tools that it called do.

    Raises:
        InvalidRequest: a message has neither a role nor a type.
        EmptyPattern: no message of the user has a text.
    """
    for number, message in enumerate(messages):
        if message.role is None and message.type is None:
            role = f"{path}[{number}].role"
            raise InvalidRequest(f"{role} is missing", (FieldError(role, "is required"),))
    turns: dict[int, str] = {}
    called: dict[str, int] = {}
    for number, message, text in _number_messages(messages):
        if number > MAX_EARLIER + 1:
            break
        if text and len(turns.get(number, "")) < MAX_TURN_CHARS:
            turns[number] = "\n".join(filter(None, (text, turns.get(number))))
        for name in _list_called(message) if len(called) < MAX_CALLED else ():
            called.setdefault(name, number)
    if 1 not in turns:
        reason = "needs a message of role user with a text"
        raise EmptyPattern(f"{path} has no user turn", (FieldError(path, reason),))
    earlier = [
        Earlier(find_asking_part(text, MAX_EARLIER_CHARS), BEFORE * DECAY ** (number - 2))
        for number, text in turns.items()
        if number > 1
    ]
    earlier += [
        Earlier(speak_name(name[:MAX_NAME_CHARS]), CALLED * DECAY ** max(number - 1, 0))
        for name, number in islice(called.items(), MAX_CALLED)
    ]
    return Conversation(turns[1], tuple(earlier))


def _number_messages(messages: Sequence[Message]) -> Iterator[tuple[int, Message, str]]:
    """Yield the messages, the latest first, with the number of user turns from each of them on.

    The last is what the user says in a message, empty in others.
    """
    number = 0
    is_between = True
    for message in reversed(messages[-MAX_READ:]):
        text = _read_text(message) if message.role == "user" else ""
        if text:
            number += is_between
            is_between = False
        elif message.role == "assistant" or message.type in _CALLS:
            is_between = True
        yield number, message, text


def _read_text(message: Message) -> str:
    content = message.content
    if content is None or isinstance(content, str):
        return (content or "").strip()
    texts = [
        part.text
        for part in content
        if part is not None and part.type in _TEXTS and isinstance(part.text, str)
    ]
    return "\n".join(texts).strip()


def _list_called(message: Message) -> Iterator[str]:
    """Yield the names of the tools that a message calls, the latest first."""
    if message.type in _CALLS and message.name:
        yield message.name
    for call in reversed(message.tool_calls or ()):
        function = None if call is None else call.function or call.custom
        if function is not None and function.name:
            yield function.name
    content = message.content
    if content is not None and not isinstance(content, str):
        for part in reversed(content):
            if part is not None and part.type in _CALLS and part.name:
                yield part.name
