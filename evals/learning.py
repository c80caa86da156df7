"""What learning from use gains: half of a set's queries as feedback, the other half asked.

Every wanted tool of the first half is reported as a success, in the order of the questions and
through the learner of the service, so that it also decides whether experience helps. The second
half is asked before and after; its questions whose own tools were never used are counted apart,
because experience with their neighbours is all that moves them. A share of wrong reports names a
tool at random, or says that the wanted tool failed, in equal parts. Queries that no tool fits are
asked as well: experience must not make a match of them.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import msgspec
from tqdm import tqdm

from evals import metrics, paired
from evals import report as reporting
from evals.calibrate import FOREIGN, gibberish
from evals.rankers import Ours
from evals.sets import DEV, Question, ToolSet, load_set
from toolscout.contract.tools import Tool
from toolscout.index.catalog import Catalog
from toolscout.learning.examples import ExamplePriors
from toolscout.learning.experience import Observation
from toolscout.learning.learner import Learner
from toolscout.ranking.ask import Ask, Decision, Prior
from toolscout.ranking.pipeline import decide
from toolscout.state.guarded import Guard
from toolscout.state.memory import MemoryStore

SETS = (
    *(f"dev/{name}" for name in DEV),
    *("dev/functionchat-ko", "dev/zh-functions", "dev/asked-mcp", "train/gorilla-apibench"),
)
"""The sets of the bars, two in other languages, one in other words than its tools', and one that is
hard.
"""

SPLITS = (1, 2, 3)
"""Seeds of the halves; figures are means over them."""

MOST_QUESTIONS = 1_500
HOPELESS = 150
"""Queries of another domain that are asked, and strings of letters, per set."""

TENANT = "agent"
MEASURES = ("nDCG@5", "P@1", "R@5")


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
    Replay("all uses"),
    Replay("10 % wrong", wrong=0.1),
    Replay("30 % wrong", wrong=0.3),
    Replay("all failures", success=False),
)


def reported(
    question: Question, names: Sequence[str], replay: Replay, random: Random
) -> Iterator[tuple[str, bool]]:
    """Yield the tools that are reported of a question, and whether they are said to have worked."""
    for gold in sorted(question.gold):
        wrong, other = random.random() < replay.wrong, random.random() < 0.5
        tool = random.choice(names) if wrong and other else gold
        yield tool, replay.success and (other or not wrong)


EXAMPLES = "as examples"
"""The same queries as `examples` of their tools, without any feedback."""


def report(folder: Path, model: str, limit: int | None) -> tuple[str, list[dict[str, Any]]]:
    """Return the table as Markdown, and its figures."""
    ours = Ours("hybrid", model)
    header = ["set", "feedback", *MEASURES, "never used", *MEASURES[:2], "hopeless that match"]
    rows: list[dict[str, Any]] = []
    cells: list[list[str]] = []
    for name in SETS:
        path = folder / "toolsets" / name
        if not (path / "corpus.jsonl").exists():
            cells.append([f"{name}: skipped, there is no such set", *[""] * (len(header) - 1)])
            continue
        hopeless = hopeless_queries(folder, name.partition("/")[2])
        count = min(limit or MOST_QUESTIONS, MOST_QUESTIONS)
        found = _figures(load_set(path), ours, count, hopeless)
        rows += found
        cells += [_cells(row, found[0]) for row in found]
    text = reporting.table(header, cells, markdown=True)
    names = [name for name in SETS if name.partition("/")[2] in DEV]
    sets = [load_set(folder / "toolsets" / name) for name in names]
    return f"{text}\n\n{poisoning(sets, ours)}", rows


SHOWN = ("none", "all uses", EXAMPLES)
"""Rows of a set that the documentation has."""


def overview(text: str) -> str:
    """Return the tables of the documentation: what changes, without the smaller variations."""
    table, poisoned = text.split("\n\n")
    header, *rows = ([row[place] for place in (0, 1, 2, 3, 6, 8)] for row in reporting.cells(table))
    header[4] = "never used: nDCG@5"
    changes = [
        [*row[:2], *(cell.partition("(")[2].rstrip(")") or cell for cell in row[2:])]
        for row in rows
        if row[1] in SHOWN
    ]
    return f"{reporting.table(header, changes, markdown=True)}\n\n{poisoned}"


HONEST, FALSE, FRESH = (0, 50, 150), 20, 150
"""Honest turns before false reports, false reports of one tool, and questions asked afterwards."""


def poisoning(sets: Sequence[ToolSet], ours: Ours) -> str:
    """Return how often a tool that no question wants is shown after false reports of it."""
    header = ["set", *(f"after {count} honest turns: shown, first" for count in HONEST)]
    cells = []
    for asked in sets:
        catalog = ours.compile(asked.tools)
        row = [asked.name]
        for count in HONEST:
            shares = [_poisoned(asked, catalog, ours, count, Random(seed)) for seed in SPLITS]
            shown, first = (fmean(share) for share in zip(*shares, strict=True))
            row.append(f"{shown:.1%}, {first:.1%}")
        cells.append(row)
    return reporting.table(header, cells, markdown=True)


def _poisoned(
    asked: ToolSet, catalog: Catalog, ours: Ours, honest: int, random: Random
) -> tuple[float, float]:
    """Return the shares of fresh questions with the tool among the first five, and first."""
    count = min(honest + FALSE + FRESH, len(asked.questions))
    questions = random.sample(asked.questions, count)
    wanted = {tool for question in questions for tool in question.gold}
    tool = random.choice([name for name in catalog.names if name not in wanted])
    false = [
        Question(question.id, question.text, frozenset({tool}))
        for question in questions[honest : honest + FALSE]
    ]
    user = User(catalog, ours)
    reports = [*questions[:honest], *false]
    asyncio.run(user.tell(reports, Replay("all uses"), random))
    answers = [user.ask(question.text).names for question in questions[honest + FALSE :]]
    shown = fmean(tool in names for names in answers)
    return shown, fmean(names[:1] == [tool] for names in answers)


def _cells(row: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """One line of the table: the figures, and how they differ from those without feedback."""

    def shown(part: str, name: str) -> str:
        value, change = row[part].get(name), ""
        if value is None:
            return "–"
        if row is not before:
            each = part + "_each"
            change = f" ({paired.change(before[each][name], row[each][name])})"
        return f"{value:.3f}{change}"

    return [
        row["set"],
        row["feedback"],
        *(shown("all", name) for name in MEASURES),
        f"{row['never']:.0%}",
        *(shown("never_used", name) for name in MEASURES[:2]),
        f"{row['hopeless']:.1%}",
    ]


def hopeless_queries(folder: Path, name: str) -> list[str]:
    """Return queries that no tool of a set fits."""
    found = gibberish(HOPELESS)
    for other in (other for other, on in FOREIGN.items() if name in on):
        path = folder / "toolsets" / "dev" / other
        if (path / "corpus.jsonl").exists():
            questions = load_set(path).questions
            texts = Random(0).sample(questions, min(HOPELESS, len(questions)))
            found += [question.text for question in texts]
    return found


def _figures(
    asked: ToolSet, ours: Ours, limit: int, hopeless: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the figures without feedback, and after each way to give it."""
    catalog = ours.compile(asked.tools)
    found: dict[str, list[dict[str, Any]]] = {}
    for seed in tqdm(SPLITS, desc=asked.name, unit="split", leave=False):
        questions = Random(seed).sample(asked.questions, min(limit, len(asked.questions)))
        told, tested = questions[: len(questions) // 2], questions[len(questions) // 2 :]
        used = {tool for question in told for tool in question.gold}
        for replay in (None, *REPLAYS):
            user = User(catalog, ours)
            if replay is not None:
                asyncio.run(user.tell(told, replay, Random(seed)))
            name = "none" if replay is None else replay.name
            found.setdefault(name, []).append(user.figures(tested, used, hopeless))
        user = User(ours.compile(with_examples(asked.tools, told)), ours)
        found.setdefault(EXAMPLES, []).append(user.figures(tested, used, hopeless))
    return [
        {
            "set": asked.name,
            "feedback": name,
            "all": _means([each["all"] for each in splits]),
            "all_each": _joined([each["all_each"] for each in splits]),
            "never_used": _means([each["never_used"] for each in splits]),
            "never_used_each": _joined([each["never_used_each"] for each in splits]),
            "never": fmean(each["never"] for each in splits),
            "hopeless": fmean(each["hopeless"] for each in splits),
        }
        for name, splits in found.items()
    ]


def with_examples(tools: Sequence[Tool], told: Sequence[Question]) -> list[Tool]:
    """Return tools with the questions that want them as their examples."""
    wanted: dict[str, list[str]] = {}
    for question in told:
        for name in question.gold:
            wanted.setdefault(name, []).append(question.text)
    return [
        msgspec.structs.replace(tool, examples=tuple(wanted.get(tool.name, ()))) for tool in tools
    ]


class User:
    """One tenant of a service with learning."""

    def __init__(self, catalog: Catalog, ours: Ours) -> None:
        self._catalog = catalog
        self._embedder = ours.embedder
        self._learner = Learner(
            Guard(MemoryStore()),
            ours.embedder,
            lambda *_: catalog,
            lasting=False,
        )
        self._prior: Prior | None = ExamplePriors().of(catalog)

    async def tell(self, told: Sequence[Question], replay: Replay, random: Random) -> None:
        """Report the tools that each question wants."""
        uses: dict[str, int] = {}
        for question in told:
            reports = []
            for tool, success in reported(question, self._catalog.names, replay, random):
                if replay.uses is None or uses.get(tool, 0) < replay.uses:
                    uses[tool] = uses.get(tool, 0) + 1
                    digest = self._catalog.digest
                    reports.append(Observation(question.text, tool, success, catalog=digest))
            await self._learner.record(TENANT, reports)
            while self._learner.prior(TENANT, self._catalog) is None:
                await asyncio.sleep(0.01)  # a thread makes the index of a large catalog
        self._prior = self._learner.prior(TENANT, self._catalog)

    def figures(
        self, tested: Sequence[Question], used: set[str], hopeless: Sequence[str]
    ) -> dict[str, Any]:
        """Return the measures of all questions, and of those whose tools were never used."""
        answers = {question.id: self.ask(question.text).names for question in tested}
        never = [question for question in tested if not question.gold & used]

        def measured(questions: Sequence[Question]) -> dict[str, float]:
            names = [answers[question.id] for question in questions]
            return metrics.score(questions, names, names) if questions else {}

        def every(questions: Sequence[Question]) -> dict[str, list[float]]:
            return metrics.each(questions, [answers[question.id] for question in questions])

        return {
            "all": measured(tested),
            "all_each": every(tested),
            "never_used": measured(never),
            "never_used_each": every(never),
            "never": len(never) / len(tested),
            "hopeless": fmean(self.ask(text).outcome == "match" for text in hopeless),
        }

    def ask(self, text: str, top_k: int = metrics.SHORT) -> Decision:
        """Ask a question."""
        ask = Ask(pattern=text, top_k=top_k)
        return decide(self._catalog, ask, self._embedder, prior=self._prior)


def _joined(splits: Sequence[dict[str, list[float]]]) -> dict[str, list[float]]:
    return {name: [value for split in splits for value in split[name]] for name in splits[0]}


def _means(splits: Sequence[dict[str, float]]) -> dict[str, float]:
    known = [split for split in splits if split]
    return {name: fmean(split[name] for split in known) for name in (known[0] if known else ())}
