"""How a text is named where it is not shown itself."""

from hashlib import sha256

HASH_CHARS = 16
"""Hexadecimal digits of a hash in logs and events."""


def hash_text(text: str) -> str:
    """Return a short hash of a text, as a log shows a query: equal ones for equal texts."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:HASH_CHARS]
