"""Analyse a query once: its words, and its weighted terms."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache

import msgspec

from toolscout import data
from toolscout.contract.answers import Via
from toolscout.text import everyday, passages, senses
from toolscout.text.conversation import Earlier
from toolscout.text.everyday import Known
from toolscout.text.negations import strip_negated
from toolscout.text.tokens import (
    MAX_QUERY_WORDS,
    MAX_WORD,
    analyse_word,
    is_cjk,
    normalise,
    split_words,
)

_VALUE = re.compile(
    r"(?<![\w./@:~-])\w*[a-z]\w*/\w+(?:-\w+)+(?![\w/-]|\.\w)"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|\b0x[0-9a-fA-F]{6,}\b|\b[0-9a-fA-F]{12,}\b|\b[0-9a-fA-F]{8}-[0-9a-fA-F-]{20,}\b"
)
"""What names something and says nothing of it: a slug (OWNER/SOME-NAME, not a/b of two plain words,
which may be alternatives), an e-mail address, a number in hexadecimal digits."""

_MAY_HAVE_VALUES = re.compile(r"[/@\d]")

TELLING_OTHERS = 2
"""Words that tell, beside a value, from which the value only names something."""

_MAY_BE_QUOTED = re.compile(r"[\"'`“„«‘]")

_QUOTED = re.compile(
    r'"[^"\n]{1,400}"|“[^”\n]{1,400}”|„[^“”\n]{1,400}[“”]|«[^»\n]{1,400}»|`[^`\n]{1,400}`'
    r"|(?<!\w)['‘][^'’\n]{2,400}['’](?!\w)"
)
"""Text in quotes is what something is called, or what is to be written: it is not embedded. Its
words count as ever."""

MAX_SENTENCES = 12
"""Sentences that are embedded by themselves."""

LEAST_WORDS = 3
"""Words of one; "Thanks!" says nothing by itself."""

_MAY_END = re.compile(r"[.!?…。！？\n].")

_PLACEHOLDERS = re.compile(r"<[^<>]*>")

STOP_WEIGHT = 0.15
"""Weight of a stop word: enough to break ties, too little to rank."""

BIGRAMS_OF_WORD = 4
"""Bigrams of a word in a script without spaces; a run of more characters is a clause of several
words, which weighs more than one. Chosen on Chinese and Korean sets: with 3 Korean loses .001, and
without a limit words alone lose .055 nDCG@5 in Chinese.
"""

ASKING_WEIGHT = 0.5
"""Weight of words such as "get" or "find", which requests and tools' names have in common."""


class QueryTerm(msgspec.Struct, frozen=True, gc=False):
    """One term to look up, with its weight and the word it came from."""

    term: str
    weight: float
    word: str
    via: Via | None = None
    """How it was derived from the word; None when it is the word's own term."""
    credit: float = 0.0
    """For a derived term: weight times idf of the word that it replaces."""


class Query(msgspec.Struct, frozen=True, gc=False):
    """An analysed pattern. Equal words count once, so repeating one changes nothing."""

    text: str
    terms: tuple[QueryTerm, ...]
    embedding_words: tuple[str, ...]
    """The words to embed."""
    sentences: tuple[tuple[str, ...], ...] = ()
    """Those of each sentence, where there are several."""
    unspaced: float = 0.0
    """Share of letters in scripts without spaces between words, 0 to 1."""
    resolved_text: str = ""
    """The text with verbs replaced by what they mean in it."""
    meanings: Mapping[str, tuple[str, ...]] = {}
    """From a verb to its meaning here, both as terms."""
    earlier: tuple[tuple[tuple[str, ...], float], ...] = ()
    """The words of what was said before, with their weights."""
    spoken: "Query | None" = None
    """The question in its own language, where this is its translation: experience knows it so."""
    hashed: Mapping[int, float] | None = None
    """The weights of its own terms by their hashes, as `pattern_vectors` adds them up, if known."""
    may_divide: bool = True
    """Whether the text may have several clauses; False where it is known that it has one."""


