"""What learning gains turn by turn, as an agent has it: search, call a tool, report the call.

Half of a set's questions are asked again and again; each turn is one search with a `turn`, and one
report that names the turn and the tool that was really wanted (each of them, if there are several).
The other half is asked only to measure, so no question that counts was ever reported. Hopeless
queries are asked before and after.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from tqdm import tqdm

from evals import curves, metrics
from evals import report as reporting
from evals.learning import hopeless_queries
from evals.rankers import Ours
from evals.sets import DEV, Question, ToolSet, load_set
from toolscout.index.catalog import Catalog
from toolscout.learning.experience import Observation
from toolscout.learning.learner import Learner
from toolscout.ranking.ask import Ask, Decision
from toolscout.ranking.pipeline import decide
from toolscout.state.guarded import Guard
from toolscout.state.memory import MemoryStore

SETS = tuple(f"dev/{name}" for name in DEV)
STEPS = (0, 50, 100, 200, 300)
"""Turns after which the unseen questions are asked."""

SPLITS = (1, 2, 3)
"""Seeds of the halves; figures are means over them."""

UNSEEN = 400
"""Maximum number of unseen questions of a split."""

ORDER = ("nDCG@5", "P@1")
"""Measures of the order, before the first turn and after the last."""

TENANT = "agent"
PICTURE = Path("images") / "learning.svg"
"""Where the curve is drawn, beside the page with the table."""


def report(
    folder: Path, model: str, names: Sequence[str] | None, page: Path | None
) -> tuple[str, list[dict[str, Any]]]:
    """Return the table as Markdown, and its figures; draws the curve beside a page."""
    ours = Ours("hybrid", model)
    rows: list[dict[str, Any]] = []
    for name in names or SETS:
        path = folder / "toolsets" / name
        if (path / "corpus.jsonl").exists():
            hopeless = hopeless_queries(folder, name.partition("/")[2])
            rows.append(_figures(load_set(path), ours, hopeless))
    if page is not None:
        drawn = {row["set"]: [100 * share for share in row["missed"]] for row in rows}
        (page.parent / PICTURE).write_text(
            curves.svg(STEPS, drawn, "turns", "missed tools, %"), "utf-8"
        )
    header = [
        "set",
        *(f"after {step}" for step in STEPS),
        "change",
        *ORDER,
        "hopeless told or weak",
    ]
    cells = [
        [
            row["set"],
            *(f"{share:.1%}" for share in row["missed"]),
            f"{row['missed'][-1] / row['missed'][0] - 1:+.0%}",
            *(" → ".join(f"{value:.3f}" for value in row[name]) for name in ORDER),
            " → ".join(f"{share:.1%}" for share in row["hopeless"]),
        ]
        for row in rows
    ]
    return reporting.table(header, cells, markdown=True), rows


def _figures(asked: ToolSet, ours: Ours, hopeless: Sequence[str]) -> dict[str, Any]:
    catalog = ours.compile(asked.tools)
    curves_of: list[list[dict[str, float]]] = []
    told: list[tuple[float, float]] = []
    for seed in tqdm(SPLITS, desc=asked.name, unit="split", leave=False):
        questions = Random(seed).sample(asked.questions, len(asked.questions))
        half = len(questions) // 2
        agent = Agent(catalog, ours)
        unseen = questions[half : half + UNSEEN]
        before = agent.told(hopeless)
        curves_of.append(asyncio.run(_curve(agent, questions[:half], unseen)))
        told.append((before, agent.told(hopeless)))
    steps = list(zip(*curves_of, strict=True))
    return {
        "set": asked.name,
        "missed": [1 - fmean(each["R@5"] for each in step) for step in steps],
        **{name: [fmean(each[name] for each in steps[at]) for at in (0, -1)] for name in ORDER},
        "hopeless": [fmean(shares) for shares in zip(*told, strict=True)],
    }


async def _curve(
    agent: "Agent", asked: Sequence[Question], unseen: Sequence[Question]
) -> list[dict[str, float]]:
    """Return the measures of the unseen questions after each step."""
    found = []
    for turn in range(STEPS[-1] + 1):
        if turn in STEPS:
            found.append(await agent.measured(unseen))
        await agent.use(asked[turn % len(asked)], f"turn-{turn}")
    return found


class Agent:
    """One that reports which tools it called."""

    def __init__(self, catalog: Catalog, ours: Ours) -> None:
        self._catalog = catalog
        self._embedder = ours.embedder
        guard = Guard(MemoryStore())
        self._learner = Learner(guard, ours.embedder, lambda *_: catalog, lasting=False)
        self._reported = 0

    async def use(self, question: Question, turn: str) -> None:
        """Search, and report the tools that were really wanted."""
        decision = self._search(question.text)
        await self._learner.remember(TENANT, turn, decision)
        wanted = [Observation("", tool, True, turn=turn) for tool in sorted(question.gold)]
        counted = await self._learner.record(TENANT, wanted)
        assert len(counted) == len(wanted)
        self._reported += 1

    async def measured(self, questions: Sequence[Question]) -> dict[str, float]:
        """Return the measures of answers with five tools."""
        while self._reported and self._learner.prior(TENANT, self._catalog) is None:
            await asyncio.sleep(0.01)  # a thread makes the index of a large catalog
        names = [self._search(question.text).names for question in questions]
        return metrics.score(questions, names, names)

    def told(self, hopeless: Sequence[str]) -> float:
        """Return the share of hopeless queries that are not answered with a match."""
        return fmean(self._search(text).outcome != "match" for text in hopeless)

    def _search(self, text: str) -> Decision:
        prior = self._learner.prior(TENANT, self._catalog)
        return decide(self._catalog, Ask(pattern=text), self._embedder, prior=prior)
