"""What learning gains turn by turn, as an agent has it: search, call a tool, report the call.

Half of a set's questions are asked again and again; each turn is one search with a `turn`, and one
report that names the turn and the tool that was really wanted (each of them, if there are several).
A share of the reports is wrong. The other half is asked only to measure, so no question that counts
was ever reported. Hopeless queries are asked before and after.

A second table is about drift: questions that one tool served get another one's reports, and the
old one is no longer reported, or fails.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from tqdm import tqdm

from evals import metrics
from evals import report as reporting
from evals.learning import SETS, Replay, hopeless_queries, reported
from evals.rankers import Ours
from evals.sets import Question, ToolSet, load_set
from toolscout.index.catalog import Catalog
from toolscout.learning.experience import Observation
from toolscout.learning.learner import Learner
from toolscout.ranking.ask import Ask, Decision
from toolscout.ranking.pipeline import decide
from toolscout.state.guarded import Guard
from toolscout.state.memory import MemoryStore

STEPS = (0, 50, 100, 200, 300)
"""Turns after which the unseen questions are asked."""

WRONG = (0.0, 0.1, 0.3)
"""Shares of the reports that are wrong, as in `evals.learning`."""

SPLITS = (1, 2, 3)
"""Seeds of the halves; figures are means over them."""

UNSEEN = 400
"""Maximum number of unseen questions of a split."""

MEASURES = ("nDCG@5", "P@1", "R@5")

SETTLED, MOVED = 10, 40
"""Reports of each question's tool before it changes, and questions that change."""

AFTER = (0, 1, 2, 3, 5, 8, 12)
"""Reports of the new tool after which its questions are asked."""

TENANT = "agent"


def report(
    folder: Path, model: str, names: Sequence[str] | None
) -> tuple[str, list[dict[str, Any]]]:
    """Return the tables as Markdown, and the figures."""
    ours = Ours("hybrid", model)
    rows: list[dict[str, Any]] = []
    drifts: list[list[str]] = []
    for name in names or SETS:
        path = folder / "toolsets" / name
        if not (path / "corpus.jsonl").exists():
            continue
        asked, hopeless = load_set(path), hopeless_queries(folder, path.name)
        catalog = ours.compile(asked.tools)
        rows += [_figures(asked, catalog, ours, wrong, hopeless) for wrong in WRONG]
        for fails in (False, True):
            how = "fails" if fails else "is not reported"
            drifts.append([path.name, how, *_drift(asked, catalog, ours, fails)])
    header = ["set", "wrong", *(f"after {step}" for step in STEPS), "hopeless told or weak"]
    text = reporting.table(header, [_cells(row) for row in rows], markdown=True)
    header = ["set", "the old tool", *(f"after {count}" for count in AFTER)]
    return f"{text}\n\n{reporting.table(header, drifts, markdown=True)}", rows


def overview(text: str) -> str:
    """Return the tables of the documentation: fewer steps, and the first place of each drift."""
    curves, drifts = map(reporting.cells, text.split("\n\n"))
    steps = [
        [
            *row[:2],
            *(cell.rpartition(" / ")[0] or cell for cell in (row[2], row[4], row[6])),
        ]
        for row in curves
        if row[1] != f"{WRONG[1]:.0%}"
    ]
    (_, _, *after), *rows = [
        [*row[:2], *(cell.partition(",")[0] for cell in row[2::3])] for row in drifts
    ]
    titles = [f"{how}: {step}" for how in ("not reported", "fails") for step in after]
    first = [["set", *titles]]
    first += [
        [row[0], *row[2:], *more[2:]] for row, more in zip(rows[::2], rows[1::2], strict=True)
    ]
    tables = ((header, rows) for header, *rows in (steps, first))
    return "\n\n".join(reporting.table(*one, markdown=True) for one in tables)


def _cells(row: Mapping[str, Any]) -> list[str]:
    return [
        row["set"],
        f"{row['wrong']:.0%}",
        *(" / ".join(f"{found[name]:.3f}" for name in MEASURES) for found in row["steps"]),
        " → ".join(f"{share:.1%}" for share in row["hopeless"]),
    ]


