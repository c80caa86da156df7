"""Read which tool was called for which request, from logs and other JSON lines.

Known are the service's decision log (`log = full`), events of the client, and plain objects such as
`{"query": "…", "tool": "…", "success": true}`. A line that says no use is counted by what it lacks.
"""

import codecs
import re
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
NO_JSON = "no JSON object (expected one in each line, not an array)"
NO_SUCCESS = "a success that is neither true nor false"
TOO_LONG = "a request or a name that is too long to report"
REPEATED = "a report of its turn that is there already"

SHOWN_KEYS = ("selected_names", "selected")
"""Where the decision log, and an event of the client, have the names of the answer."""

_HASH = re.compile("[0-9a-f]{16}")


class Search(NamedTuple):
    """A request, and the tools that it was answered with; None where the log does not say."""

    query: str
    shown: tuple[str, ...] | None = None
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class Use:
    """A tool that was called for a request."""

    query: str
    tool: str
    success: bool
    tenant: str = ""
    """Of the log; empty in other files."""
    shown: tuple[str, ...] | None = field(default=None, compare=False)
    """What the search of its turn, or the last one for the request, was answered with."""


@dataclass
class Uses:
    """The uses of a file, and how many of its lines lack what."""

    found: list[Use] = field(default_factory=list)
    searches: list[Search] = field(default_factory=list)
    """Requests of which the file says what was shown, also those after which nothing was called."""
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
    uses, turns = Uses(), dict[tuple[str, str], Search]()
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
        search = _search(entry)
        if search.query and search.shown is not None:
            uses.searches.append(search)
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
    turns: dict[tuple[str, str], Search],
    counted: set[tuple[object, ...]],
) -> Iterator[Use | str]:
    """Yield the uses of a line, or what it lacks; turns of different tenants may have one name."""
    turn = _text(entry, "turn")
    search = _known(_search(entry), tenant, turn, turns)
    reports = entry.get("reports")
    if isinstance(reports, list):  # of one request of feedback
        for report in reports:
            if isinstance(report, dict):
                yield from _reports(report, tenant, turns, counted)
        return
    tools, success = entry.get("tools") or entry.get("tool"), entry.get("success", True)
    names = [tools] if isinstance(tools, str) else tools if isinstance(tools, list) else []
    names = [name for name in names if isinstance(name, str) and name]
    query = search.query
    if not query and _is_hashed(entry):
        yield HASHED
    elif not names:
        yield NO_TOOL
    elif not query:
        yield NO_QUERY
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
                yield Use(query, name, success, tenant, search.shown)


def _known(search: Search, tenant: str, turn: str, turns: dict[tuple[str, str], Search]) -> Search:
    """Remember a search; return what is known of it by its turn, or else by its request."""
    by_turn, by_query = (tenant, f"turn {turn}"), (tenant, f"query {search.query}")
    if search.query and search.shown is not None:
        turns[by_query] = search
    if search.query and turn and (search.shown is not None or by_turn not in turns):
        turns[by_turn] = search
    known = (turns.get(by_turn) if turn else None) or turns.get(by_query) or search
    return known._replace(query=search.query or known.query)


def _search(entry: Mapping[str, Any]) -> Search:
    """Return the request of a line with what it was answered with, from a log or an event."""
    shown = next((entry[k] for k in SHOWN_KEYS if isinstance(entry.get(k), list)), None)
    is_search = entry.get("outcome") == "no_match" or shown is not None
    names = tuple(name for name in shown or () if isinstance(name, str))
    query, tenant = _text(entry, "query", "pattern"), _text(entry, "tenant")
    if _is_hashed(entry):
        query = ""
    return Search(query, names if is_search else None, tenant)


def _is_hashed(entry: Mapping[str, Any]) -> bool:
    """Whether a line has a hash in place of its request; an event of the client, in its field."""
    is_event = "request_id" in entry and isinstance(entry.get("selected"), list)
    of_event = is_event and _HASH.fullmatch(_text(entry, "query")) is not None
    has_hash = "pattern_hash" in entry or "query_hash" in entry
    return of_event or (has_hash and not _text(entry, "query", "pattern"))


def _text(entry: Mapping[str, Any], *keys: str) -> str:
    texts = (entry[key].strip() for key in keys if isinstance(entry.get(key), str))
    return next(filter(None, texts), "")
