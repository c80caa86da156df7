"""Thoughts of a model before a search that its caller never sees.

A stream passes them on at once, because thinking may take minutes, so the caller has them in its
answer and gives them back. There they would stand before the thoughts after the search, without the
call that they led to. They are known again by their signature or id, and dropped: the search, which
is put back where it was made, has them.
"""

from collections.abc import Iterator
from hashlib import sha256

from toolscout.common.lru import Lru
from toolscout.turns.providers.fields import Json, mapping, mappings, text_at

_KINDS = ("thinking", "redacted_thinking", "reasoning")
"""Values of `type` of parts that are thoughts; Bedrock's have none."""

_BEDROCK = "reasoningContent"

_MARKS = ("signature", "id", "encrypted_content", "data", "redactedContent")
"""Keys of what tells a thought from all others."""

_TEXTS = ("thinking", "text")
"""Keys of its text, which tells it where a server signs nothing."""

HIDDEN: Lru[bytes, bool] = Lru(10_000)
"""Digests of marks of thoughts before searches that callers never saw."""


def is_thought(part: Json) -> bool:
    """Whether a part of a turn is a thought."""
    return part.get("type") in _KINDS or _BEDROCK in part


def has_words(data: Json | None) -> bool:
    """Whether an event brings words of a thought, not only its beginning, end or signature."""
    delta = mapping(data).get("delta")
    piece = mapping(delta)
    piece = mapping(piece.get(_BEDROCK)) or piece
    words = [delta, *(piece.get(key) for key in _TEXTS)]
    return any(isinstance(word, str) and word for word in words)


def hide_thought(part: Json) -> None:
    """Remember that a thought led to a search that the caller does not see."""
    for mark in _read_marks(part):
        HIDDEN.put(mark, True)


def drop_hidden(message: Json) -> Json | None:
    """Return a message of a caller without such thoughts; None where it is one.

    It is the message itself where it has none, or nothing else.
    """
    if _is_hidden(message):
        return None
    parts = mappings(message.get("content"))
    kept = [part for part in parts if not _is_hidden(part)]
    is_same = not kept or len(kept) == len(parts)
    return message if is_same else {**message, "content": kept}


def _is_hidden(part: Json) -> bool:
    return is_thought(part) and any(HIDDEN.get(mark) for mark in _read_marks(part))


def _read_marks(part: Json) -> Iterator[bytes]:
    """Yield digests of what tells a thought from all others."""
    inner = mapping(part.get(_BEDROCK))
    holders = (part, inner, mapping(inner.get("reasoningText")))
    marks = [text for key in _MARKS for holder in holders if (text := text_at(holder, key))]
    if not marks:
        marks = [text for key in _TEXTS for holder in holders if (text := text_at(holder, key))]
    for mark in marks:
        yield sha256(mark.encode("utf-8", "replace")).digest()