def _figures(
    asked: ToolSet, catalog: Catalog, ours: Ours, wrong: float, hopeless: Sequence[str]
) -> dict[str, Any]:
    found: list[list[dict[str, float]]] = []
    told: list[tuple[float, float]] = []
    for seed in tqdm(SPLITS, desc=f"{asked.name}, {wrong:.0%}", unit="split", leave=False):
        questions = Random(seed).sample(asked.questions, len(asked.questions))
        half = len(questions) // 2
        agent = Agent(catalog, ours, Replay("turns", wrong=wrong), Random(seed))
        before = agent.told(hopeless)
        unseen = questions[half : half + UNSEEN]
        found.append(asyncio.run(_curve(agent, questions[:half], unseen)))
        told.append((before, agent.told(hopeless)))
    steps = list(zip(*found, strict=True))
    return {
        "set": asked.name,
        "wrong": wrong,
        "steps": [
            {name: fmean(each[name] for each in step) for name in MEASURES} for step in steps
        ],
        "hopeless": [fmean(shares) for shares in zip(*told, strict=True)],
    }


async def _curve(
    agent: "Agent", asked: Sequence[Question], unseen: Sequence[Question]
) -> list[dict[str, float]]:
    """Return the measures of the unseen questions after each step."""
    found = []
    for turn in range(STEPS[-1] + 1):
        if turn in STEPS:
            found.append(agent.measured(unseen))
        await agent.use(asked[turn % len(asked)], f"turn-{turn}")
    return found


def _drift(asked: ToolSet, catalog: Catalog, ours: Ours, fails: bool) -> Iterator[str]:
    """Yield the shares of changed questions with the new tool first, and among the first five.

    Questions that want one tool are reported of it, then as often of the best other one.
    """
    shares = []
    for seed in SPLITS:
        single = [question for question in asked.questions if len(question.gold) == 1]
        old = Random(seed).sample(single, min(MOVED, len(single)))
        agent = Agent(catalog, ours, Replay("drift"), Random(seed))
        shares.append(asyncio.run(_moved(agent, old, fails)))
    for step in zip(*shares, strict=True):
        first, shown = (fmean(share) for share in zip(*step, strict=True))
        yield f"{first:.0%}, {shown:.0%}"


async def _moved(agent: "Agent", old: Sequence[Question], fails: bool) -> list[tuple[float, float]]:
    new = [agent.other(question) for question in old]
    for turn in range(SETTLED):
        for question in old:
            await agent.use(question, f"old-{turn}-{question.id}")
    found = []
    for turn in range(AFTER[-1] + 1):
        if turn in AFTER:
            figures = agent.measured(new)
            found.append((figures["P@1"], figures["R@5"]))
        for before, question in zip(old, new, strict=True):
            failed = before.gold if fails else ()
            await agent.use(question, f"new-{turn}-{question.id}", failed)
    return found


class Agent:
    """One that reports which tools it called."""

    def __init__(self, catalog: Catalog, ours: Ours, replay: Replay, random: Random) -> None:
        self._catalog = catalog
        self._embedder = ours.embedder
        self._replay = replay
        self._random = random
        guard = Guard(MemoryStore())
        self._learner = Learner(guard, ours.embedder, lambda *_: catalog, lasting=False)

    async def use(self, question: Question, turn: str, failed: Iterable[str] = ()) -> None:
        """Search, and report the tools that were wanted, or what the replay makes of them."""
        decision = self._search(question.text)
        await self._learner.remember(TENANT, turn, decision)
        told = reported(question, self._catalog.names, self._replay, self._random)
        told = chain(((tool, False) for tool in failed), told)
        reports = [Observation("", tool, success, turn=turn) for tool, success in told]
        await self._learner.record(TENANT, reports)
        while self._learner.prior(TENANT, self._catalog) is None:
            await asyncio.sleep(0.01)  # a thread makes the index of a large catalog

    def measured(self, questions: Sequence[Question]) -> dict[str, float]:
        """Return the measures of answers with five tools."""
        names = [self._search(question.text).names for question in questions]
        return metrics.score(questions, names, names)

    def told(self, hopeless: Sequence[str]) -> float:
        """Return the share of hopeless queries that are not answered with a match."""
        return fmean(self._search(text).outcome != "match" for text in hopeless)

    def other(self, question: Question) -> Question:
        """Return a question with the best tool that it did not want as the one that it wants."""
        names = [*self._search(question.text).names, *self._catalog.names]
        other = next(name for name in names if name not in question.gold)
        return Question(question.id, question.text, frozenset({other}))

    def _search(self, text: str) -> Decision:
        prior = self._learner.prior(TENANT, self._catalog)
        return decide(self._catalog, Ask(pattern=text), self._embedder, prior=prior)
