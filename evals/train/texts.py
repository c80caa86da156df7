"""The words that are embedded: one convention for tools and for queries.

A tool is embedded as its name written as words, then the start of its description; a query as it
is, without placeholders. Identifiers are split in both, so that `createPullRequest` and "create
pull request" meet. The texts of a tool's properties are a vector of their own.
"""

import re
from collections.abc import Iterable

DESCRIPTION_CHARS = 250
"""Characters of a description that are embedded: a mean over a long text blurs its point."""

PROPERTY_CHARS = 100
"""Characters of one property's description that are embedded."""

_CAMEL_BORDER = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"[\W_]+")
_SPACES = re.compile(r"\s+")
_PLACEHOLDERS = re.compile(r"<[^<>]*>")


def split_identifiers(text: str) -> str:
    """Split camelCase, acronyms and underscores; digits stay with the letters before them.

    `HTTPServer` becomes `HTTP Server`, `s3Bucket_list` becomes `s3 Bucket list`.
    """
    return _SPACES.sub(" ", _CAMEL_BORDER.sub(" ", text.replace("_", " "))).strip()


def spoken_name(name: str) -> str:
    """Return a tool or property name as words: separators become spaces, identifiers are split."""
    return split_identifiers(_SEPARATORS.sub(" ", name))


def shorten(text: str, limit: int) -> str:
    """Return the first `limit` characters, cut at a word; 0 means no limit."""
    if not limit or len(text) <= limit:
        return text
    return text[:limit].rsplit(" ", 1)[0]


def description_text(description: str, limit: int = DESCRIPTION_CHARS) -> str:
    """Return a description as it is embedded: shortened, identifiers split."""
    return split_identifiers(shorten(description, limit))


def tool_text(name: str, description: str, limit: int = DESCRIPTION_CHARS) -> str:
    """Return what is embedded for a tool: its name as words, a full stop, its description."""
    return f"{spoken_name(name)}. {description_text(description, limit)}"


def properties_text(properties: Iterable[tuple[str, str]]) -> str:
    """Names and descriptions of a tool's properties, embedded apart from the tool's own text."""
    return " ".join(
        f"{spoken_name(name)} {shorten(text, PROPERTY_CHARS)}" for name, text in properties
    )


def query_text(query: str) -> str:
    """Return what is embedded for a query: `<placeholders>` dropped, identifiers split."""
    return split_identifiers(_PLACEHOLDERS.sub(" ", query))
