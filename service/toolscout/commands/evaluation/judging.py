"""Judge a selector by questions with known answers: what it found, what it missed, and why."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log2
from statistics import fmean
from typing import Any, Literal

import msgspec

from toolscout.commands.evaluation.questions import JudgedQuestion
from toolscout.contract.tools import Tool
from toolscout.text.query import load_word_weights
from toolscout.text.tokens import analyse_terms, fold
from toolscout.tools.documents import description_of
from toolscout.tools.summary import estimate_tool_tokens

DEPTH = 20
"""Places in which a missed tool is looked for."""

Ask = Callable[[str, int], Mapping[str, Any]]
"""A request and a number of tools to the explained answer of a search."""

Why = Literal["no_match", "name", "words", "crowding", "meaning"]

REASONS: dict[Why, str] = {
    "no_match": "nothing was judged to fit, so a caller keeps every tool",
    "name": "the request names another tool",
    "words": "it shares no word with the request",
    "crowding": "it stands below the tools that were shown",
    "meaning": "it shares words, but others fit better",
}
"""Why a tool is missed, as far as the answer tells it."""


class Miss(msgspec.Struct, frozen=True, omit_defaults=True):
    """A wanted tool that was not shown."""

    query: str
    wanted: str
    shown: list[str]
    why: Why
    rank: int | None = None
    """Its place among the first twenty."""


class Part(msgspec.Struct, frozen=True):
    """Figures of the questions of one third, by how many of their words their tools have."""

    overlap: str
    questions: int
    recall: float


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a selector is worth on these questions; shares are 0 to 1."""

    questions: int
    tools: int
    top_k: int
    recall: dict[int, float]
    """Share of the wanted tools among the first 1, 3, 5 and `top_k`."""
    ndcg: float
    """nDCG of the first `top_k`."""
    first_right: float
    """P@1: questions whose first tool is a wanted one."""
    found: int
    """Questions whose wanted tools are all shown."""
    no_match: float
    """Share of the questions with wanted tools that were answered with nothing."""
    impossible: int
    """Questions that no tool answers."""
    refused: float | None
    """Share of those that were answered with nothing; None without any."""
    tokens_all: int
    """Estimated prompt tokens of all tools."""
    tokens_shown: float
    """Of the tools that a caller shows, on average: all of them where nothing fits."""
    overlap: list[Part]
    worst_tools: list[tuple[str, int, int]]
    """Tools that were missed: name, how often wanted, how often missed."""
    why: dict[Why, int]
    misses: list[Miss]


def judge(
    tools: Sequence[Tool],
    questions: Sequence[JudgedQuestion],
    ask: Ask,
    top_k: int,
    progress: Callable[[int], object] = lambda _: None,
) -> Verdict:
    """Ask every question, and judge the answers."""
    tokens = {tool.name: estimate_tool_tokens(tool) for tool in tools}
    words = {tool.name: find_telling(f"{tool.name} {description_of(tool)}") for tool in tools}
    everything = sum(tokens.values())
    hits: list[tuple[list[bool], int]] = []
    """Of each question that has an answer: which shown tools are wanted, and how many are."""
    shown_tokens: list[int] = []
    misses: list[Miss] = []
    overlaps: list[float] = []
    empty = refused = 0
    for number, question in enumerate(questions):
        progress(number)
        answer = ask(question.query, top_k)
        names = list(answer["selected_names"])
        shown_tokens.append(sum(tokens.get(name, 0) for name in names) if names else everything)
        if not question.tools:
            refused += not names
            continue
        empty += not names
        hits.append(([name in question.tools for name in names], len(question.tools)))
        overlaps.append(_measure_overlap(question, words))
        missed = [name for name in question.tools if name not in names]
        if missed:
            deeper = ask(question.query, max(DEPTH, top_k)) if names else answer
            misses += (_explain_miss(question.query, name, names, deeper, words) for name in missed)
    answerable = [question for question in questions if question.tools]
    recalls = [_recall(hit, count, top_k) for hit, count in hits]
    impossible = len(questions) - len(answerable)
    return Verdict(
        questions=len(questions),
        tools=len(tools),
        top_k=top_k,
        recall={
            k: _calculate_mean(_recall(*each, k) for each in hits) for k in _list_depths(top_k)
        },
        ndcg=_calculate_mean(_calculate_ndcg(hit, count, top_k) for hit, count in hits),
        first_right=_calculate_mean(float(hit[:1] == [True]) for hit, _ in hits),
        found=sum(sum(hit) == count for hit, count in hits),
        no_match=empty / max(1, len(answerable)),
        impossible=impossible,
        refused=refused / impossible if impossible else None,
        tokens_all=everything,
        tokens_shown=_calculate_mean(shown_tokens),
        overlap=_split_thirds(overlaps, recalls),
        worst_tools=_find_worst(answerable, misses),
        why=dict(Counter(miss.why for miss in misses).most_common()),
        misses=misses,
    )


