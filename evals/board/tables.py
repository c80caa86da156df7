"""The board's figures as tables: lines while it runs, text at its end, blocks of docs/board.md."""

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from evals.board import data
from evals.report import table

Row = dict[str, Any]
Board = dict[str, Any]
"""`rows`, and what others have `published` on these sets."""

QUALITY = ("R@1", "R@3", "R@5", "R@10", "nDCG@5")
THIRDS = ("R@5 fewest", "R@5 some", "R@5 most")
SHARES = ("nothing", "refused")
SIZE = ("shown", "tokens")
COST = ("cold_ms", "warm_ms", "p95_ms", "start_s", "memory_mib")

SHOWN = ("R@1", "R@5", "R@5 fewest", "refused", "tokens", "cold_ms", "warm_ms", "memory_mib")
"""Means on docs/board.md; docs/board.json has every measure."""

LEFT_OUT = ("toolscout bm25", "toolscout okapi")
"""Selectors of our own that docs/board.md leaves out: below the others on most sets."""

SIZES = ("100", "1000", "10000")
"""Sizes of the pool on docs/board.md."""

OURS = "toolscout"
"""What the names of our own selectors begin with."""

TITLES = {
    "R@5 fewest": "R@5, fewest words shared", "R@5 some": "some", "R@5 most": "most",
    "nothing": "nothing selected", "refused": "impossible refused", "shown": "tools shown",
    "tokens": "tokens shown", "cold_ms": "cold ms", "warm_ms": "warm ms", "p95_ms": "warm p95 ms",
    "start_s": "start s", "memory_mib": "memory MiB",
}  # fmt: skip


def value(row: Row, column: str) -> float | None:
    """Return a figure of a row; None if it has none."""
    found = row.get("values", {}).get(column, row.get(column))
    return float(found) if isinstance(found, (int, float)) else None


def cell(column: str, found: float | None) -> str:
    """Return a figure as people read it."""
    if found is None:
        return "–"
    if column in SHARES:
        return f"{found:.0%}"
    if column in (*QUALITY, *THIRDS):
        return f"{found:.3f}"
    return f"{found:.2f}" if found < 10 else f"{found:,.0f}"


def why_not(row: Row) -> str:
    """Return why a row has no figures; empty if it has."""
    return next((str(row[key]) for key in ("missing", "failed", "slow", "unfit") if key in row), "")


def selectors(rows: Iterable[Row]) -> list[str]:
    """Return the selectors of rows, in their order."""
    return list(dict.fromkeys(row["selector"] for row in rows))


def sets(rows: Iterable[Row], *, crowds: bool = False, requests: bool = False) -> list[str]:
    """Return the sets of rows: those with one list of tools, those by size, or requests."""
    names = dict.fromkeys(row["set"] for row in rows)
    of_kind = (crowds, requests)
    return [n for n in names if (data.is_crowd(n), n.startswith("requests-")) == of_kind]


def line(row: Row) -> str:
    """Return a row in short, while the board runs."""
    figures = ", ".join(f"{c} {cell(c, value(row, c))}" for c in ("R@5", "refused", "warm_ms"))
    return f"{row['selector']}: {row['set']}: {why_not(row) or figures}"


def of_set(rows: Sequence[Row], name: str) -> tuple[list[str], list[list[str]]]:
    """Return header and cells of everything that was measured on a set."""
    chosen = [row for row in rows if row["set"] == name]
    wanted = (*QUALITY, *THIRDS, *SHARES, *SIZE, *COST)
    columns = [c for c in wanted if any(value(row, c) is not None for row in chosen)]
    cells = []
    for row in chosen:
        ours = row["selector"].startswith(OURS) and data.note(name)
        about = "; ".join(filter(None, (ours, why_not(row) or _sample(row))))
        figures = [cell(c, value(row, c)) for c in columns]
        cells.append([row["selector"] + (f" ({about})" if about else ""), *figures])
    return ["selector", *(TITLES.get(c, c) for c in columns)], cells


