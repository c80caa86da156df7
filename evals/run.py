"""Asking every question of a set to a ranker, with time taken."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from random import Random
from statistics import fmean, median
from time import perf_counter
from typing import Any, TypeVar

from tqdm import tqdm

from evals import metrics
from evals.rankers import Answer, Ranker, Search
from evals.sets import ToolSet

_Item = TypeVar("_Item")

SAMPLE_SEED = 3
"""The same questions every time a set is cut short."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What one ranker reached on one set.

    `values` holds the measures, `no_match` and `weak` as shares of the questions (`weak` only of
    rankers that judge), and `p50_ms`, the median time of one query for five tools.
    """

    ranker: str
    set: str
    tools: int
    questions: int
    values: dict[str, float]
    each: dict[str, list[float]] = field(default_factory=dict)
    """The measures of five names for every question, in their order."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def limited(items: Sequence[_Item], limit: int | None) -> Sequence[_Item]:
    """Return a fixed sample of at most `limit` questions or requests."""
    if limit is None or len(items) <= limit:
        return items
    return Random(SAMPLE_SEED).sample(items, limit)


def evaluate(
    name: str, ranker: Ranker, asked: ToolSet, limit: int | None = None, *, quiet: bool = False
) -> Figures:
    """All questions of a set of tools."""
    questions = limited(asked.questions, limit)
    search = ranker(asked.tools)
    short: list[Answer] = []
    long: list[Answer] = []
    spent: list[float] = []
    title = f"{name} on {asked.name}"
    for question in tqdm(questions, desc=title, unit="q", disable=quiet or None, leave=False):
        answer, seconds = timed(search, question.text)
        short.append(answer)
        spent.append(seconds)
        long.append(search(question.text, metrics.LONG))
    names = [answer.names for answer in short], [answer.names for answer in long]
    values = metrics.score(questions, *names) | outcome_shares(short)
    values["p50_ms"] = median(spent) * 1_000 if spent else 0.0
    each = metrics.each(questions, names[0])
    return Figures(name, asked.name, len(asked.tools), len(questions), values, each)


def evaluate_requests(
    name: str, ranker: Ranker, requests: Sequence[ToolSet], limit: int | None = None
) -> Figures:
    """Return requests that bring their own few tools: hit@1, or what is said when nothing fits.

    The time is that of the query alone, as everywhere: the few tools are indexed before.
    """
    requests = limited(requests, limit)
    answers: list[Answer] = []
    spent: list[float] = []
    hits = 0
    for request in tqdm(
        requests, desc=f"{name} on {requests[0].name}", unit="q", disable=None, leave=False
    ):
        (question,) = request.questions
        answer, seconds = timed(ranker(request.tools), question.text)
        answers.append(answer)
        spent.append(seconds)
        hits += bool(answer.names) and answer.names[0] in question.gold
    values = outcome_shares(answers)
    if any(request.questions[0].gold for request in requests):
        values["hit@1"] = hits / len(requests)
    values["p50_ms"] = median(spent) * 1_000
    tools = round(fmean(len(request.tools) for request in requests))
    return Figures(name, requests[0].name, tools, len(requests), values)


def joined(figures: Sequence[Figures], earlier: Sequence[dict[str, Any]]) -> list[Figures]:
    """Return new figures before those of an earlier run that were not measured anew, set by set."""
    new = {(f.ranker, f.set) for f in figures}
    kept = [Figures(**entry) for entry in earlier if (entry["ranker"], entry["set"]) not in new]
    sets = list(dict.fromkeys(f.set for f in (*figures, *kept)))
    return sorted([*figures, *kept], key=lambda f: sets.index(f.set))


def outcome_shares(answers: Sequence[Answer]) -> dict[str, float]:
    """Shares of `no_match` and, from rankers that judge, of `weak`."""
    if not answers:
        return {}
    shares = {"no_match": fmean(answer.is_nothing for answer in answers)}
    if any(answer.outcome for answer in answers):
        shares["weak"] = fmean(answer.outcome == "weak" for answer in answers)
    return shares


def timed(search: Search, query: str) -> tuple[Answer, float]:
    """Return an answer of five names, and the seconds it took."""
    began = perf_counter()
    answer = search(query, metrics.SHORT)
    return answer, perf_counter() - began


def average(figures: Sequence[Figures], sets: Sequence[str]) -> dict[str, float]:
    """Means of one ranker's values over sets, each set counting the same."""
    chosen = [f for f in figures if f.set in sets]
    titles = set.intersection(*(set(f.values) for f in chosen)) if chosen else set()
    return {title: fmean(f.values[title] for f in chosen) for title in titles}
