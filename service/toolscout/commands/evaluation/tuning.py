"""`evaluate --tune`: settings and overlay rows from one half of the questions, judged on the other.

Questions that differ in numbers, marks, endings and order alone are one, so that none is judged by
its double. Which half one is in depends on its words alone, so that more questions move none. A
change is kept only where it gains more on the other half than twice its standard error. The
changes are tried one after the other, each with those that are kept before it.
"""

import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

from toolscout.commands.evaluation.questions import JudgedQuestion
from toolscout.commands.evaluation.suggesting import Suggestion, merge_suggestions, quote_toml
from toolscout.common.counted import write_count
from toolscout.contract.fields import RankerName
from toolscout.contract.tools import Tool
from toolscout.engine import Engine
from toolscout.errors import ConfigurationError
from toolscout.index.compiled_tool import EXAMPLE_CHARS
from toolscout.text.tokens import analyse_terms
from toolscout.tools.overlay import parse_overlay

MIN_HALF = 20
"""Questions that each half needs."""

ERRORS = 2.0
"""Standard errors that a gain must exceed."""

THRESHOLDS = tuple(round(0.02 * step, 2) for step in range(26))
"""Values of `no_match_below` that are tried."""

MAX_LOST = 0.01
"""Share of the wanted tools that fewer tools may lose."""


_NUMBER = re.compile(r"\d")


class Gain(NamedTuple):
    """What a change is worth on the questions that it was not made from."""

    before: float
    after: float
    error: float
    """The standard error of the difference."""

    @property
    def is_sure(self) -> bool:
        """Whether the change gains more than chance would."""
        return self.after - self.before > ERRORS * self.error


class Tuned(NamedTuple):
    """What to change, a line about each change that was tried, and the rows."""

    lines: list[str]
    no_match_below: float | None
    rows: str
    """An overlay, empty if none is worth it."""


Search = Callable[[JudgedQuestion], Sequence[str]]


class Tuning(NamedTuple):
    """What is asked how."""

    tools: Sequence[Tool]
    questions: Sequence[JudgedQuestion]
    top_k: int
    ranker: RankerName
    no_match_below: float
    max_tools: int
    tenant: str = ""
    """Whose questions they are; rows are for it alone."""

    def make_engine(self, rows: str = "") -> Engine:
        """Return an engine with an overlay of these rows."""
        below = self.no_match_below
        engine = Engine(
            self.tools, ranker=self.ranker, no_match_below=below, max_tools=self.max_tools
        )
        engine.compiler.overlay = parse_overlay(rows, "suggested rows").narrow(self.tenant)
        return engine


def tune(asked: Tuning) -> Tuned:
    """Try all changes on one half of the questions, and judge them on the other.

    Raises:
        ConfigurationError: there are too few questions.
    """
    halves = split(asked.questions)
    if min(map(len, halves)) < MIN_HALF:
        counts = f"{len(halves[0])} and {len(halves[1])}"
        raise ConfigurationError(
            f"tune: expected {MIN_HALF} different questions in each half, got {counts}"
        )
    rows, of_rows = _tune_rows(asked, halves)
    engine = asked.make_engine(rows)
    below, of_threshold = _tune_threshold(asked, engine, halves)
    of_count = _tune_count(asked, engine, halves, below)
    title = f"made from {len(halves[0]):,} questions, judged on {len(halves[1]):,} others"
    return Tuned([title, of_rows, of_threshold, of_count], below, rows)


def split(
    questions: Sequence[JudgedQuestion],
) -> tuple[list[JudgedQuestion], list[JudgedQuestion]]:
    """Return the two halves of some questions, the first of each that are one."""
    halves: tuple[dict[str, JudgedQuestion], ...] = ({}, {})
    for question in questions:
        words = _find_words(question.query)
        half = sha256(words.encode("utf-8", "replace")).digest()[0] % 2
        halves[half].setdefault(words, question)
    return list(halves[0].values()), list(halves[1].values())


def _find_words(query: str) -> str:
    """Return what tells one question from another: its terms without numbers, in order."""
    terms = sorted({term for term in analyse_terms(query) if not _NUMBER.search(term)})
    return " ".join(terms) or query.strip().casefold()


def measure(questions: Sequence[JudgedQuestion], search: Search) -> list[float]:
    """Return what each answer is worth: the share of its tools; 1 for nothing where none fits."""
    return [_judge(question, search(question)) for question in questions]


def _judge(question: JudgedQuestion, names: Sequence[str]) -> float:
    if not question.tools:
        return float(not names)
    return sum(name in names for name in question.tools) / len(question.tools)


def compare(before: Sequence[float], after: Sequence[float]) -> Gain:
    """Return the gain of pairs of figures."""
    differences = [new - old for old, new in zip(before, after, strict=True)]
    error = stdev(differences) / math.sqrt(len(differences))
    return Gain(fmean(before), fmean(after), error)