def analyse(pattern: str, earlier: Iterable[Earlier] = (), is_known: Known | None = None) -> Query:
    """Split a pattern into weighted terms, and add those of what was said before.

    Stop words weigh little, unless the query is made of nothing else. If it is given which terms
    tools have, everyday words of other languages are read as English ones.
    """
    query = _analyse(pattern, is_known)
    return _add_earlier(query, earlier, is_known) if earlier else query


def _add_earlier(query: Query, earlier: Iterable[Earlier], is_known: Known | None = None) -> Query:
    """Add terms of earlier texts at their weight; a term counts once, by its highest weight."""
    terms = {term.term: term for term in query.terms}
    before: list[tuple[tuple[str, ...], float]] = []
    for text, weight in earlier:
        spoken_before = _analyse(text, is_known)
        for term in spoken_before.terms:
            lighter = msgspec.structs.replace(term, weight=term.weight * weight)
            present = terms.get(term.term)
            if present is None or present.weight < lighter.weight:
                terms[term.term] = lighter
        before.append((spoken_before.embedding_words, weight))
    spoken = query.spoken and _add_earlier(query.spoken, earlier)
    return msgspec.structs.replace(
        query, terms=tuple(terms.values()), earlier=tuple(before), spoken=spoken
    )


def _analyse(pattern: str, is_known: Known | None = None) -> Query:
    text = strip_negated(normalise(pattern.strip()))
    text_words = split_words(text)
    if is_known is not None and (translation := everyday.translate(text, text_words, is_known)):
        return _analyse_translation(_analyse(pattern), translation)
    distinct = dict.fromkeys(text_words)
    if len(text) > MAX_WORD:
        distinct = dict.fromkeys([word[:MAX_WORD] for word in distinct][:MAX_QUERY_WORDS])
    read = list(map(_weigh_word, distinct))
    heaviest = max((weight for weight, _ in read), default=1.0)
    if heaviest < 1.0:  # stop words alone
        read = [_weigh_word(word, 1.0 / heaviest) for word in distinct]
    terms: dict[str, QueryTerm] = {}
    for _, of_word in read:
        for term in of_word:
            present = terms.get(term.term)
            if present is None or present.weight < term.weight:
                terms[term.term] = term
    resolved, meanings = senses.read(_drop_values(text, terms))
    told = drop_names_of_things(resolved)
    if told != text:
        text_words = split_words(told)
    return Query(
        text,
        tuple(terms.values()),
        tuple(text_words[:MAX_QUERY_WORDS]),
        split_sentences(told),
        measure_unspaced(text, distinct),
        resolved,
        meanings,
    )


def _analyse_translation(spoken: Query, translation: everyday.Translation) -> Query:
    """Analyse a translation beside the text itself, for tools may be described in its language.

    What is whole and not said by tools counts twice in meaning, for English is what the model
    knows; of a sentence with words that are left, those are all that the text itself adds.
    """
    query = _analyse(translation.english)
    is_whole = translation.is_whole
    is_said = translation.is_said
    own_terms = spoken.terms if is_whole or is_said else ()
    twice = query.embedding_words if is_whole and not is_said else ()
    return msgspec.structs.replace(
        query,
        text=spoken.text,
        terms=tuple({term.term: term for term in (*own_terms, *query.terms)}.values()),
        embedding_words=(*spoken.embedding_words, *twice, *query.embedding_words),
        spoken=spoken,
    )


def _drop_values(text: str, terms: dict[str, QueryTerm]) -> str:
    """Return a text without values, whose terms then weigh little: they name what is meant.

    Where the text has fewer than `TELLING_OTHERS` other words that tell, the value may be what
    asks.
    """
    rest = strip_values(text)
    if rest is None:
        return text
    others = {term for word in split_words(rest) for term in analyse_word(word)}
    if sum(terms[term].weight >= 1.0 for term in others if term in terms) < TELLING_OTHERS:
        return text
    for term in terms.keys() - others:
        weight = terms[term].weight * STOP_WEIGHT
        terms[term] = msgspec.structs.replace(terms[term], weight=weight)
    return rest


