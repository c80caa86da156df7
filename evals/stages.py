"""What each stage of the ranking costs, what it changes, and what it earns.

Every row switches one thing off, without a switch in the service: it replaces attributes of the
service's modules, in this process and for as long as it is measured. An attribute that no longer
exists is an error.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import fmean
from time import process_time
from typing import Any, NamedTuple
from unittest.mock import patch

from tqdm import tqdm

from evals import metrics, paired, report
from evals.rankers import Ours
from evals.run import limited
from evals.sets import GROUPS, Question, ToolSet, load_set
from toolscout.index import expand, names, words
from toolscout.ranking import coverage, fuse, judge, prerequisites, scorers
from toolscout.ranking import passages as long_requests
from toolscout.ranking.native import extension
from toolscout.text import everyday, passages, query, senses, tokens

TIMED = "vendors"
"""The group whose first set is timed."""

MEASURES = ("nDCG@5", "P@1", "R@5")
PER_SET = 500
"""Questions of a set."""
ROUNDS = 9
"""How often each question of the first set is timed; its quickest round counts."""
NEVER = 10**9
"""A length that no word has."""


class Switch(NamedTuple):
    """One row: what is replaced to switch a thing off."""

    title: str
    changes: Sequence[tuple[Any, str, Any]]

    @contextmanager
    def off(self) -> Iterator[None]:
        """Make the changes and undo them; what was remembered under either is forgotten."""
        with ExitStack() as stack:
            stack.callback(_forget)
            for owner, attribute, value in self.changes:
                stack.enter_context(patch.object(owner, attribute, value))
            _forget()
            yield


def _forget() -> None:
    """Empty the process-wide caches of the rankers, which hold what a switch changes."""
    tokens._terms_of.clear()
    for name, module in list(sys.modules.items()):
        if name.startswith("toolscout."):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


SWITCHES = (
    Switch("expansion", ((expand, "expand", lambda query, *_: query),)),
    Switch("· synonyms", ((expand, "load_synonym_terms", dict),)),
    Switch("· typing errors", ((expand, "MIN_FUZZY", NEVER),)),
    Switch("· beginnings of words", ((expand, "MIN_PREFIX", NEVER),)),
    Switch("whole names in the question", ((scorers, "WHOLE_NAME", 0.0),)),
    Switch("senses of verbs", ((senses, "_load_senses", lambda: ({}, frozenset())),)),
    Switch("names to the letter", ((names.NameIndex, "mentions", lambda *_: []),)),
    Switch("values weigh little", ((query, "_drop_values", lambda text, _: text),)),
    Switch("pasted material", ((passages, "strip_pasted", lambda text: text),)),
    Switch("sentences of long requests", ((long_requests, "LONG_CHARS", NEVER),)),
    Switch("sentences by themselves", ((query, "split_sentences", lambda _: ()),)),
    Switch("what is quoted", ((query, "drop_names_of_things", lambda text: text),)),
    Switch("what is ruled out", ((query, "strip_negated", lambda text: text),)),
    Switch("plain BM25", ((fuse, "PLAIN_SHARE", 0.0),)),
    Switch("several wishes", ((coverage, "split_clauses", lambda _: ()),)),
    Switch("prerequisites", ((prerequisites, "_find_finders", lambda _: ()),)),
    Switch("words as far as they are said", ((scorers, "_share_words", lambda *_: 1.0),)),
    Switch("familiarity", ((words.Words, "familiarity", lambda *_: 1.0),)),
    Switch("judging", ((judge, "judge", lambda *_: "match"),)),
    Switch(
        "dictionary of other languages",
        ((words.WordTables, "_split", lambda self, _: self._words),),
    ),
    Switch("everyday words of other languages", ((everyday, "translate", lambda *_: None),)),
    Switch("scores by words", ((fuse, "sum_weighted", lambda _, cosine, by, __: cosine * by),)),
)


class Row(NamedTuple):
    """What one switch changes."""

    title: str
    cost: float
    """Microseconds of CPU that a decision saves with it off."""
    differences: Mapping[str, Sequence["Difference"]]
    """By the group whose words the sets have."""


class Difference(NamedTuple):
    """The answers to the questions of one set, with and without."""

    changed: float
    """Share of the questions whose first five names differ, or their order."""
    measures: Sequence[paired.Change]


def report_of(folder: Path, model: str, limit: int | None) -> tuple[str, Any]:
    """Return the table as Markdown, and every figure."""
    extension.switch(is_on=False)  # what is replaced is Python's
    ours = Ours("hybrid", model)
    dev = folder / "toolsets" / "dev"
    asked = {
        group: [_Asked(ours, load_set(dev / name), limit or PER_SET) for name in names]
        for group, names in GROUPS.items()
    }
    rows = []
    for switch in tqdm(SWITCHES, desc="stages", unit="stage", disable=None):
        with switch.off():
            differences = {
                group: [one.difference() for one in sets] for group, sets in asked.items()
            }
        rows.append(Row(switch.title, _cost(switch, asked[TIMED][0]), differences))
    return _table(asked, rows), [row._asdict() for row in rows]


class _Asked:
    """One set with its questions, and what they are answered as shipped."""

    def __init__(self, ours: Ours, asked: ToolSet, limit: int) -> None:
        self._search = ours(asked.tools)
        self.questions = limited(asked.questions, limit)
        self.answers = self._answer()

    def _answer(self) -> list[list[str]]:
        return [self._search(one.text, metrics.SHORT).names for one in self.questions]

    def seconds(self) -> list[float]:
        """Return the CPU time of answering each question."""
        return [self._seconds(one) for one in self.questions]

    def _seconds(self, question: Question) -> float:
        began = process_time()
        self._search(question.text, metrics.SHORT)
        return process_time() - began

    def difference(self) -> Difference:
        """Compare the answers of now with those as shipped."""
        answers = self._answer()
        changed = fmean(map(list.__ne__, self.answers, answers))
        before, after = (metrics.each(self.questions, each) for each in (self.answers, answers))
        pairs = ((before[measure], after[measure]) for measure in MEASURES)
        return Difference(changed, [paired.change(*pair) for pair in pairs])

    def mean(self, measure: str) -> float:
        """Return a measure of the answers as shipped."""
        return fmean(metrics.each(self.questions, self.answers)[measure])


def _cost(switch: Switch, asked: _Asked) -> float:
    """Return the microseconds that a decision takes less with a switch off, in turns with it on.

    Each question counts with its quickest round, on and off.
    """
    on, off = [], []
    asked.seconds()
    for _ in range(ROUNDS):
        on.append(asked.seconds())
        with switch.off():
            asked.seconds()
            off.append(asked.seconds())
        asked.seconds()
    return (fmean(map(min, zip(*on, strict=True))) - fmean(map(min, zip(*off, strict=True)))) * 1e6


def _table(asked: Mapping[str, Sequence[_Asked]], rows: Sequence[Row]) -> str:
    """Write what each switch changes in nDCG@5, for each group."""
    means = {group: fmean(one.mean(MEASURES[0]) for one in sets) for group, sets in asked.items()}
    titles = [f"{group}: {MEASURES[0]} ({mean:.3f})" for group, mean in means.items()]
    cells = [[row.title, f"{row.cost:.0f}", *map(_mean, row.differences.values())] for row in rows]
    return report.table(["switched off", "µs", *titles], cells, markdown=True)


def _mean(found: Sequence[Difference]) -> str:
    return str(paired.over_group([one.measures[0] for one in found]))
