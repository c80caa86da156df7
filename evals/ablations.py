"""One switch at a time: what each part of the ranking is worth on the development sets."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from evals import paired
from evals import report as reporting
from evals.rankers import Ours
from evals.run import Figures, average, evaluate
from evals.sets import ToolSet
from evals.variants import ALL, VARIANTS, Variant, with_model
from toolscout.contract.fields import RankerName

BASE = Variant("as shipped")
MEASURE = "nDCG@5"
SECOND = "R@5"


def report(
    sets: Sequence[ToolSet], model: str, plain: Path | None, limit: int | None
) -> tuple[str, Any]:
    """Return the table as Markdown, and every figure."""
    variants = [BASE, *VARIANTS]
    if plain is not None:
        variants.append(with_model("plain distillation as the model", str(plain)))
    results: dict[str, dict[str, list[Figures]]] = {}
    work = [(variant, ranker) for variant in variants for ranker in variant.rankers]
    for variant, ranker in tqdm(work, desc="ablations", unit="run", disable=None):
        measured = measure(variant, ranker, sets, model, limit)
        results.setdefault(variant.title, {})[ranker] = measured
    data = {
        title: {ranker: [f.as_dict() for f in figures] for ranker, figures in found.items()}
        for title, found in results.items()
    }
    return _table(results, [s.name for s in sets]), data


def measure(
    variant: Variant, ranker: RankerName, sets: Sequence[ToolSet], model: str, limit: int | None
) -> list[Figures]:
    """One ranker under one variant on all sets."""
    with variant.applied():
        chosen = variant.instead or ranker
        # A new embedder every time: it remembers how words are split.
        ours = Ours(chosen, variant.model or model, variant.weights, variant.asked)
        return [evaluate(chosen, ours, asked, limit, quiet=True) for asked in sets]


def _table(results: dict[str, dict[str, list[Figures]]], sets: Sequence[str]) -> str:
    """Per variant and ranker the average nDCG@5 (difference from the base) and R@5."""
    base = results[BASE.title]
    rows = []
    for title, found in results.items():
        row = [title]
        for ranker in ALL:
            if ranker not in found:
                row += ["", ""]
                continue
            mean = average(found[ranker], sets)
            if title == BASE.title:
                row += [f"{mean[MEASURE]:.3f}", f"{mean[SECOND]:.3f}"]
            else:
                row += [_changed(base[ranker], found[ranker], m) for m in (MEASURE, SECOND)]
        for name in sets:
            row.append(_of_set(found, base, name, is_base=title == BASE.title))
        rows.append(row)
    header = ["", *(f"{ranker} {m}" for ranker in ALL for m in (MEASURE, SECOND))]
    header += [f"hybrid {MEASURE}, {name}" for name in sets]
    return reporting.table(header, rows, markdown=True)


def _of_set(
    found: dict[str, list[Figures]], base: dict[str, list[Figures]], name: str, *, is_base: bool
) -> str:
    """Return the hybrid on one set."""
    if "hybrid" not in found:
        return ""
    if is_base:
        return f"{average(found['hybrid'], [name])[MEASURE]:.3f}"
    before, after = ([f for f in part["hybrid"] if f.set == name] for part in (base, found))
    return _changed(before, after, MEASURE)


def _changed(before: Sequence[Figures], after: Sequence[Figures], measure: str) -> str:
    """Return the mean difference over sets, with twice its standard error."""
    pairs = zip(before, after, strict=True)
    found = [paired.change(old.each[measure], new.each[measure]) for old, new in pairs]
    return str(paired.over_sets(found))
