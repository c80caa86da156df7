"""Questions that nobody has asked before: real traffic hardly repeats itself, word for word.

They are made of sentences that people wrote, where `TOOLSCOUT_DATA` has some, else of the project's
own: the beginning of one and the end of another, so there is no end of them.
"""

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random

from evals.speed.traffic import PLACES, THINGS, VERBS

LENGTHS = (3, 15, 150)
"""Words: what a model searches for, what a user asks, what a user pastes."""

MOST_SENTENCES = 30_000

MOST_TRIES = 20
"""Questions that are made for one that is new; then it gets a number at its end."""

_OPENINGS = ("please", "before the meeting", "if nobody has done so yet", "as soon as you can")
_ENDINGS = ("and tell me what came of it", "but leave the older ones alone", "for the whole team")


class Questions:
    """Yields questions of so many words, each once."""

    def __init__(self, sentences: list[str], words: int, seed: int = 1) -> None:
        self._words = words
        self._random = Random(seed)
        self._sentences = sentences
        self._asked: set[str] = set()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        """Return the next question."""
        for _ in range(MOST_TRIES):
            first, second = self._part(self._words // 2 + 1), self._part(self._words)
            question = " ".join([*first, *second][: self._words])
            if question not in self._asked:
                break
        else:  # few sentences have few beginnings of a few words
            question = f"{question} {len(self._asked)}"
        self._asked.add(question)
        return question

    def _part(self, words: int) -> list[str]:
        """Return words of consecutive sentences, beginning somewhere."""
        found: list[str] = []
        at = self._random.randrange(len(self._sentences))
        while len(found) < words:
            found += self._sentences[at % len(self._sentences)].split()
            at += 1
        return found[:words]


def sentences(folder: Path) -> tuple[list[str], str]:
    """Return distinct sentences, and whose they are, from the folder that holds `catalogs/`."""
    found = dict.fromkeys(_written(folder / "toolsets"))
    if found:
        kept = Random(0).sample(list(found), min(MOST_SENTENCES, len(found)))
        return kept, f"{len(kept):,} questions of the evaluation sets"
    parts = product(_OPENINGS, VERBS, THINGS, PLACES, _ENDINGS)
    own = [f"{o}, {v} the {t} {p}, {e}" for o, v, t, p, e in parts]
    Random(0).shuffle(own)
    return own, f"{len(own):,} sentences of the project's own"


def _written(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("*/*/*.jsonl")):
        key = {"queries.jsonl": "text", "requests.jsonl": "query"}.get(path.name)
        if key is not None:
            with path.open(encoding="utf-8") as lines:
                yield from (text for line in lines if (text := json.loads(line)[key]).strip())
