"""Every bound on what multiplies work in a request or an answer, in one table.

Bounds are generous for real requests, and small enough that the most expensive request within them
should block the event loop for at most 250 ms on an idle core; tests compare it with a unit of work
that is measured in the same run.
"""

import re
from dataclasses import dataclass

MAX_NAME_CHARS = 1_024
MAX_NAMES = 20_000
MAX_FILTER_VALUES = 1_000
MAX_FILTER_CHARS = 1_024
MAX_PATTERNS = 32
MAX_RECENT = 1_000
MAX_FILES = 1_000
MAX_FILE_CHARS = 4_096
MAX_SIGNALS = 100
MAX_SIGNAL_CHARS = 200
MAX_RESOLVED = 200
MAX_EVENTS = 1_000
MAX_MESSAGES = 10_000
MAX_PARTS = 1_000
MAX_CHAIN = 20
MAX_TURN_CHARS = 128
MAX_STATUSES = 20_000
MAX_VALUES = 100_000
MAX_TOOL_VALUES = 50_000
MAX_OFFERED = 4
MAX_SHOWN = 5_000
MAX_PATTERN_CHARS = 4_096
MAX_READ_CHARS = 32_768
READ_BEFORE = 4
"""Of what is read of a text that is too long, this part (1 of 4) is its beginning."""

CATALOG_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
"""Names that a catalog can be registered under."""

MAX_CATALOGS = 1_000
MAX_ANSWER_BYTES = 4 * 1024 * 1024
MAX_TAGS = 32
PAGE_SIZE = 50
MAX_PAGE_SIZE = 1_000
MAX_MCP_BYTES = 1 << 18
MAX_MCP_SHOWN = 1 << 19
MAX_DEPTH = 1_000
MAX_TOOL_DEPTH = 500


def cut(text: str) -> str:
    """Return the beginning and the end of a text that is longer than what is read."""
    if len(text) <= MAX_READ_CHARS:
        return text
    before = MAX_READ_CHARS // READ_BEFORE
    return f"{text[:before]}\n{text[1 + before - MAX_READ_CHARS :]}"


def count_values(text: bytes) -> int:
    """Count the values of JSON by their commas and opening brackets, those inside texts included.

    A few milliseconds for 8 MiB, and no value is made.
    """
    return text.count(b",") + text.count(b"[") + text.count(b"{")


@dataclass(frozen=True, slots=True)
class Bound:
    """One row of the table: what is bounded, by how much, and in which fields."""

    what: str
    limit: int
    where: str


BOUNDS: tuple[Bound, ...] = (
    Bound("characters of a tool's name", MAX_NAME_CHARS, "`tools[].name`, `names`, paths, MCP"),
    Bound("names in a list", MAX_NAMES, "`always_keep`, filters, all lists but `names`"),
    Bound("names at once", MAX_RESOLVED, "`resolve`, `tools:batch`"),
    Bound("patterns at once", MAX_PATTERNS, "`search:batch`"),
    Bound("values of one filter", MAX_FILTER_VALUES, "`filters`"),
    Bound("characters of a filter's value", MAX_FILTER_CHARS, "`filters`"),
    Bound("tools that served", MAX_RECENT, "`session.recent`"),
    Bound("messages", MAX_MESSAGES, "`messages`; the latest 256 are read"),
    Bound("parts or calls of a message", MAX_PARTS, "`messages[].content`, `tool_calls`"),
    Bound("file names", MAX_FILES, "`context.files`"),
    Bound("characters of a file name", MAX_FILE_CHARS, "`context.files`"),
    Bound("signals", MAX_SIGNALS, "`context.signals`"),
    Bound("characters of a signal", MAX_SIGNAL_CHARS, "`context.signals`"),
    Bound("events at once", MAX_EVENTS, "`feedback`"),
    Bound("tools of a chain", MAX_CHAIN, "`chains`"),
    Bound("characters of a turn", MAX_TURN_CHARS, "`turn` of a search, `feedback`, `chains`"),
    Bound("statuses at once", MAX_STATUSES, "`status` of a `PATCH`"),
    Bound("values of one tool", MAX_TOOL_VALUES, "its commas and opening brackets outside texts"),
    Bound("values outside the tools", MAX_VALUES, "commas and opening brackets outside its texts"),
    Bound("entries per distinct tool allowed", MAX_OFFERED, "`tools`: 4 × `max_tools` entries"),
    Bound(
        "tools shown",
        MAX_SHOWN,
        "with `explain`, `detail` or `include_definitions`, over all patterns of a batch",
    ),
    Bound(
        "characters of a pattern that are read: its first quarter, and its end",
        MAX_READ_CHARS,
        "`pattern`, `query`, the last turn of `messages`",
    ),
    Bound("catalogs that a tenant registers", MAX_CATALOGS, "`PUT /v1/catalogs/{id}`"),
    Bound("bytes of an answer", MAX_ANSWER_BYTES, "every call; more is a 422"),
    Bound("entity tags", MAX_TAGS, "`If-Match`, `If-None-Match`"),
    Bound("bytes of a call", MAX_MCP_BYTES, "`/mcp`"),
    Bound("bytes of tools shown whole in one answer", MAX_MCP_SHOWN, "`/mcp`"),
    Bound("levels of nesting of a definition", MAX_TOOL_DEPTH, "more is `invalid_json` (400)"),
    Bound("levels of nesting, about", MAX_DEPTH, "any JSON; more is `invalid_json` (400)"),
)
"""Bounds that are no settings; `max_body_bytes` and `max_tools` are."""
