"""What learning from use gains: half of a set's queries as feedback, the other half asked.

Every wanted tool of the first half is one successful use of it for that query. The second half is
asked before and after: with the first use, the first three and all uses of each tool; with every
use reported as a failure; and with a share of wrong reports, half of which name a tool at random
and half say that the wanted tool failed. Queries that no tool fits are asked before and after as
well: experience must not make a match of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

from tqdm import tqdm

from evals.calibrate import FOREIGN, gibberish
from evals.rankers import Ours
from evals.sets import DEV, Question, ToolSet, load_set
from toolscout.index.catalog import Catalog
from toolscout.index.vectors import Embedder
from toolscout.learning.experience import Experience, Observation
from toolscout.learning.patterns import pattern_vector, read_pattern
from toolscout.learning.prior import LearnedIndex
from toolscout.ranking.ask import Ask, Prior
from toolscout.ranking.pipeline import decide
from toolscout.text.query import analyse

SETS = (*(f"dev/{name}" for name in DEV), "dev/functionchat-ko", "train/gorilla-apibench")
"""The sets of the bars, one in another language, and one that is hard."""

SPLITS = (1, 2, 3)
"""Seeds of the halves; figures are means over them."""

MOST_QUESTIONS = 1_500
HOPELESS = 150
"""Queries of another domain that are asked, and strings of letters, per set."""

HALF_LIFE_DAYS = 30.0


@dataclass(frozen=True, slots=True)
class Replay:
    """One way to give feedback."""

    name: str
    uses: int | None = None
    """Uses per tool that are told; None for all."""
    wrong: float = 0.0
    """Share of the reports that are wrong: of a tool at random, or of a failure, in equal parts."""
    success: bool = True
    """What the reports say that are not wrong."""


REPLAYS = (
    Replay("1 use", uses=1),
    Replay("3 uses", uses=3),
    Replay("all uses"),
    Replay("all, 10 % wrong", wrong=0.1),
    Replay("all, 30 % wrong", wrong=0.3),
    Replay("all failures", success=False),
)


def report(folder: Path, model: str, limit: int | None) -> tuple[str, list[dict[str, Any]]]:
    """The table as Markdown, and its figures."""
    ours = Ours("hybrid", model)
    lines = [
        "| set | R@5 before | "
        + " | ".join(replay.name for replay in REPLAYS)
        + " | uses per tool | hopeless that match |",
        "|---|--:" + "|--:" * len(REPLAYS) + "|--:|--:|",
    ]
    rows: list[dict[str, Any]] = []
    for name in SETS:
        path = folder / "toolsets" / name
        if not (path / "corpus.jsonl").exists():
            lines.append(f"| {name} | skipped: there is no such set |")
            continue
        hopeless = hopeless_queries(folder, name.partition("/")[2])
        row = _row(load_set(path), ours, min(limit or MOST_QUESTIONS, MOST_QUESTIONS), hopeless)
        rows.append(row)
        before = row["before"]
        cells = [f"{after:.3f} ({after - before:+.3f})" for after in row["after"].values()]
        matched = " → ".join(f"{share:.1%}" for share in row["hopeless"])
        cells = [row["set"], f"{before:.3f}", *cells, f"{row['uses_per_tool']:.1f}", matched]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines), rows


def hopeless_queries(folder: Path, name: str) -> list[str]:
    """Queries that no tool of a set fits."""
    found = gibberish(HOPELESS)
    for other in (other for other, on in FOREIGN.items() if name in on):
        path = folder / "toolsets" / "dev" / other
        if (path / "corpus.jsonl").exists():
            questions = load_set(path).questions
            texts = Random(0).sample(questions, min(HOPELESS, len(questions)))
            found += [question.text for question in texts]
    return found


def _row(asked: ToolSet, ours: Ours, limit: int, hopeless: Sequence[str]) -> dict[str, Any]:
    catalog = ours.compile(asked.tools)
    before: list[float] = []
    after: dict[str, list[float]] = {replay.name: [] for replay in REPLAYS}
    uses: list[float] = []
    matched: tuple[float, float] = (0.0, 0.0)
    for seed in tqdm(SPLITS, desc=asked.name, unit="split", leave=False):
        questions = Random(seed).sample(asked.questions, min(limit, len(asked.questions)))
        told, tested = questions[: len(questions) // 2], questions[len(questions) // 2 :]
        before.append(_recall(catalog, tested, ours.embedder, None))
        for replay in REPLAYS:
            prior, told_tools = _learned(catalog, told, ours.embedder, replay, seed)
            after[replay.name].append(_recall(catalog, tested, ours.embedder, prior))
            if replay.name == "all uses":
                uses.append(told_tools)
                matched = (
                    _matched(catalog, hopeless, ours.embedder, None),
                    _matched(catalog, hopeless, ours.embedder, prior),
                )
    return {
        "set": asked.name,
        "before": mean(before),
        "after": {name: mean(values) for name, values in after.items()},
        "uses_per_tool": mean(uses),
        "hopeless": matched,
    }


def _learned(
    catalog: Catalog, told: Sequence[Question], embedder: Embedder, replay: Replay, seed: int
) -> tuple[Prior, float]:
    """The prior after feedback, and how many uses each used tool has."""
    random = Random(seed)
    experience = Experience()
    uses: dict[str, int] = {}
    for question in told:
        query = analyse(question.text)
        vector = pattern_vector(query, embedder.query(query.spoken))
        for gold in sorted(question.gold):
            wrong, other = random.random() < replay.wrong, random.random() < 0.5
            tool = random.choice(catalog.names) if wrong and other else gold
            success = replay.success and (other or not wrong)
            if replay.uses is not None and uses.get(tool, 0) >= replay.uses:
                continue
            uses[tool] = uses.get(tool, 0) + 1
            experience.learn(Observation(question.text, tool, success), vector)
    keys = [(name, "") for name in catalog.names]
    index = LearnedIndex(keys, experience, HALF_LIFE_DAYS, 0.0)
    per_tool = sum(uses.values()) / max(len(uses), 1)
    return lambda query, vectors: index.prior(read_pattern(query, vectors)), per_tool


def _recall(
    catalog: Catalog, questions: Sequence[Question], embedder: Embedder, prior: Prior | None
) -> float:
    return mean(
        len(question.gold & set(decide(catalog, ask, embedder, prior=prior).names))
        / len(question.gold)
        for question in questions
        if (ask := Ask(pattern=question.text)) and question.gold
    )


def _matched(
    catalog: Catalog, texts: Sequence[str], embedder: Embedder, prior: Prior | None
) -> float:
    """The share of queries that are answered with a match."""
    decisions = (decide(catalog, Ask(pattern=text), embedder, prior=prior) for text in texts)
    return mean(decision.outcome == "match" for decision in decisions)