def heading(rows: Sequence[Row], name: str) -> str:
    """Return a set with the number of its tools and questions."""
    row = next((row for row in rows if row["set"] == name and "tools" in row), {})
    return f"{name} ({row.get('tools', 0):,} tools, {row.get('sample', 0):,} questions)"


def as_text(rows: Sequence[Row]) -> str:
    """Return a table for each set, for a terminal."""
    parts = []
    for name in dict.fromkeys(row["set"] for row in rows):
        head, cells = of_set(rows, name)
        parts.append(f"== {heading(rows, name)}\n\n{table(head, cells, markdown=False)}")
    return "\n\n".join(parts)


def mean(rows: Sequence[Row], selector: str, names: Sequence[str], column: str) -> float | None:
    """Return a selector's mean over the sets that have such a figure; None if it lacks one."""
    having = {r["set"] for r in rows if r["set"] in names and value(r, column) is not None}
    own = [value(r, column) for r in rows if r["selector"] == selector and r["set"] in having]
    found = [figure for figure in own if figure is not None]
    return fmean(found) if found and len(found) == len(having) else None


def blocks(board: Board) -> dict[str, str]:
    """Return the tables of docs/board.md by the names of their blocks."""
    rows: list[Row] = [row for row in board["rows"] if row["selector"] not in LEFT_OUT]
    plain = sets(rows)
    crowds = [n for n in sets(rows, crowds=True) if n.endswith(tuple(f"@{s}" for s in SIZES))]
    return {
        "recall": _matrix(rows, plain, "R@5", board.get("published", {})),
        "measures": _means(rows, plain, SHOWN),
        "crowds": _matrix(rows, crowds, "R@5"),
        "absent": _absent(rows),
    }


def _matrix(
    rows: Sequence[Row], names: Sequence[str], column: str, published: dict[str, Any] | None = None
) -> str:
    """Return selectors by sets; the best recall of whole sets is bold, `~` marks a sample."""
    of = {(row["selector"], row["set"]): value(row, column) for row in rows}
    samples = {(row["selector"], row["set"]) for row in rows if _sample(row)}
    whole = {key: found for key, found in of.items() if found is not None and key not in samples}
    most = {n: max((v for (_, s), v in whole.items() if s == n), default=None) for n in names}
    cells = []
    for selector in selectors(rows):
        texts = [selector]
        for name in names:
            found = of.get((selector, name))
            is_whole = (selector, name) in whole
            best = column in QUALITY and is_whole and found == most[name]
            text = ("~" if (selector, name) in samples else "") + cell(column, found)
            texts.append(f"**{text}**" if best else text)
        cells.append(texts)
    for peer, figures in (published or {}).items():
        own = figures["values"].get(column)
        texts = [cell(column, own if name == figures["set"] else None) for name in names]
        cells.append([f"{peer}, as published", *texts])
    head = [f"{name} \\*" if name in data.CHOSEN else name for name in names]
    return table(("selector", *head), cells, markdown=True)


def _means(rows: Sequence[Row], names: Sequence[str], columns: Sequence[str]) -> str:
    cells = [
        [selector, *(cell(column, mean(rows, selector, names, column)) for column in columns)]
        for selector in selectors(rows)
    ]
    return table(("selector", *(TITLES.get(c, c) for c in columns)), cells, markdown=True)


def _absent(rows: Sequence[Row]) -> str:
    """Return what could not be measured, and what was measured on fewer questions."""
    lines: dict[str, list[str]] = {}
    for row in rows:
        about = why_not(row) or _sample(row)
        if about:
            lines.setdefault(f"{row['selector']}: {about}", []).append(row["set"])
    found = [f"- {about} ({', '.join(names)})" for about, names in lines.items()]
    return "\n".join(found or ["- Nothing: every selector answered every question that was asked."])


def _sample(row: Row) -> str:
    """Return how many questions a selector answered if it was too slow for all of them."""
    fewer = 0 < row.get("questions", 0) < row.get("sample", 0)
    return f"slow: {row['questions']} of {row['sample']} questions" if fewer else ""