def _explain_miss(
    query: str,
    expected: str,
    shown: list[str],
    deeper: Mapping[str, Any],
    words: Mapping[str, frozenset[str]],
) -> Miss:
    """Say why a wanted tool was not shown."""
    names = list(deeper["selected_names"])
    rank = names.index(expected) + 1 if expected in names else None
    why: Why = "meaning"
    if not names:
        why = "no_match"
    elif any(_is_named(match) for match in deeper["matches"][:1]):
        why = "name"
    elif not find_telling(query) & words[expected]:
        why = "words"
    elif rank is not None:
        why = "crowding"
    return Miss(query, expected, shown, why, rank)


def _is_named(match: Mapping[str, Any]) -> bool:
    return any(reason["via"] in ("exact", "alias") for reason in match["reasons"])


def find_telling(text: str) -> frozenset[str]:
    """Return the words of a text that are no function words, as terms."""
    lighter = load_word_weights()
    return frozenset(
        term for term in analyse_terms(text) if term not in lighter and fold(term) == term
    )


def _measure_overlap(question: JudgedQuestion, words: Mapping[str, frozenset[str]]) -> float:
    asked = find_telling(question.query)
    return max(len(asked & words[name]) for name in question.tools) / max(1, len(asked))


def _list_depths(top_k: int) -> list[int]:
    return sorted({k for k in (1, 3, 5, top_k) if k <= top_k})


def _recall(hits: Sequence[bool], count: int, k: int) -> float:
    return sum(hits[:k]) / count


def _calculate_ndcg(hits: Sequence[bool], count: int, k: int) -> float:
    gained = sum(hit / log2(place + 2) for place, hit in enumerate(hits[:k]))
    return gained / sum(1 / log2(place + 2) for place in range(min(count, k)))


def _split_thirds(overlaps: Sequence[float], recalls: Sequence[float]) -> list[Part]:
    """Return the recall of each third of the questions, by how many words they share."""
    order = sorted(range(len(overlaps)), key=overlaps.__getitem__)
    size = -(-len(order) // 3) or 1
    titles = ("few shared words", "some", "many shared words")
    parts = (order[start : start + size] for start in range(0, len(order), size))
    return [
        Part(title, len(part), _calculate_mean(recalls[i] for i in part))
        for title, part in zip(titles, parts, strict=False)
    ]


def _find_worst(
    questions: Sequence[JudgedQuestion], misses: Sequence[Miss]
) -> list[tuple[str, int, int]]:
    counts = Counter(name for question in questions for name in question.tools)
    missed = Counter(miss.wanted for miss in misses)
    rows = [(name, counts[name], count) for name, count in missed.items()]
    return sorted(rows, key=lambda row: (-row[2], -row[2] / row[1], row[0]))


def _calculate_mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return round(fmean(numbers), 4) if numbers else 0.0
