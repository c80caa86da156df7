"""Words the tools do not use, and words they would use instead.

Three ways to widen a query, each weighing less than a literal hit: synonyms, for every term;
the beginnings of words, and corrected typing, for words that no tool has.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import permutations

import msgspec

from toolscout import data
from toolscout.contract.answers import Via
from toolscout.index.bm25 import Postings
from toolscout.text.query import Query, QueryTerm
from toolscout.text.tokens import analyse_word, fold

SYNONYM_WEIGHT = 0.1
"""What a synonym counts in the ranking beside the word itself."""

LONE_SYNONYM_WEIGHT = 0.4
"""What a synonym counts where no tool has the word itself."""

MEANT_WEIGHT = 0.9
"""What the meaning of a verb counts."""

LITERAL_VERB_WEIGHT = 0.3
"""What a verb counts beside its meaning: "file a bug" is about no file."""

PREFIX_WEIGHT = 0.5
"""What a longer word counts that begins like the one asked for."""

FUZZY_WEIGHT = 0.6
"""What a corrected word counts at one edit; half of it at two, a third at three."""

CREDIT = {Via.SYNONYM: 0.5, Via.PREFIX: 0.7, Via.FUZZY: 0.8}
"""How much of a word is covered by its stand-in, when it comes to whether anything fits."""

MIN_PREFIX = 3
MIN_FUZZY = 4
"""Characters below which a word is too short to complete or to correct."""


_JOINTS = re.compile("[_-]")

Synonyms = Mapping[str, tuple[str, ...]]
"""For each term the terms that may stand for it."""


def expand(
    query: Query,
    postings: Postings,
    is_word: Callable[[str], bool],
    synonyms: Synonyms | None = None,
) -> Query:
    """Add the alternatives that the catalog can answer.

    `is_word` tells words of the language from mistyped ones: "berlin" is not corrected to
    "merlin", however near that is. `synonyms` take the place of the bundled ones.
    """
    rarity_of = postings.find_rarity
    related = load_synonym_terms() if synonyms is None else synonyms
    stand_ins: dict[str, QueryTerm] = {}
    terms = _add_senses(query, rarity_of, stand_ins) if query.meanings else query.terms
    unknown: list[QueryTerm] = []
    something_known = False
    for term in terms:
        rarity = rarity_of(term.term)
        share = SYNONYM_WEIGHT
        if rarity is None:
            rarity = postings.idf_unseen
            share = LONE_SYNONYM_WEIGHT
            if _is_whole_word(term):
                unknown.append(term)
        elif term.weight >= 1.0:
            something_known = True
        if term.term in related:
            for synonym in postings.find_related(term.term, related[term.term]):
                _keep(stand_ins, synonym, term, Via.SYNONYM, share, term.weight * rarity)
    for term in unknown:
        worth = term.weight * postings.idf_unseen
        for spelling, via, weight in find_spellings(term, postings, is_word, not something_known):
            _keep(stand_ins, spelling, term, via, weight, worth)
    if stand_ins:
        for term in terms:
            stand_ins.pop(term.term, None)
    if not stand_ins:
        return query
    return msgspec.structs.replace(query, terms=(*terms, *stand_ins.values()))


def _add_senses(
    query: Query, rarity_of: Callable[[str], float | None], stand_ins: dict[str, QueryTerm]
) -> tuple[QueryTerm, ...]:
    """Add what verbs mean where the catalog has a word for it, and let the verbs weigh less."""
    terms = list(query.terms)
    for place, term in enumerate(terms):
        meaning = query.meanings.get(term.term, ())
        present = [meant for meant in meaning if rarity_of(meant) is not None]
        for meant in present:
            worth = term.weight * (rarity_of(term.term) or 0.0)
            _keep(stand_ins, meant, term, Via.SYNONYM, MEANT_WEIGHT / len(meaning), worth)
        if present:
            terms[place] = msgspec.structs.replace(term, weight=term.weight * LITERAL_VERB_WEIGHT)
    return tuple(terms)


def find_spellings(
    term: QueryTerm, postings: Postings, is_word: Callable[[str], bool], last_resort: bool
) -> Iterator[tuple[str, Via, float]]:
    """Longer words and corrected ones for a word that no tool has, with their weights."""
    written = fold(term.word)
    real = is_word(term.word)
    if len(written) >= MIN_PREFIX and not written.isdecimal() and (last_resort or not real):
        for longer in postings.vocabulary.find_by_prefix(written):
            yield longer, Via.PREFIX, PREFIX_WEIGHT
    if len(written) >= MIN_FUZZY and not real and written.isalpha():
        for near, edits in postings.vocabulary.find_corrections(written, term.term):
            yield near, Via.FUZZY, FUZZY_WEIGHT / max(edits, 1)


def _keep(
    stand_ins: dict[str, QueryTerm],
    stand_in: str,
    term: QueryTerm,
    via: Via,
    weight: float,
    worth: float,
) -> None:
    """Note a stand-in; of two for the same term the heavier stays."""
    earlier = stand_ins.get(stand_in)
    if earlier is None or earlier.weight < term.weight * weight:
        covered = CREDIT[via] * worth
        stand_ins[stand_in] = QueryTerm(stand_in, term.weight * weight, term.word, via, covered)


def _is_whole_word(term: QueryTerm) -> bool:
    """Only words as written are completed or corrected, not the parts of identifiers."""
    return term.term in analyse_word(term.word)[-1:] and term.weight >= 1.0


@cache
def load_synonym_terms() -> Synonyms:
    """For each term its synonyms, from the bundled groups; symmetric."""
    topics = [topic for group in data.load("synonyms").values() for topic in group.values()]
    return make_symmetric(line for topic in topics for line in topic)


def make_symmetric(groups: Iterable[str]) -> Synonyms:
    """Every word of a group for every other; words of a group have blanks between them.

    What is written with `_` or `-` is one word.
    """
    related: dict[str, dict[str, None]] = {}
    for group in groups:
        terms = {analyse_word(_JOINTS.sub("", word))[-1]: None for word in group.split()}
        for term, other in permutations(terms, 2):
            related.setdefault(term, {})[other] = None
    return {term: tuple(others) for term, others in related.items()}
