"""Parts of a catalog: pages, an index, an overview, and names that begin alike."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections import Counter
from collections.abc import Iterable, Iterator

from toolscout.common.spelling import list_forms, make_key
from toolscout.contract.requests import Filters
from toolscout.contract.tools import Tool
from toolscout.errors import NOT_JSON, BadCursor, FieldError
from toolscout.index.catalog import Catalog
from toolscout.tools.documents import read_tool
from toolscout.tools.filters import count_domains
from toolscout.tools.summary import CUT, cut_first_sentence, estimate_text_tokens

INDEX_CHARS = 120
"""Characters of a summary in the index at most, with the ellipsis of one that is cut."""

OVERVIEW_TOKENS = 500
"""Estimated prompt tokens of an overview."""

SHOWN_NAMES = 6
"""Names per namespace in an overview."""

MAX_COMPLETIONS = 20

_MARK = 16
"""Characters of the digest in a cursor: it belongs to this content and no other."""


def read_page(catalog: Catalog, cursor: str | None, size: int) -> tuple[range, str | None]:
    """Return the rows of one page and the cursor of the next, None behind the last.

    Raises:
        BadCursor: the cursor is malformed, or of another content.
    """
    start = 0 if cursor is None else _place(catalog, cursor)
    end = min(start + size, len(catalog))
    following = f"{catalog.digest[:_MARK]}:{end}".encode()
    return range(start, end), urlsafe_b64encode(following).decode() if end < len(catalog) else None


def list_names(catalog: Catalog, filters: Filters) -> list[str]:
    """Return the names of the tools that pass, sorted, also of those that are not available."""
    passing = catalog.facets.find_passing(filters, catalog.rows)
    return [catalog.names[row] for row in passing.nonzero()[0]]


def index(catalog: Catalog, rows: Iterable[int] | None = None) -> Iterator[tuple[str, str]]:
    """Yield the name of every tool, or of some, with a summary of a line."""
    for row in range(len(catalog)) if rows is None else rows:
        text = _describe_size(catalog.tool(row))
        sentence = cut_first_sentence(text, INDEX_CHARS)
        fits = len(sentence) <= INDEX_CHARS
        summary = sentence if fits else cut_first_sentence(text, INDEX_CHARS - len(CUT))
        yield catalog.names[row], summary


def complete(catalog: Catalog, prefix: str, limit: int = MAX_COMPLETIONS) -> list[str]:
    """Names that begin so in any spelling, with or without their prefixes, in order."""
    beginning = make_key(prefix)
    if not beginning:
        return []
    matches = (
        n for n in catalog.names if any(form.startswith(beginning) for form in list_forms(n))
    )
    return [name for name, _ in zip(matches, range(limit), strict=False)]


def describe(catalog: Catalog, rows: Iterable[int] | None = None) -> str:
    """Return what a catalog, or a part of it, holds: its namespaces, largest first.

    That is a few hundred tokens.
    """
    spaces: dict[str, list[str]] = {}
    for row in range(len(catalog)) if rows is None else rows:
        spaces.setdefault(catalog.facets.of(row).namespace, []).append(catalog.names[row])
    order = sorted(spaces, key=lambda space: (-len(spaces[space]), space))
    lines = [f"{sum(map(len, spaces.values()))} tools"]
    for number, space in enumerate(order):
        names = spaces[space]
        shown = ", ".join(names[:SHOWN_NAMES]) + (", …" if len(names) > SHOWN_NAMES else "")
        line = f"{space or 'without namespace'} ({len(names)}): {shown}"
        rest = sum(len(spaces[left]) for left in order[number:])
        last = f"and {rest} tools in {len(order) - number} further namespaces"
        if estimate_text_tokens("\n".join([*lines, line, last])) > OVERVIEW_TOKENS:
            return "\n".join([*lines, last])
        lines.append(line)
    return "\n".join(lines)


def count_shown_domains(catalog: Catalog) -> dict[str, int]:
    """How many tools each domain has."""
    counts = Counter(catalog.facets.of(row).shown_domain for row in range(len(catalog)))
    return {domain: counts[domain] for domain in sorted(counts) if domain}


def count_filtered_domains(catalog: Catalog, rows: Iterable[int] | None = None) -> dict[str, int]:
    """Return how many tools, or of some rows, a filter by each domain lets through, most first."""
    return count_domains(map(catalog.traits, range(len(catalog)) if rows is None else rows))


def _place(catalog: Catalog, cursor: str) -> int:
    try:
        mark, _, number = urlsafe_b64decode(cursor.encode("ascii")).decode("ascii").partition(":")
        start = int(number)
    except (NotBase64, ValueError):
        mark = ""
        start = -1
    if mark != catalog.digest[:_MARK] or not 0 < start < len(catalog):
        raise BadCursor(
            "cursor: not one of this content; begin again without a cursor",
            (FieldError("cursor", "not one of this content"),),
        )
    return start


def _describe_size(tool: Tool) -> str:
    try:
        return read_tool(tool).plain_description
    except NOT_JSON:
        return tool.description or ""
