"""What learning from use gains: half of a set's queries as feedback, the other half asked.

Every wanted tool of the first half is reported as a success, in the order of the questions and
through the learner of the service; or only those of half of the tools; or nearly every third report
is of a wrong tool. The second half is asked before and after; its questions whose own tools were
never reported are counted apart, because experience with their neighbours is all that moves them.
Queries that no tool fits are asked as well: experience must not make a match of them.
"""

import asyncio
from collections.abc import Sequence
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
from toolscout.experience.examples import ExamplePriors
from toolscout.experience.reported import Observation
from toolscout.index.catalog import Catalog
from toolscout.learning.learner import Learner
from toolscout.ranking.ask import Ask, Decision, Prior
from toolscout.ranking.pipeline import decide

SETS = (
    *(f"dev/{name}" for name in DEV),
    *(
        "dev/thingpedia",
        "dev/hwu-voice",
        "dev/functionchat-ko",
        "dev/zh-functions",
        "dev/asked-mcp",
        "train/gorilla-apibench",
    ),
)
"""The sets of the bars, two of people's words, two in other languages, one in other words than its
tools', and one that is hard.
"""

SPLITS = (1, 2, 3)
"""Seeds of the halves; figures are means over them."""

MOST_QUESTIONS = 1_500
HOPELESS = 150
"""Queries of another domain that are asked, and strings of letters, per set."""

TENANT = "agent"
MEASURE = "nDCG@5"
"""What the table has of each way to give feedback; its JSON has the others, too."""

WRONG = 0.3
"""Share of the reports that are of a wrong tool."""

NONE = "none"
ALL = "all uses"
WRONGLY = "a third is wrong"
HALF = "half of the tools"
EXAMPLES = "as examples"
"""The queries of half of the tools as their `examples`, without any feedback."""


def report(folder: Path, model: str, limit: int | None) -> tuple[str, list[dict[str, Any]]]:
    """Return the tables as Markdown, and the figures of the first."""
    ours = Ours("hybrid", model)
    header = [
        "set",
        f"{MEASURE} without",
        ALL,
        WRONGLY,
        HALF,
        EXAMPLES,
        f"others: {HALF}",
        f"hopeless that match: without, {ALL}",
    ]
    rows: list[dict[str, Any]] = []
    cells: list[list[str]] = []
    for name in SETS:
        path = folder / "toolsets" / name
        if not (path / "corpus.jsonl").exists():
            cells.append([f"{name}: skipped, there is no such set", *[""] * (len(header) - 1)])
            continue
        hopeless = hopeless_queries(folder, path.name)
        count = min(limit or MOST_QUESTIONS, MOST_QUESTIONS)
        found = _figures(load_set(path), ours, count, hopeless)
        rows += found
        cells.append(_cells(found))
    text = reporting.table(header, cells, markdown=True)
    sets = [load_set(folder / "toolsets" / "dev" / name) for name in DEV]
    return f"{text}\n\n{poisoning(sets, ours)}", rows


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
    asyncio.run(user.tell([*questions[:honest], *false]))
    answers = [user.ask(question.text).names for question in questions[honest + FALSE :]]
    shown = fmean(tool in names for names in answers)
    return shown, fmean(names[:1] == [tool] for names in answers)


def _cells(found: Sequence[dict[str, Any]]) -> list[str]:
    """One line of the table: the figure of a set without feedback, and how each way changes it."""
    by_feedback = {row["feedback"]: row for row in found}
    before = by_feedback[NONE]
    told = by_feedback[ALL]
    ways = [by_feedback[way] for way in (ALL, WRONGLY, HALF, EXAMPLES)]
    return [
        before["set"],
        f"{before['all'][MEASURE]:.3f}",
        *(_change(before, way, "all") for way in ways),
        _change(before, by_feedback[HALF], "others"),
        f"{before['hopeless']:.1%}, {told['hopeless']:.1%}",
    ]


def _change(before: dict[str, Any], after: dict[str, Any], part: str) -> str:
    if not after[part]:
        return "–"
    each = f"{part}_each"
    return str(paired.change(before[each][MEASURE], after[each][MEASURE]))


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
        half = some_tools(questions, Random(seed))
        feedback = {
            NONE: [],
            ALL: told,
            WRONGLY: with_wrong(told, catalog.names, Random(seed)),
            HALF: [question for question in told if question.gold <= half],
        }
        for name, reports in feedback.items():
            user = User(catalog, ours)
            asyncio.run(user.tell(reports))
            found.setdefault(name, []).append(user.figures(tested, half, hopeless))
        user = User(ours.compile(with_examples(asked.tools, feedback[HALF])), ours)
        found.setdefault(EXAMPLES, []).append(user.figures(tested, half, hopeless))
    return [
        {
            "set": asked.name,
            "feedback": name,
            "all": _means([each["all"] for each in splits]),
            "all_each": _joined([each["all_each"] for each in splits]),
            "others": _means([each["others"] for each in splits]),
            "others_each": _joined([each["others_each"] for each in splits]),
            "hopeless": fmean(each["hopeless"] for each in splits),
        }
        for name, splits in found.items()
    ]


def some_tools(questions: Sequence[Question], random: Random) -> set[str]:
    """Return half of the tools that questions want."""
    wanted = sorted({tool for question in questions for tool in question.gold})
    return set(random.sample(wanted, len(wanted) // 2))


def with_wrong(told: Sequence[Question], names: Sequence[str], random: Random) -> list[Question]:
    """Return questions of which `WRONG` were served by any tool."""
    return [
        Question(question.id, question.text, frozenset({random.choice(names)}))
        if random.random() < WRONG
        else question
        for question in told
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
        self._learner = Learner(None, ours.embedder, lambda *_: catalog)
        self._prior: Prior | None = ExamplePriors().of(catalog)

    async def tell(self, told: Sequence[Question]) -> None:
        """Report that the tools which each question wants have served it."""
        for question in told:
            reports = [
                Observation(question.text, tool, True, catalog=self._catalog.digest)
                for tool in sorted(question.gold)
            ]
            await self._learner.record(TENANT, reports)
            while self._learner.prior(TENANT, self._catalog) is None:
                await asyncio.sleep(0.01)  # a thread makes the index of a large catalog
            self._prior = self._learner.prior(TENANT, self._catalog)

    def figures(
        self, tested: Sequence[Question], half: set[str], hopeless: Sequence[str]
    ) -> dict[str, Any]:
        """Return the measures of all questions, and of those that want no tool of a half."""
        answers = {question.id: self.ask(question.text).names for question in tested}
        others = [question for question in tested if not question.gold & half]

        def measured(questions: Sequence[Question]) -> dict[str, float]:
            names = [answers[question.id] for question in questions]
            return metrics.score(questions, names, names) if questions else {}

        def every(questions: Sequence[Question]) -> dict[str, list[float]]:
            return metrics.each(questions, [answers[question.id] for question in questions])

        return {
            "all": measured(tested),
            "all_each": every(tested),
            "others": measured(others),
            "others_each": every(others),
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
