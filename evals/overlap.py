"""How well questions are answered by how many of their words the wanted tools have.

A mean over all questions hides what a change does to requests in other words. So the questions of
each set are sorted by the share of their content words that the wanted tools have, in names,
descriptions or parameters, and the thirds are measured apart, on halves drawn at random: what is
chosen on some halves is judged on the others.
"""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from evals import metrics, report
from evals.rankers import Ours
from evals.sets import DEV, Question, ToolSet, load_set
from toolscout.contract.tools import Tool
from toolscout.text.query import analyse, literal_terms
from toolscout.text.tokens import terms
from toolscout.tools.documents import read_tool

SETS = (*DEV, "vendor-usewhen", "asked-mcp")
SPLITS = (1, 2, 3)
"""Seeds of the halves."""

THIRDS = ("fewest words", "some words", "most words")
MEASURES = ("nDCG@5", "P@1", "R@5")


def report_of(folder: Path, model: str, limit: int | None) -> tuple[str, list[dict[str, Any]]]:
    """Return the table, and the measures of every question with its third."""
    ours, rows = Ours("hybrid", model), list[dict[str, Any]]()
    for name in SETS:
        path = folder / "toolsets" / "dev" / name
        if (path / "corpus.jsonl").exists():
            rows += _measured(load_set(path), ours, limit)
    cells = []
    for third, title in enumerate(THIRDS):
        ours_of = [row for row in rows if row["third"] == third]
        halves = [_half(ours_of, seed) for seed in (None, *SPLITS)]
        share = fmean(row["overlap"] for row in ours_of)
        cells.append([title, f"{share:.0%}", str(len(ours_of)), *map(_means, halves)])
    header = ["third", "of their words", "questions", "all", *(f"half {seed}" for seed in SPLITS)]
    return report.table(header, cells, markdown=True), rows


def overlap(question: Question, texts: dict[str, frozenset[str]]) -> float:
    """Return the share of a question's content words that any of its tools has, 0 to 1."""
    asked = set(literal_terms(analyse(question.text)))
    had = frozenset().union(*(texts.get(name, frozenset()) for name in question.gold))
    return len(asked & had) / len(asked) if asked else 1.0


def terms_of(tool: Tool) -> frozenset[str]:
    """Return the terms of a tool's name, description and parameters."""
    read = read_tool(tool)
    return frozenset(terms(f"{read.name} {read.description} {read.properties}"))


def _measured(asked: ToolSet, ours: Ours, limit: int | None) -> list[dict[str, Any]]:
    """Return the measures of a set's questions, those with the lowest overlap first."""
    search, texts = ours(asked.tools), {tool.name: terms_of(tool) for tool in asked.tools}
    shares = {each.id: overlap(each, texts) for each in asked.questions[:limit]}
    questions = sorted(asked.questions[:limit], key=lambda each: (shares[each.id], each.id))
    found = metrics.each(questions, [search(each.text, metrics.SHORT).names for each in questions])
    return [
        {
            "set": asked.name,
            "question": each.id,
            "overlap": shares[each.id],
            "third": len(THIRDS) * place // len(questions),
            **{measure: found[measure][place] for measure in MEASURES},
        }
        for place, each in enumerate(questions)
    ]


def _half(rows: Sequence[dict[str, Any]], seed: int | None) -> list[dict[str, Any]]:
    """Return half of each set's questions, or all without a seed."""
    if seed is None:
        return list(rows)
    kept = list[dict[str, Any]]()
    for name in SETS:
        of_set = [row for row in rows if row["set"] == name]
        kept += Random(seed).sample(of_set, len(of_set) // 2)
    return kept


def _means(rows: Sequence[dict[str, Any]]) -> str:
    """Return the means over sets, each of which counts the same."""
    sets = [[row for row in rows if row["set"] == name] for name in SETS]
    return " / ".join(
        f"{fmean(fmean(row[measure] for row in of_set) for of_set in sets if of_set):.3f}"
        for measure in MEASURES
    )
