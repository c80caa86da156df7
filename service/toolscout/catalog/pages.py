"""Parts of a catalogue: pages, an index, an overview, and names that begin alike."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections import Counter
from collections.abc import Iterable, Iterator

from toolscout.catalog.catalogue import Catalogue
from toolscout.catalog.documents import read_tool
from toolscout.catalog.summary import first_sentence
from toolscout.catalog.tokencount import text_tokens
from toolscout.contract import Tool
from toolscout.errors import NOT_JSON, BadCursor, FieldError
from toolscout.spelling import forms, key

INDEX_CHARS = 120
"""Characters of a summary in the index."""

OVERVIEW_TOKENS = 500
"""Estimated prompt tokens of an overview."""

SHOWN_NAMES = 6
"""Names per namespace in an overview."""

MAX_COMPLETIONS = 20

_MARK = 16
"""Characters of the digest in a cursor: it belongs to this content and no other."""


def page(catalogue: Catalogue, cursor: str | None, size: int) -> tuple[range, str | None]:
    """The rows of one page and the cursor of the next, None behind the last.

    Raises:
        BadCursor: the cursor is malformed, or of another content.
    """
    start = 0 if cursor is None else _place(catalogue, cursor)
    end = min(start + size, len(catalogue))
    following = f"{catalogue.digest[:_MARK]}:{end}".encode()
    return range(start, end), urlsafe_b64encode(following).decode() if end < len(
        catalogue
    ) else None


def index(catalogue: Catalogue, rows: Iterable[int] | None = None) -> Iterator[tuple[str, str]]:
    """The name of every tool, or of some, with a summary of a line."""
    for row in range(len(catalogue)) if rows is None else rows:
        yield catalogue.names[row], first_sentence(_said(catalogue.tool(row)), INDEX_CHARS)


def complete(catalogue: Catalogue, prefix: str) -> list[str]:
    """Names that begin so in any spelling, with or without their prefixes, in order."""
    wanted = key(prefix)
    if not wanted:
        return []
    found = (n for n in catalogue.names if any(form.startswith(wanted) for form in forms(n)))
    return [name for name, _ in zip(found, range(MAX_COMPLETIONS), strict=False)]


def overview(catalogue: Catalogue) -> str:
    """What a catalogue holds, in a few hundred tokens: its namespaces, largest first."""
    spaces: dict[str, list[str]] = {}
    for row, name in enumerate(catalogue.names):
        spaces.setdefault(catalogue.facets.of(row).namespace, []).append(name)
    order = sorted(spaces, key=lambda space: (-len(spaces[space]), space))
    lines = [f"{len(catalogue)} tools"]
    for number, space in enumerate(order):
        names = spaces[space]
        shown = ", ".join(names[:SHOWN_NAMES]) + (", …" if len(names) > SHOWN_NAMES else "")
        line = f"{space or 'without namespace'} ({len(names)}): {shown}"
        rest = sum(len(spaces[left]) for left in order[number:])
        last = f"and {rest} tools in {len(order) - number} further namespaces"
        if text_tokens("\n".join([*lines, line, last])) > OVERVIEW_TOKENS:
            return "\n".join([*lines, last])
        lines.append(line)
    return "\n".join(lines)


def domains(catalogue: Catalogue) -> dict[str, int]:
    """How many tools each domain has."""
    found = Counter(catalogue.facets.of(row).domain for row in range(len(catalogue)))
    return {domain: found[domain] for domain in sorted(found) if domain}


def _place(catalogue: Catalogue, cursor: str) -> int:
    try:
        mark, _, number = urlsafe_b64decode(cursor.encode("ascii")).decode("ascii").partition(":")
        start = int(number)
    except (NotBase64, ValueError):
        mark, start = "", -1
    if mark != catalogue.digest[:_MARK] or not 0 < start < len(catalogue):
        raise BadCursor(
            "cursor: not one of this content; begin again without a cursor",
            (FieldError("cursor", "not one of this content"),),
        )
    return start


def _said(tool: Tool) -> str:
    try:
        return read_tool(tool).said
    except NOT_JSON:
        return tool.description or ""
