"""Thoughts of a model before a search that its caller never sees.

A stream passes them on at once, because thinking may take minutes, so the caller has them in its
answer and gives them back. There they would stand before the thoughts after the search, without the
call that they led to. They are known again by their signature or id, and dropped where the search,
which has them, is put back. An item of Responses is dropped in any case: the API takes no reasoning
without what followed it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from toolscout.turns.providers.calls import call_in
from toolscout.turns.providers.fields import Json, mapping, mappings, text_at
from toolscout.turns.providers.slices import shorten_text

_KINDS = ("thinking", "redacted_thinking", "reasoning")
"""Values of `type` of parts that are thoughts; Bedrock's have none."""

_BEDROCK = "reasoningContent"

_MARKS = ("signature", "id", "encrypted_content", "data", "redactedContent")
"""Keys of what tells a thought from all others."""

_TEXTS = ("thinking", "text")
"""Keys of its text, which tells it where a server signs nothing."""


def is_thought(part: Json) -> bool:
    """Whether a part of a turn is a thought."""
    return part.get("type") in _KINDS or _BEDROCK in part


def has_words(data: Json | None) -> bool:
    """Whether an event of Responses brings words, not only the beginning or end of an item."""
    delta = mapping(data).get("delta")
    return isinstance(delta, str) and bool(delta)


def find_marks(messages: Iterable[Any]) -> set[str]:
    """Return what tells the thoughts in some messages from all others."""
    parts = [
        part
        for message in map(mapping, messages)
        for part in (message, *mappings(message.get("content")))
    ]
    return set().union(*(read_marks(part) for part in parts if is_thought(part)))


def read_marks(part: Json) -> set[str]:
    """Return what tells a thought from all others, as it is in a request."""
    inner = mapping(part.get(_BEDROCK))
    holders = (part, inner, mapping(inner.get("reasoningText")))
    marks = {text for key in _MARKS for holder in holders if (text := text_at(holder, key))}
    if not marks:
        marks = {text for key in _TEXTS for holder in holders if (text := text_at(holder, key))}
    return set(map(shorten_text, marks))


def leads_to_words(following: Mapping[str, Any] | None) -> bool:
    """Whether what follows a thought is a text, with which it was shown, and so has to stay."""
    part = mapping(following)
    return bool(part) and not is_thought(part) and call_in(part) is None


def drop_thoughts(message: Json, marks: set[str]) -> Json:
    """Return a message without the thoughts in it that have these marks; itself without any."""
    parts = mappings(message.get("content"))
    kept = [
        part
        for part, following in zip(parts, [*parts[1:], None], strict=False)
        if not is_thought(part) or marks.isdisjoint(read_marks(part)) or leads_to_words(following)
    ]
    is_same = not kept or len(kept) == len(parts)
    return message if is_same else {**message, "content": kept}
