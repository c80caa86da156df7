"""Read which tool was called for which request, from logs and other JSON lines.

Known are the service's decision log (`log = full`), events of the client, and plain objects such as
`{"query": "…", "tool": "…", "success": true}`. A line that says no use is counted by what it lacks.
"""

import codecs
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from toolscout.contract.bounds import MAX_NAME_CHARS, MAX_PATTERN_CHARS
from toolscout.errors import NOT_JSON
from toolscout.tools.files import STDIN

HASHED = 'hashed requests (`log = full` and `log_query="full"` keep them)'
NO_TOOL = "no tool that was called"
NO_QUERY = "no request, or a turn whose search is not in the file"
NO_JSON = "no JSON object"
NO_SUCCESS = "a success that is neither true nor false"
TOO_LONG = "a request or a name that is too long to report"
REPEATED = "a report of its turn that is there already"


class Use(NamedTuple):
    """A tool that was called for a request."""

    query: str
    tool: str
    success: bool
    tenant: str = ""
    """Of the log; empty in other files."""


@dataclass
class Uses:
    """The uses of a file, and how many of its lines lack what."""

    found: list[Use] = field(default_factory=list)
    lines: int = 0
    lacking: Counter[str] = field(default_factory=Counter)

    def summary(self) -> str:
        """Return what was read, a line for each kind."""
        rest = [f"{count:,} with {what}" for what, count in self.lacking.most_common()]
        return "\n  ".join([f"{len(self.found):,} uses in {self.lines:,} lines", *rest])


def read_uses(path: Path) -> Uses:
    """Read a file; `-` is standard input.

    Raises:
        OSError: it cannot be read.
    """
    if path == STDIN:
        return uses_of(sys.stdin.buffer)
    with path.open("rb") as lines:
        return uses_of(lines)


def uses_of(lines: Iterable[bytes]) -> Uses:
    """Read the uses of JSON lines; a report that names its turn belongs to an earlier search."""
    uses, turns = Uses(), dict[tuple[str, str], str]()
    counted: set[tuple[object, ...]] = set()
    for number, line in enumerate(lines):
        if not number:
            line = line.removeprefix(codecs.BOM_UTF8)
        if not line.strip():
            continue
        uses.lines += 1
        try:
            entry = msgspec.json.decode(line)
        except NOT_JSON:
            entry = None
        if not isinstance(entry, dict):
            uses.lacking[NO_JSON] += 1
            continue
        found, lacking = [], set[str]()
        for report in _reports(entry, _text(entry, "tenant"), turns, counted):
            if isinstance(report, Use):
                found.append(report)
            else:
                lacking.add(report)
        uses.found += found
        for what in lacking:
            uses.lacking[what] += 1
    return uses


def _reports(
    entry: Mapping[str, Any],
    tenant: str,
    turns: dict[tuple[str, str], str],
    counted: set[tuple[object, ...]],
) -> Iterator[Use | str]:
    """Yield the uses of a line, or what it lacks; turns of different tenants may have one name."""
    query, turn = _text(entry, "query", "pattern"), _text(entry, "turn")
    if turn and query:
        turns[tenant, turn] = query
    reports = entry.get("reports")
    if isinstance(reports, list):  # of one request of feedback
        for report in reports:
            if isinstance(report, dict):
                yield from _reports(report, tenant, turns, counted)
        return
    tools, success = entry.get("tools") or entry.get("tool"), entry.get("success", True)
    names = [tools] if isinstance(tools, str) else tools if isinstance(tools, list) else []
    names = [name for name in names if isinstance(name, str) and name]
    query = query or turns.get((tenant, turn), "")
    if not names:
        yield NO_TOOL
    elif not query:
        yield HASHED if "pattern_hash" in entry or "query_hash" in entry else NO_QUERY
    elif not isinstance(success, bool):
        yield NO_SUCCESS
    else:
        for name in names:
            report = (tenant, turn, name, success)
            if len(query) > MAX_PATTERN_CHARS or len(name) > MAX_NAME_CHARS:
                yield TOO_LONG
            elif turn and report in counted:
                yield REPEATED
            else:
                counted.add(report)
                yield Use(query, name, success, tenant)


def _text(entry: Mapping[str, Any], *keys: str) -> str:
    texts = (entry[key].strip() for key in keys if isinstance(entry.get(key), str))
    return next(filter(None, texts), "")
