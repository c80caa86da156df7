"""Figures as tables, for a terminal or as Markdown."""

from collections.abc import Callable, Mapping, Sequence

from evals import metrics, paired
from evals.run import Figures, average
from evals.sets import DEV, GROUPS

COLUMNS = (*metrics.NAMES, "no_match", "p50_ms")
REQUEST_COLUMNS = ("hit@1", "no_match", "weak", "p50_ms")
TITLES = {"no_match": "no match", "p50_ms": "p50 ms"}
_SHARES = ("no_match", "weak")
LEFT_OUT = ("auto", "okapi", "hybrid+pins")
"""What the page leaves out: on these sets it is `hybrid` or like it, or below every other."""
AVERAGED = ("P@1", "R@5", "nDCG@5", "no_match", "p50_ms")
"""Columns of the average that the page has."""


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, markdown: bool) -> str:
    """Rows of cells under a header; the first column reads left, numbers right."""
    if markdown:
        rule = "|".join(["---", *["--:"] * (len(header) - 1)])
        lines = ["| " + " | ".join(header) + " |", f"|{rule}|"]
        lines += ["| " + " | ".join(row) + " |" for row in rows]
        return "\n".join(lines)
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for row in (header, *rows):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells))
    return "\n".join(lines)


def cell(column: str, value: float | None) -> str:
    """One number as people read it: shares in percent, times to two digits."""
    if value is None:
        return "–"
    if column in _SHARES:
        return f"{value:.1%}"
    if column == "p50_ms":
        return f"{value:.2f}" if value < 10 else f"{value:.0f}"
    return f"{value:.3f}"


def tables(figures: Sequence[Figures], *, markdown: bool) -> str:
    """One table per set, and one averaged over the sets of the bars when all are there."""
    mark = "### " if markdown else "== "
    parts = []
    for group, sets in GROUPS.items():
        if set(sets) <= {f.set for f in figures}:
            parts.append(f"{mark}{group}\n\n{averages(figures, COLUMNS, sets, markdown=markdown)}")
    if set(DEV) <= {f.set for f in figures}:
        average_of = averages(figures, COLUMNS, DEV, markdown=markdown)
        parts.append(f"{mark}average of {', '.join(DEV)}\n\n{average_of}")
    for name in dict.fromkeys(f.set for f in figures):
        chosen = [f for f in figures if f.set == name]
        title = f"{name} ({chosen[0].tools:,} tools, {chosen[0].questions:,} questions)"
        parts.append(f"{mark}{title}\n\n{_of_set(chosen, markdown)}")
    return "\n\n".join(parts)


CHANGES = ("nDCG@5", "P@1", "R@5")


def changes(before: Sequence[Figures], after: Sequence[Figures], *, markdown: bool) -> str:
    """Return how the figures differ from earlier ones of the same questions, set by set."""
    known = {(f.ranker, f.set): f for f in before if f.each}
    pairs = [(known[f.ranker, f.set], f) for f in after if f.each and (f.ranker, f.set) in known]
    pairs = [(old, new) for old, new in pairs if old.questions == new.questions]
    rows = []
    for ranker in dict.fromkeys(new.ranker for _, new in pairs):
        of = {new.set: (old, new) for old, new in pairs if new.ranker == ranker}
        rows += _of_groups(ranker, of)
        rows += [[ranker, name, *_changes([pair], paired.over_sets)] for name, pair in of.items()]
        if all(name in of for name in DEV):
            each = [of[name] for name in DEV]
            rows.append([ranker, "average", *_changes(each, paired.over_sets)])
    return table(["ranker", "set", *CHANGES], rows, markdown=markdown)


Pair = tuple[Figures, Figures]
"""The figures of a set before and after."""


def _of_groups(ranker: str, of: Mapping[str, Pair]) -> list[list[str]]:
    """Return a row for each group of sets, and one for each half of its questions."""
    rows = []
    for group, names in GROUPS.items():
        pairs = [of[name] for name in names if name in of]
        if pairs:
            rows.append([ranker, f"{group}, {len(pairs)} sets", *_changes(pairs)])
            for title, half in (("even", slice(0, None, 2)), ("odd", slice(1, None, 2))):
                rows.append([ranker, f"{group}, {title}", *_changes(pairs, half=half)])
    return rows


def _changes(
    pairs: Sequence[Pair],
    over: Callable[[Sequence[paired.Change]], paired.Change] = paired.over_group,
    half: slice = slice(None),
) -> list[str]:
    """Return the change of each measure over sets, or over a half of their questions."""
    return [
        str(over([paired.change(old.each[c][half], new.each[c][half]) for old, new in pairs]))
        for c in CHANGES
    ]


def overview(figures: Sequence[Figures]) -> str:
    """Return the figures in three Markdown tables: the average, each set, the requests."""
    figures = [f for f in figures if f.ranker not in LEFT_OUT]
    by_place = {(f.ranker, f.set): f for f in figures}
    sets = list(dict.fromkeys(f.set for f in figures if not _is_requests(f)))
    requests = list(dict.fromkeys(f.set for f in figures if _is_requests(f)))
    asked = [
        (name, column)
        for name in requests
        for column in ("hit@1", "no_match")
        if any(column in f.values for f in figures if f.set == name)
    ]
    titles = [f"{name}: {TITLES.get(column, column)}" for name, column in asked]
    of_sets, of_requests = [], []
    for ranker in dict.fromkeys(f.ranker for f in figures):
        of = [by_place.get((ranker, name)) for name in sets]
        of_sets.append([ranker, *(_value(f, "nDCG@5") for f in of)])
        pairs = [(by_place.get((ranker, name)), column) for name, column in asked]
        of_requests.append([ranker, *(_value(f, column) for f, column in pairs)])
    return "\n\n".join([
        f"Average of {', '.join(DEV)}:",
        averages(figures, AVERAGED, DEV, markdown=True),
        "Each set, nDCG@5:",
        table(["ranker", *sets], of_sets, markdown=True),
        "Requests with a few tools each:",
        table(["ranker", *titles], of_requests, markdown=True),
    ])  # fmt: skip


def _value(figures: Figures | None, column: str) -> str:
    return cell(column, figures.values.get(column) if figures else None)


def averages(
    figures: Sequence[Figures], columns: Sequence[str], sets: Sequence[str], *, markdown: bool
) -> str:
    """Per ranker the means over sets."""
    rankers = dict.fromkeys(f.ranker for f in figures)
    means = {r: average([f for f in figures if f.ranker == r], sets) for r in rankers}
    rows = [[r, *(cell(c, mean.get(c)) for c in columns)] for r, mean in means.items()]
    return _named(columns, rows, markdown)


def _of_set(figures: Sequence[Figures], markdown: bool) -> str:
    columns: Sequence[str] = COLUMNS
    if _is_requests(figures[0]):
        # Without a wanted tool in any request there is nothing to hit.
        columns = [c for c in REQUEST_COLUMNS if c != "hit@1" or c in figures[0].values]
    rows = [[f.ranker, *(cell(c, f.values.get(c)) for c in columns)] for f in figures]
    return _named(columns, rows, markdown)


def _is_requests(figures: Figures) -> bool:
    return "R@5" not in figures.values


def _named(columns: Sequence[str], rows: Sequence[Sequence[str]], markdown: bool) -> str:
    header = ["ranker", *(TITLES.get(column, column) for column in columns)]
    return table(header, rows, markdown=markdown)
