"""Read which tool was called for which request, from a decision log or other JSON lines.

Known are the service's decision log (`log = full`), and plain objects such as
`{"query": "…", "tool": "…", "success": true}`. A line that says no use is counted by what it lacks.
"""

import codecs
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from toolscout.common.counted import write_count
from toolscout.contract.bounds import MAX_NAME_CHARS, MAX_PATTERN_CHARS
from toolscout.errors import NOT_JSON, ConfigurationError

HASHED = "hashed requests (`log = full` keeps them)"
NO_TOOL = "no tool that was called"
NO_QUERY = "no request, or a turn whose search is not in the file"
NO_JSON = "no JSON object (expected one in each line, not an array)"
NO_SUCCESS = "a success that is neither true nor false"
TOO_LONG = "a request or a name that is too long to report"
REPEATED = "a report of its turn that is there already"

EVENTS = ("start", "ready", "search", "feedback")
"""Events of a decision log that tell it from a file of questions."""

FIRST_LINES = 100
"""Lines among which one of these is looked for."""

Turn = tuple[str, str]
"""Tenant and name of a turn; tenants may use the same names."""


@dataclass(frozen=True, slots=True)
class LoggedUse:
    """A tool that was called for a request."""

    query: str
    tool: str
    success: bool
    tenant: str = ""
    """Of the log; empty in other files."""


@dataclass
class Uses:
    """The uses of a file, and how many of its lines lack what."""

    found: list[LoggedUse] = field(default_factory=list)
    lines: int = 0
    lacking: Counter[str] = field(default_factory=Counter)

    def summary(self) -> str:
        """Return what was read, a line for each kind."""
        return write_summary(len(self.found), "use", self.lines, self.lacking)

    def of(self, tenant: str | None) -> list[LoggedUse]:
        """Return the uses of one tenant, or all if there is only one.

        Raises:
            ConfigurationError: there are several, and none was given.
        """
        tenants = sorted({use.tenant for use in self.found})
        if tenant is None and len(tenants) > 1:
            names = ", ".join(map(repr, tenants))
            raise ConfigurationError(f"several tenants: give --tenant NAME, one of {names}")
        return [use for use in self.found if tenant in (None, use.tenant)]


def read_uses(lines: Iterable[bytes]) -> Uses:
    """Read the uses of JSON lines; a report that names its turn belongs to an earlier search."""
    uses = Uses()
    turns = dict[Turn, str]()
    counted: set[tuple[object, ...]] = set()
    for entry in decode_lines(lines):
        uses.lines += 1
        if entry is None:
            uses.lacking[NO_JSON] += 1
            continue
        reports = list(_read_line(entry, read_text(entry, "tenant"), turns, counted))
        uses.found += [report for report in reports if isinstance(report, LoggedUse)]
        uses.lacking.update({report for report in reports if isinstance(report, str)})
    return uses


def is_log(data: bytes) -> bool:
    """Return whether one of the first lines of a file is one of a decision log."""
    lines = data.removeprefix(codecs.BOM_UTF8).split(b"\n", FIRST_LINES)[:FIRST_LINES]
    first = [entry for entry in map(decode_line, lines) if entry is not None]
    return any(entry.get("event") in EVENTS for entry in first)


def write_summary(found: int, noun: str, lines: int, lacking: Counter[str]) -> str:
    """Return how much was found in how many lines, and a line for each kind of what lacks."""
    rest = [f"{count:,} with {what}" for what, count in lacking.most_common()]
    head = f"{write_count(found, noun)} in {write_count(lines, 'line')}"
    return "\n  ".join([head, *rest])


def decode_lines(lines: Iterable[bytes]) -> Iterator[Mapping[str, Any] | None]:
    """Yield the object of each line that is not blank; None for anything else."""
    for number, line in enumerate(lines):
        text = line if number else line.removeprefix(codecs.BOM_UTF8)
        if text.strip():
            yield decode_line(text)


def decode_line(line: bytes) -> Mapping[str, Any] | None:
    """Return the object of a line; None of anything else."""
    try:
        entry = msgspec.json.decode(line)
    except NOT_JSON:
        return None
    return entry if isinstance(entry, dict) else None


def _read_line(
    entry: Mapping[str, Any], tenant: str, turns: dict[Turn, str], counted: set[tuple[object, ...]]
) -> Iterator[LoggedUse | str]:
    """Yield the uses of a line, or what it lacks."""
    turn = read_text(entry, "turn")
    query = read_text(entry, "query", "pattern")
    if turn:
        query = turns.setdefault((tenant, turn), query) if query else turns.get((tenant, turn), "")
    if isinstance(reports := entry.get("reports"), list):  # of one request of feedback
        for report in reports:
            if isinstance(report, dict):
                yield from _read_line(report, tenant, turns, counted)
        return
    tool = read_text(entry, "tool")
    success = entry.get("success", True)
    report = (tenant, turn, tool, success)
    if not query and "pattern_hash" in entry:
        yield HASHED
    elif not tool:
        yield NO_TOOL
    elif not query:
        yield NO_QUERY
    elif not isinstance(success, bool):
        yield NO_SUCCESS
    elif len(query) > MAX_PATTERN_CHARS or len(tool) > MAX_NAME_CHARS:
        yield TOO_LONG
    elif turn and report in counted:
        yield REPEATED
    else:
        counted.add(report)
        yield LoggedUse(query, tool, success, tenant)


def read_text(entry: Mapping[str, Any], *keys: str) -> str:
    """Return the first of some fields that has a text, without blanks around it; else ""."""
    texts = (entry[key].strip() for key in keys if isinstance(entry.get(key), str))
    return next(filter(None, texts), "")
