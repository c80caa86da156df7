"""Answer the requests of a log once more: was what was called shown, then and now?"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

import msgspec

from toolscout.contract.tools import Tool
from toolscout.evaluation.uses import Use, Uses
from toolscout.tools.summary import tool_tokens

MAX_CHANGES = 10
"""Calls that the text names of each kind of change; the JSON has all of them."""

Show = Callable[[str], Sequence[str]]
"""A request to the names of the tools that are shown for it."""


class Side(msgspec.Struct, frozen=True):
    """What was shown by the log, or is shown now; shares are 0 to 1."""

    searches: int
    tools: float
    """Tools of an answer, on average; of one without any, none."""
    nothing: float
    """Share of the answers without a tool, after which a caller shows all of them."""
    tokens: float
    """Estimated prompt tokens of what a caller shows, on average."""
    calls: int
    """Successful calls that can be compared."""
    called_shown: float
    """Share of them whose tool was in the answer."""


class Change(msgspec.Struct, frozen=True):
    """A call whose tool is in one of the two answers only."""

    query: str
    tool: str
    before: tuple[str, ...]
    now: tuple[str, ...]


class Replay(msgspec.Struct, frozen=True):
    """A log, answered once more."""

    uses: int
    unknown_tools: dict[str, int]
    """Tools that were called and are not in the file of tools, and how often."""
    tokens_all: int
    """Estimated prompt tokens of all tools of the file."""
    log: Side | None
    """None where the log does not say what was shown."""
    now: Side
    uncompared: int
    """Calls of a log that says for others what was shown, and not for these."""
    different: int
    """Searches of the log that are answered with other tools now, whatever their order."""
    gained: list[Change]
    lost: list[Change]
    lacking: dict[str, int]
    """Lines of the log by what they lack."""


def compared(uses: Uses, tools: Sequence[Tool], show: Show) -> Replay:
    """Answer every request of a log, and compare with what the log says."""
    tokens = {tool.name: tool_tokens(tool) for tool in tools}
    known = [use for use in uses.found if use.success and use.tool in tokens]
    unknown = [use.tool for use in uses.found if use.tool not in tokens]
    texts = dict.fromkeys([s.query for s in uses.searches] + [use.query for use in known])
    now = {text: tuple(show(text)) for text in texts}
    logged = [(use, use.shown) for use in known if use.shown is not None]
    both = [(use, shown, now[use.query]) for use, shown in logged]
    gained = [each for each in both if each[0].tool in each[2] and each[0].tool not in each[1]]
    lost = [each for each in both if each[0].tool in each[1] and each[0].tool not in each[2]]
    before = [search.shown or () for search in uses.searches]
    return Replay(
        uses=len(uses.found),
        unknown_tools=dict(Counter(unknown).most_common()),
        tokens_all=sum(tokens.values()),
        log=_side(before, logged, tokens) if before else None,
        now=_side(
            [now[s.query] for s in uses.searches] or list(now.values()),
            [(use, now[use.query]) for use in ([use for use, _ in logged] or known)],
            tokens,
        ),
        uncompared=len(known) - len(logged) if logged else 0,
        different=sum(set(s.shown or ()) != set(now[s.query]) for s in uses.searches),
        gained=_changes(gained),
        lost=_changes(lost),
        lacking=dict(uses.lacking.most_common()),
    )


def _side(
    answers: Sequence[Sequence[str]],
    calls: Sequence[tuple[Use, Sequence[str]]],
    tokens: Mapping[str, int],
) -> Side:
    everything = sum(tokens.values())
    spent = [sum(tokens.get(n, 0) for n in names) if names else everything for names in answers]
    return Side(
        searches=len(answers),
        tools=_mean([len(names) for names in answers]),
        nothing=_mean([not names for names in answers]),
        tokens=_mean(spent),
        calls=len(calls),
        called_shown=_mean([use.tool in shown for use, shown in calls]),
    )


def _changes(
    calls: Sequence[tuple[Use, tuple[str, ...], tuple[str, ...]]],
) -> list[Change]:
    return [Change(use.query, use.tool, before, after) for use, before, after in calls]


def _mean(values: Sequence[float]) -> float:
    return round(fmean(values), 4) if values else 0.0


def as_lines(found: Replay, price: float | None) -> list[str]:
    """Return a comparison in words, with the first changes."""
    sides = [("in the log", found.log), ("now", found.now)]
    rows = [("", [title for title, _ in sides])]
    cells: list[tuple[str, Callable[[Side], str]]] = [
        ("searches", lambda side: f"{side.searches:,}"),
        ("called tool was shown", lambda side: f"{side.called_shown:.1%}" if side.calls else "–"),
        ("successful calls", lambda side: f"{side.calls:,}"),
        ("tools shown", lambda side: f"{side.tools:.1f}"),
        ("nothing selected", lambda side: f"{side.nothing:.1%}"),
        ("tokens shown", lambda side: f"{side.tokens:,.0f}"),
    ]
    if price is not None:
        cells.append(("money a request", lambda side: f"${side.tokens * price / 1e6:.4f}"))
    rows += [(name, [read(side) if side else "–" for _, side in sides]) for name, read in cells]
    lines = [f"{name:<24}{first:>14}{second:>14}" for name, (first, second) in rows]
    lines += [f"all tools: {found.tokens_all:,} tokens", ""]
    if found.log is None:
        lines.append("The log does not say what was shown: that needs `log = full`, or its events.")
    else:
        lines.append(f"{found.different:,} of {found.log.searches:,} searches show other tools now")
    if found.uncompared:
        lines.append(f"{found.uncompared:,} calls are not compared: nobody knows what was shown")
    for title, changes in (("calls found now", found.gained), ("calls lost now", found.lost)):
        lines += [f"{title}: {len(changes):,}"] if changes else []
        lines += [f"  {c.query[:80]!r} → {c.tool!r}" for c in changes[:MAX_CHANGES]]
    if found.unknown_tools:
        count = sum(found.unknown_tools.values())
        first = ", ".join(map(repr, list(found.unknown_tools)[:MAX_CHANGES]))
        lines.append(f"{count:,} calls are left out, their tools are not in the file: {first}")
    return lines