Halves = tuple[Sequence[JudgedQuestion], Sequence[JudgedQuestion]]


def _tune_threshold(asked: Tuning, engine: Engine, halves: Halves) -> tuple[float | None, str]:
    """Return the best `no_match_below` if it gains, and a line about it."""
    if not any(question.tools == () for half in halves for question in half):
        return None, "no_match_below: needs questions that no tool answers; keep"

    def value(half: Sequence[JudgedQuestion], below: float) -> list[float]:
        def search(question: JudgedQuestion) -> Sequence[str]:
            return engine.search(question.query, asked.top_k, no_match_below=below).names

        return measure(half, search)

    mine, others = halves
    now = asked.no_match_below
    best = max((now, *THRESHOLDS), key=lambda below: fmean(value(mine, below)))
    gain = compare(value(others, now), value(others, best))
    line = f"no_match_below {now:.2f} to {best:.2f}: right answers {_write(gain)}"
    return (best if gain.is_sure else None), line


def _tune_count(asked: Tuning, engine: Engine, halves: Halves, below: float | None) -> str:
    """Return a line about the fewest tools that lose nearly none."""
    limit = asked.no_match_below if below is None else below

    def value(half: Sequence[JudgedQuestion], count: int) -> list[float]:
        def search(question: JudgedQuestion) -> Sequence[str]:
            return engine.search(question.query, count, no_match_below=limit).names

        return measure([question for question in half if question.tools], search)

    mine, others = halves
    top_k = asked.top_k
    all_found = value(mine, top_k)
    if not any(all_found) or len(value(others, top_k)) < MIN_HALF:
        return f"top_k {top_k}: too few tools are found to say; keep"
    needed = fmean(all_found) - MAX_LOST
    enough = (count for count in range(1, top_k) if fmean(value(mine, count)) >= needed)
    fewest = next(enough, top_k)
    if fewest == top_k:
        return f"top_k {top_k}: fewer lose more than {MAX_LOST:.0%}; keep"
    gain = compare(value(others, top_k), value(others, fewest))
    is_cheap = gain.after - ERRORS * gain.error >= gain.before - ERRORS * MAX_LOST
    verdict = "enough, for callers to ask for" if is_cheap else "may lose too much, keep"
    return f"top_k {top_k} to {fewest}: recall {_write_change(gain)}; {verdict}"


def _tune_rows(asked: Tuning, halves: Halves) -> tuple[str, str]:
    """Return overlay rows of what is missed, if they gain, and a line about them."""
    mine, others = halves
    engine = asked.make_engine()
    rows = merge_suggestions(_find_missed(asked, engine, mine))
    if not rows:
        return "", "overlay rows: nothing is missed; keep"
    text = "\n".join(row.as_toml() for row in rows)

    def value(of: Engine) -> list[float]:
        return measure(others, lambda question: of.search(question.query, asked.top_k).names)

    gain = compare(value(engine), value(asked.make_engine(text)))
    line = f"overlay rows for {write_count(len(rows), 'tool')}: right answers {_write(gain)}"
    return (text if gain.is_sure else ""), line


def _find_missed(
    asked: Tuning, engine: Engine, questions: Sequence[JudgedQuestion]
) -> Iterator[Suggestion]:
    for question in questions:
        names = engine.search(question.query, asked.top_k).names
        for tool in question.tools:
            if tool not in names and len(question.query) <= EXAMPLE_CHARS:
                yield Suggestion(asked.tenant, tool, question.query, "missed")


def _write(gain: Gain) -> str:
    return f"{_write_change(gain)}; {'worth it' if gain.is_sure else 'no gain, keep'}"


def _write_change(gain: Gain) -> str:
    change = gain.after - gain.before
    return f"{gain.before:.3f} to {gain.after:.3f} ({change:+.3f} ± {gain.error:.3f})"


def write_files(folder: Path, tuned: Tuned) -> list[Path]:
    """Write what is worth changing as `toolscout.toml` and `overlay.toml`; return their paths."""
    settings = []
    files = {}
    if tuned.no_match_below is not None:
        settings.append(f"no_match_below = {tuned.no_match_below}\n")
    if tuned.rows:
        overlay = (folder / "overlay.toml").resolve()
        settings.append(f"overlay = {quote_toml(str(overlay))}\n")
        files["overlay.toml"] = tuned.rows
    if settings:
        files["toolscout.toml"] = "".join(settings)
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    return [folder / name for name in files]


def prepare_folder(folder: Path) -> None:
    """Make a folder to write to, unless it is there, and check that nothing is overwritten.

    Raises:
        ConfigurationError: it cannot be made or written to, or a file is there already.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"tune: cannot make {folder}: {error.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise ConfigurationError(f"tune: cannot write to {folder}")
    for name in ("toolscout.toml", "overlay.toml"):
        if (folder / name).exists():
            raise ConfigurationError(f"tune: {folder / name} is there already; name another folder")
