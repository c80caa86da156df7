"""What it costs to show as few tools as needed: recall against the length of the answers."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import msgspec

from evals import metrics, report
from evals.rankers import Ours
from evals.sets import ToolSet
from toolscout.ranking.ask import Ask
from toolscout.ranking.pipeline import decide

HEADER = ("set", "answer", "recall", "nDCG@5", "tools shown")

FIXED = (3, 4, 5, 7, 10)
"""Lengths of full answers, whose recall an answer of as many tools on average has to reach."""


def table(
    sets: Sequence[ToolSet], model: str, limit: int | None
) -> tuple[str, list[dict[str, Any]]]:
    """Answers by hybrid: of fixed lengths, and of at most five tools behind no evident winner."""
    ours = Ours("hybrid", model)
    asked = {f"top {k}": Ask(pattern="", top_k=k) for k in FIXED}
    asked["evident"] = Ask(pattern="", top_k=metrics.SHORT, fill="evident")
    rows: list[dict[str, Any]] = []
    for each in sets:
        catalog, questions = ours.compile(each.tools), each.questions[:limit]
        for answer, ask in asked.items():
            asks = [msgspec.structs.replace(ask, pattern=q.text) for q in questions]
            names = [decide(catalog, one, ours.embedder).names for one in asks]
            hits = [
                len(q.gold.intersection(n)) / len(q.gold)
                for q, n in zip(questions, names, strict=True)
            ]
            figures = {
                "recall": fmean(hits),
                "nDCG@5": metrics.score(questions, names, names)["nDCG@5"],
                "tools shown": fmean(map(len, names)),
            }
            rows.append({"set": each.name, "answer": answer} | figures)
    for answer in asked:
        of = [row for row in rows if row["answer"] == answer]
        means = {name: fmean(row[name] for row in of) for name in HEADER[2:]}
        rows.append({"set": "average", "answer": answer} | means)
    cells = [
        [row["set"], row["answer"], *(f"{row[name]:.3f}" for name in HEADER[2:])] for row in rows
    ]
    return report.table(HEADER, cells, markdown=True), rows
