"""Tell a text in another language with Latin letters from an English one.

Its letters do not tell, nor does the vocabulary of the model, which has many names. A text is
foreign if more of its words are function words of such a language than of English, and together
with words that the model does not know they are a good part of it.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from toolscout import data
from toolscout.common.spelling import normalise
from toolscout.text.clauses import clauses
from toolscout.text.tokens import words

_STOPS = re.compile(r"[.!?\n]")

STRANGE = 1 / 3
"""Share of a text's words that have to be foreign or unknown."""


@cache
def function_words() -> frozenset[str]:
    """Return the function words, those that do not begin names in capitals, too."""
    found = _foreign() - _english()
    names = frozenset(data.load("foreign")["in_names"].split())
    return frozenset(found | {word.capitalize() for word in found - names})


def parts(text: str) -> Iterator[list[str]]:
    """Yield the words of a text, and of its sentences and clauses, which are looked up alone."""
    for part in (text, *_STOPS.split(text), *clauses(text)):
        yield words(part)


def is_foreign(found: Sequence[str], is_known: Callable[[str], bool]) -> bool:
    """Return whether words are a text in another language with Latin letters.

    `is_known` tells whether the model knows a word as a whole.
    """
    telling = function_words()
    if telling.isdisjoint(found):
        return False
    words = [word for word in dict.fromkeys(found) if word.isalpha()]
    foreign = [word for word in words if word in telling]
    english = sum(word.lower() in _plain_english() for word in words)
    if len(foreign) <= english:
        return False
    strange = sum(word not in telling and not is_known(word) for word in words)
    return len(foreign) + strange > STRANGE * len(words)


@cache
def _english() -> frozenset[str]:
    lists = data.load("stopwords")
    return frozenset(lists["function"].split() + lists["asking"].split())


@cache
def _foreign() -> frozenset[str]:
    texts: dict[str, str] = data.load("foreign")["words"]
    return frozenset(normalise(word) for text in texts.values() for word in text.split())


@cache
def _plain_english() -> frozenset[str]:
    return _english() - _foreign()
