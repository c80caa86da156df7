"""Propose overlay rows from a decision log: requests whose tool was called, but found too late.

Of the searches of one turn, a search counts as missed whose names have none of the tools that were
called. Its tool is the one that a later search of the turn found, else one that no search found.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from toolscout.commands.evaluation.uses import (
    HASHED,
    NO_JSON,
    decode_lines,
    read_text,
    write_summary,
)
from toolscout.common.counted import write_count
from toolscout.index.compiled_tool import EXAMPLE_CHARS
from toolscout.tools.filters import ANONYMOUS
from toolscout.tools.overlay_rows import MAX_REQUESTS

Signal = Literal["searched again", "hidden", "weak", "missed"]

SIGNALS: dict[Signal, str] = {
    "searched again": "found by a later search of its turn",
    "hidden": "called though no search had shown it",
    "weak": "called after an answer that was weak",
    "missed": "wanted, and not shown",
}
"""Why a request is proposed for a tool."""

MAX_TURN_SEARCHES = 64
"""Searches of one turn that are looked at."""


class LoggedSearch(NamedTuple):
    """One search of a log."""

    query: str
    names: tuple[str, ...]
    outcome: str


class LoggedTurn(NamedTuple):
    """What happened in one turn, in order; a search without a turn is one by itself."""

    searches: list[LoggedSearch]
    called: dict[str, None]
    """The tools that were called and worked."""


class Suggestion(NamedTuple):
    """A request that a tool should be found by."""

    tenant: str
    tool: str
    query: str
    signal: Signal


class Episodes:
    """The turns of a log, by tenant and name."""

    def __init__(self) -> None:
        self.turns: dict[tuple[str, str], LoggedTurn] = {}
        self.searches = 0
        """Searches whose request is written."""
        self.lines = 0
        self.lacking: Counter[str] = Counter()
        """How many lines are no JSON, or have a hash as their request."""

    def summary(self) -> str:
        """Return what was read, a line for each kind."""
        return write_summary(self.searches, "request", self.lines, self.lacking)

    def add(self, entry: Mapping[str, Any] | None) -> None:
        """Take one line of the log; None is one that is no JSON object."""
        self.lines += 1
        if entry is None:
            self.lacking[NO_JSON] += 1
        elif entry.get("event") == "search":
            self._add_search(entry)
        elif isinstance(reports := entry.get("reports"), list):
            for report in filter(lambda one: isinstance(one, dict), reports):
                if report.get("success") is True and (tool := read_text(report, "tool")):
                    self._find(entry, report).called[tool] = None

    def _add_search(self, entry: Mapping[str, Any]) -> None:
        query = read_text(entry, "pattern")
        if not query:
            self.lacking.update([HASHED] if "pattern_hash" in entry else [])
            return
        self.searches += 1
        turn = self._find(entry, entry)
        names = entry.get("selected_names")
        texts = names if isinstance(names, list) else []
        listed = tuple(name for name in texts if isinstance(name, str))
        if len(turn.searches) < MAX_TURN_SEARCHES:
            turn.searches.append(LoggedSearch(query, listed, read_text(entry, "outcome")))

    def _find(self, entry: Mapping[str, Any], named: Mapping[str, Any]) -> LoggedTurn:
        """Return the turn that a search or a report names; without one, that of its request."""
        name = read_text(named, "turn") or f"\0{read_text(named, 'pattern')}"
        return self.turns.setdefault((read_text(entry, "tenant"), name), LoggedTurn([], {}))


def read_episodes(lines: Iterable[bytes]) -> Episodes:
    """Read the lines of a decision log."""
    episodes = Episodes()
    for entry in decode_lines(lines):
        episodes.add(entry)
    return episodes


def find_suggestions(episodes: Episodes) -> Iterator[Suggestion]:
    """Yield what the turns of a log suggest, each as often as it happened.

    A request for which other turns called another tool suggests nothing.
    """
    every = list(_find_meant(episodes))
    tools: dict[tuple[str, str], set[str]] = {}
    for meant in every:
        tools.setdefault(meant.request, set()).add(meant.tool)
    for meant in every:
        if meant.signal and len(tools[meant.request]) == 1 and len(meant.query) <= EXAMPLE_CHARS:
            yield Suggestion(meant.tenant, meant.tool, meant.query, meant.signal)


class _Meant(NamedTuple):
    """The one tool that a search was made for."""

    tenant: str
    tool: str
    query: str
    signal: Signal | None
    """None if it was found as it should be."""

    @property
    def request(self) -> tuple[str, str]:
        """The tenant and its request, without what no ranking looks at: blanks, capitals."""
        return self.tenant, " ".join(self.query.casefold().split())


def _find_meant(episodes: Episodes) -> Iterator[_Meant]:
    for (tenant, _), turn in episodes.turns.items():
        shown = {name for search in turn.searches for name in search.names}
        for at, search in enumerate(turn.searches):
            tools = [tool for tool in turn.called if tool in search.names]
            signal: Signal | None = "weak" if search.outcome == "weak" else None
            if not tools:
                tools = _find_later(turn, at)
                signal = "searched again"
            if not tools:
                tools = [tool for tool in turn.called if tool not in shown]
                signal = "hidden"
            if len(tools) == 1:
                yield _Meant(tenant, tools[0], search.query, signal)


def _find_later(turn: LoggedTurn, at: int) -> list[str]:
    """Return the tools that were called from the next search that was of use."""
    asked = turn.searches[at].query
    for search in turn.searches[at + 1 :]:
        tools = [tool for tool in turn.called if tool in search.names]
        if tools and search.query != asked:
            return tools
    return []


class SuggestedRow(NamedTuple):
    """A row for a person to accept."""

    tool: str
    tenant: str
    requests: Counter[str]
    """The requests, with how often they were made."""
    signals: Counter[Signal]

    def as_toml(self) -> str:
        """Return the row, behind a comment that says why."""
        why = ", ".join(
            f"{write_count(count, 'time')} {SIGNALS[signal]}"
            for signal, count in self.signals.most_common()
        )
        lines = [f"# {why}", "[[tool]]", f"name = {quote_toml(self.tool)}"]
        is_one_of_several = self.tenant not in ("", ANONYMOUS)
        lines += [f"tenant = {quote_toml(self.tenant)}"] if is_one_of_several else []
        examples = [query for query, _ in self.requests.most_common(MAX_REQUESTS)]
        lines += ["examples = [", *(f"    {quote_toml(query)}," for query in examples), "]", ""]
        return "\n".join(lines)


def merge_suggestions(suggestions: Iterable[Suggestion]) -> list[SuggestedRow]:
    """Return a row for each tool of a tenant, the most frequent first."""
    rows: dict[tuple[str, str], SuggestedRow] = {}
    for tenant, tool, query, signal in suggestions:
        empty = SuggestedRow(tool, tenant, Counter(), Counter())
        row = rows.setdefault((tenant, tool), empty)
        row.requests[query] += 1
        row.signals[signal] += 1
    return sorted(rows.values(), key=lambda row: (-row.requests.total(), row.tenant, row.tool))


def list_unanswered(episodes: Episodes, tenant: str | None) -> Counter[str]:
    """Return the requests that were answered weakly or not, and after which nothing was called.

    Those of one tenant, or of all.
    """
    return Counter(
        search.query
        for (whose, _), turn in episodes.turns.items()
        if not turn.called and tenant in (None, whose)
        for search in turn.searches
        if search.outcome in ("weak", "no_match")
    )


def quote_toml(text: str) -> str:
    """Return a text as TOML has it: as in JSON, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
