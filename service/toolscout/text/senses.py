"""The sense of a verb by the noun after it: filing a bug means creating it.

Only English verbs, where a request gives an order: at its beginning or after words such as "to",
"please" and "can you". In "list open issues" and "the log file" nothing is opened or logged.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from toolscout import data
from toolscout.text.tokens import analyse_word

_END = r"(?=[.,!?;:\"')]*(?:\s|$))"
"""Of a word: "ticket's" and "task.txt" are other ones."""

_OBJECT = (
    rf"(?=\s+(?:{{nouns}}){_END}"
    rf"|(?:\s+(?!(?:{{breaks}})\b)[\w'-]+){{{{1,3}}}}?\s+(?:{{nouns}})(?:e?s)?{_END})"
)
"""A noun follows, after at most three words. A plural without any is not the verb's object: "open
issues" are issues that are open."""

_IT = r"(?:\s+(?:it|this|that|these|those|them))?"
"""What may stand between a verb and its particle: "turn it up"."""

_PIECES = re.compile(r"\S+")
_MARKS = ".,!?;:\"'()"
_ENDS = (".", "!", "?", ";", ":", ",")
_CHANNEL = re.compile(r"\b(to|in|on|let|tell)\s+#[^\W\d][\w-]*", re.IGNORECASE)
"""A channel of a chat: "send it to #general", "tell #general"."""


class Reading(NamedTuple):
    """A text with verbs replaced by their meanings, and the replaced verbs."""

    text: str
    meanings: Mapping[str, tuple[str, ...]]
    """From a verb with only one sense in the text to its meaning, both as terms."""


def read(text: str) -> Reading:
    """Find the verbs of a text with another sense."""
    if "#" in text:
        text = _CHANNEL.sub(r"\1 channel", text)
    senses, before = _load_senses()
    words = text.lower().split()
    ordered = [
        at for at, word in enumerate(words) if word in senses and _is_order(words, at, before)
    ]
    spans = [piece.span() for piece in _PIECES.finditer(text)] if ordered else []
    pieces = list[str]()
    place = 0
    meanings = dict[str, tuple[str, ...]]()
    for at in ordered:
        start, end = spans[at]
        for after, meaning in senses[words[at]] if start >= place else ():
            if (rest := _compile(after).match(text, end)) is not None:
                pieces += [text[place:start], meaning]
                place = rest.end()
                meanings[_analyse(words[at])[0]] = _analyse(meaning)
                break
    if not meanings:
        return Reading(text, {})
    resolved = "".join([*pieces, text[place:]])
    left = {*_analyse(resolved)}
    return Reading(resolved, {verb: one for verb, one in meanings.items() if verb not in left})


@cache
def _compile(after: str) -> re.Pattern[str]:
    """Compile what follows a verb when it is first met: all of them take longer than a search."""
    return re.compile(after, re.IGNORECASE)


def _is_order(words: Sequence[str], at: int, before: Collection[str]) -> bool:
    """Whether a word stands where an order is given."""
    return at == 0 or words[at - 1] in before or words[at - 1].endswith(_ENDS)


def _analyse(text: str) -> tuple[str, ...]:
    terms_of_words = (analyse_word(word.strip(_MARKS).lower()) for word in text.split())
    return tuple(terms[-1] for terms in terms_of_words if terms)


def load_verbs() -> Collection[str]:
    """Return the forms of all verbs that have another sense."""
    return _load_senses()[0].keys()


@cache
def _load_senses() -> tuple[dict[str, list[tuple[str, str]]], frozenset[str]]:
    """Return by each form of a verb what follows it in a sense, as a pattern, and its meaning.

    The words that an order comes after follow.
    """
    lists = data.load("senses")
    rows = [
        (verb, "", means) for means, verbs in lists["phrases"].items() for verb in verbs.split()
    ]
    breaks = "|".join(lists["words"]["breaks"].split())
    for each in lists["senses"]:
        nouns = "|".join(each["objects"].replace("_", r"\s+").split())
        after = _OBJECT.format(nouns=nouns, breaks=breaks)
        rows += [(verb, after, each["means"]) for verb in each["verbs"].split()]
    senses_of: dict[str, list[tuple[str, str]]] = {}
    for verb, after, means in sorted(rows, key=lambda row: -row[0].count("_")):
        first, *others = verb.split("_")
        particles = "".join(rf"\s+{word}\b" for word in others)
        rest = (_IT if others else "") + particles + after
        for form in (first, first.removesuffix("e") + "ing", f"{first}{first[-1]}ing"):
            senses_of.setdefault(form, []).append((rest, means))
    return senses_of, frozenset(lists["words"]["before"].split())
