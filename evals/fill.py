"""What it costs to show as few tools as needed: recall against the length of the answers."""

from collections.abc import Sequence
from typing import Any, get_args

from evals import metrics, report
from evals.rankers import Ours
from evals.sets import ToolSet
from toolscout.contract.fields import Fill
from toolscout.ranking.ask import Ask
from toolscout.ranking.pipeline import decide

HEADER = ("set", "fill", "R@5", "nDCG@5", "tools shown")


def table(
    sets: Sequence[ToolSet], model: str, limit: int | None
) -> tuple[str, list[dict[str, Any]]]:
    """Answers of at most five tools by hybrid, filled and not."""
    ours = Ours("hybrid", model)
    rows: list[dict[str, Any]] = []
    for each in sets:
        catalog, questions = ours.compile(each.tools), each.questions[:limit]
        for fill in get_args(Fill):
            asks = [Ask(pattern=q.text, top_k=metrics.SHORT, fill=fill) for q in questions]
            names = [decide(catalog, ask, ours.embedder).names for ask in asks]
            found = metrics.score(questions, names, names)
            shown = sum(map(len, names)) / max(len(names), 1)
            rows.append({"set": each.name, "fill": fill, "tools shown": shown} | found)
    for fill in get_args(Fill):
        of = [row for row in rows if row["fill"] == fill]
        means = {name: sum(row[name] for row in of) / len(of) for name in HEADER[2:]}
        rows.append({"set": "average", "fill": fill} | means)
    cells = [
        [row["set"], row["fill"], *(f"{row[name]:.3f}" for name in HEADER[2:])] for row in rows
    ]
    return report.table(HEADER, cells, markdown=True), rows