def strip_values(text: str) -> str | None:
    """Return a text without what only names something; None where it has nothing such."""
    # Piece by piece, which takes a fifth of the time: hardly one of a long text may have a value.
    if not any(map(_VALUE.search, filter(_MAY_HAVE_VALUES.search, text.split()))):
        return None
    return _VALUE.sub(" ", text)


def find_telling_terms(word: str) -> tuple[QueryTerm, ...]:
    """Return the weighted terms of a word; none of a stop word."""
    weight, terms = _weigh_word(word[:MAX_WORD])
    return terms if weight > STOP_WEIGHT else ()


@lru_cache(maxsize=65_536)
def _weigh_word(word: str, scale: float = 1.0) -> tuple[float, tuple[QueryTerm, ...]]:
    """Return the weight of a word, and its terms.

    The parts and the whole of an identifier, or the bigrams of a word, overlap: together they weigh
    little more than one word.
    """
    weight = load_word_weights().get(word.lower(), 1.0)
    parts = analyse_word(word)
    share = weight * scale
    if count := count_parts(word, parts):
        share = share * 2.0 / (count + 1.0)
    return weight, tuple(QueryTerm(part, share, word) for part in parts)


def count_parts(word: str, parts: Sequence[str]) -> int:
    """Return as how many parts the terms of a word count; 0 for a single one."""
    if len(parts) < 2:
        return 0
    return min(len(parts), BIGRAMS_OF_WORD) if is_cjk(word[0]) else len(parts)


def measure_unspaced(text: str, text_words: Iterable[str]) -> float:
    """Return the share of a text's letters in scripts without spaces, given its distinct words."""
    if text.isascii():
        return 0.0
    letters = "".join(text_words)
    return sum(map(is_cjk, letters)) / len(letters) if letters else 0.0


def drop_names_of_things(text: str) -> str:
    """Return a text without `<placeholders>` and what is quoted, unless that is what asks."""
    told = _PLACEHOLDERS.sub(" ", text) if "<" in text else text
    if not _MAY_BE_QUOTED.search(told):
        return told
    rest = _QUOTED.sub(" ", told)
    return rest if _count_telling(rest) >= TELLING_OTHERS else told


def _count_telling(text: str) -> int:
    lighter = load_word_weights()
    return sum(word.lower() not in lighter for word in split_words(text))


def split_sentences(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the words of each sentence of a text; nothing for a single one."""
    if not _MAY_END.search(text):
        return ()
    found = tuple(map(tuple, map(split_words, passages.split_sentences(text)[:MAX_SENTENCES])))
    long_enough = tuple(one for one in found if len(one) >= LEAST_WORDS)
    return long_enough if len(long_enough) > 1 else ()


def load_telling_terms(query: Query) -> list[str]:
    """Return the informative terms: no stop words, courtesy or words of asking."""
    lighter = load_word_weights()
    return [
        term.term
        for term in query.terms
        if term.via is None and term.word.lower() not in lighter and term.term not in lighter
    ]


def find_literal_terms(query: Query) -> list[str]:
    """Return the terms of full weight that the query itself has: no stand-in, no earlier turn."""
    return [term.term for term in query.terms if term.via is None and term.weight >= 1.0]


def is_unknown(query: Query, is_known: Known) -> bool:
    """Whether tools have less than half of a query's telling words.

    It may be in another language; of a mistyped request they have the words that are right.
    """
    telling = find_literal_terms(query)
    return 2 * sum(map(is_known, telling)) < len(telling)


@cache
def load_word_weights() -> dict[str, float]:
    """Return the weights of function words, courtesy and words of asking, lower case."""
    words_of = {kind: text.split() for kind, text in data.load("stopwords").items()}
    weights = dict.fromkeys(words_of["asking"], ASKING_WEIGHT)
    weights.update(dict.fromkeys(words_of["function"] + words_of["courtesy"], STOP_WEIGHT))
    return weights
