"""Measure one selector on one set in a process of its own, so that memory and start are its own.

    python -m evals.board.measure SELECTOR SET [--data FOLDER]

Prints one line of JSON. The measures are those of `toolscout evaluate`: the same code judges.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from statistics import fmean, median, quantiles
from time import perf_counter
from typing import Any

from evals.board.data import Asked, load
from evals.board.selectors import LEARNING, OURS, Made, find
from evals.metrics import LONG, SHORT
from evals.rankers import MissingPackage, Search
from evals.run import SAMPLE_SEED, limited
from evals.sets import Question, data_folder
from evals.speed.processes import own_mib

QUESTIONS = 150
"""Asked per set at most; the same ones of every selector, in the same order."""

IMPOSSIBLE = 60
REQUESTS = 60
"""Requests with tools of their own, each of which is indexed anew."""

SECONDS = 10.0
"""That one selector may take to answer a set; after that it is judged on what it has answered."""

FEWEST = 20

DEPTHS = (1, 3, SHORT)

IMPORTS = """
import os, time
from evals.speed.processes import own_mib
before, began = own_mib(os.getpid()), time.perf_counter()
import evals.rankers
print(time.perf_counter() - began, own_mib(os.getpid()) - before)
"""


def measured(selector: str, name: str, folder: Path | None) -> dict[str, Any]:
    """Return the figures of one selector on one set, or why there are none."""
    asked = load(name, folder)
    limit = REQUESTS if asked.own_tools else QUESTIONS
    unique = _unique(asked.set.questions)
    questions = list(limited(unique, limit))
    hopeless = list(limited(sorted(set(asked.impossible)), IMPOSSIBLE))
    before, began = own_mib(os.getpid()), perf_counter()
    row: dict[str, Any] = {"selector": selector, "set": name, "tools": len(asked.set.tools)}
    row |= {"all_questions": len(unique), "sample": len(questions)}
    if selector == LEARNING and asked.own_tools:
        return row | {"unfit": "learns from questions about one list of tools"}
    try:
        make = find(selector)
    except MissingPackage as missing:
        return row | {"missing": f"{missing} is not installed"}
    start = perf_counter() - began
    began = perf_counter()
    search = _searching(make, asked, questions)
    search(questions[0].text if questions else hopeless[0], SHORT)
    row |= {"start_s": start, "cold_ms": (perf_counter() - began) * 1_000}
    row["memory_mib"] = own_mib(os.getpid()) - before
    if selector in (*OURS, LEARNING):
        seconds, mib = imports()
        row["start_s"] += seconds
        row["memory_mib"] += mib
    return row | _judged(search, asked, questions, hopeless)


def imports() -> tuple[float, float]:
    """Return seconds and MiB of importing our ranking, which this process did before the clock."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True
    )
    seconds, mib = map(float, done.stdout.split())
    return seconds, mib


def _unique(questions: Sequence[Question]) -> list[Question]:
    """Return questions of which equal ones are one, wanting the tools of all."""
    wanted: dict[str, frozenset[str]] = {}
    for question in questions:
        wanted[question.text] = wanted.get(question.text, frozenset()) | question.gold
    return [Question(text, text, gold) for text, gold in wanted.items()]


def _searching(make: Made, asked: Asked, questions: Sequence[Question]) -> Search:
    """Return one search over the set, or of requests one that indexes what each brings."""
    if not asked.own_tools:
        return make(asked.set.tools, questions)
    return lambda query, top_k: make(asked.own_tools[query], ())(query, top_k)


def _judged(
    search: Search, asked: Asked, questions: list[Question], hopeless: list[str]
) -> dict[str, Any]:
    from toolscout.commands.evaluation import judging
    from toolscout.commands.evaluation.questions import JudgedQuestion as Judged

    spent: list[float] = []
    shown: dict[str, int] = {}
    answers: dict[tuple[str, int], list[str]] = {}

    def ask(query: str, top_k: int) -> dict[str, Any]:
        if (query, top_k) not in answers:
            began = perf_counter()
            names = list(dict.fromkeys(search(query, top_k).names))[:top_k]
            if top_k == SHORT:
                spent.append((perf_counter() - began) * 1_000)
                shown[query] = len(names)
            answers[query, top_k] = names
        return {"selected_names": answers[query, top_k], "matches": []}

    # The answers are collected first, for as long as there is time, and then judged; mixed, so
    # that a sample has its part of the impossible ones.
    texts = [question.text for question in questions] + hopeless
    began = perf_counter()
    mixed = Random(SAMPLE_SEED).sample(texts, len(texts))
    for number, text in enumerate(mixed):
        if number >= FEWEST and perf_counter() - began > SECONDS:
            break
        ask(text, SHORT)
        ask(text, LONG)
    answered = [question for question in questions if (question.text, SHORT) in answers]
    refused = [not answers[text, SHORT] for text in hopeless if (text, SHORT) in answers]
    found = judging.judge(
        asked.set.tools,
        [Judged(question.text, tuple(sorted(question.gold))) for question in answered],
        lambda query, top_k: ask(query, min(top_k, LONG)),
        SHORT,
    )
    values: dict[str, float | None] = {"refused": fmean(refused) if refused else None}
    if answered:
        deep = (len(q.gold.intersection(answers[q.text, LONG])) / len(q.gold) for q in answered)
        values |= {f"R@{k}": found.recall[k] for k in DEPTHS}
        values |= {f"R@{LONG}": fmean(deep), f"nDCG@{SHORT}": found.ndcg}
        values |= {f"R@5 {part.overlap.split()[0]}": part.recall for part in found.overlap}
        values |= {"nothing": found.no_match, "shown": fmean(shown[q.text] for q in answered)}
    if answered and not asked.own_tools:
        values |= {"tokens": found.tokens_shown, "tokens_all": found.tokens_all}
    return {
        "questions": len(answered),
        "impossible": len(refused),
        "warm_ms": median(spent),
        "p95_ms": quantiles(spent, n=20)[-1] if len(spent) > 1 else spent[0],
        "values": values,
    }


def main() -> int:
    """Print the figures of one selector on one set."""
    parser = argparse.ArgumentParser(prog="python -m evals.board.measure", description=__doc__)
    parser.add_argument("selector")
    parser.add_argument("set")
    parser.add_argument("--data", type=Path)
    parsed = parser.parse_args()
    print(json.dumps(measured(parsed.selector, parsed.set, data_folder(parsed.data))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
