"""The first stages of the pipeline: which tools may be selected, and the evidence for each."""

from collections.abc import Callable, Iterable
from functools import partial, wraps

import numpy as np
from msgspec.structs import replace

from toolscout.index import lines
from toolscout.index.embedder import Embedder, QueryVectors
from toolscout.index.facets import Allowed
from toolscout.index.lines import Scan
from toolscout.index.names import add_whole_name
from toolscout.index.source import Source
from toolscout.ranking.ask import Ranking
from toolscout.ranking.experience import add_experience
from toolscout.ranking.fuse import sink_others
from toolscout.ranking.native.joining import find_mentions, join
from toolscout.ranking.passages import find_asking_sentences
from toolscout.ranking.scorers import SCORERS, fuse_evidence
from toolscout.text import regex
from toolscout.text.passages import find_readable_part
from toolscout.text.query import Query, analyse, is_unknown

Stage = Callable[[Ranking], Ranking]

NO_VECTORS = "no vectors yet"
"""Note of a ranking by words because the embeddings of a catalog are still being made."""


def allow(ranking: Ranking) -> Ranking:
    """Find the tools that may be selected, and the pins and the chain among them."""
    ask = ranking.ask
    source = ranking.source
    chain = ranking.chain
    allowed = source.allowed(ask.filters, ask.pattern, ask.always_keep, ask.top_k)
    following = chain.names if chain is not None and chain.is_sure else ()
    pins = [source.names[row] for row in source.adjusted.pinned]
    if allowed is None and not ask.always_keep and not following and not pins:
        return ranking
    rows = partial(_find_rows, source, allowed)
    lost = tuple([name for name in ask.always_keep if name not in source.rows])
    return replace(
        ranking,
        allowed=allowed,
        pinned=rows([*ask.always_keep, *pins]),
        unknown_pins=lost,
        following=rows(following),
    )


def read(ranking: Ranking) -> Ranking:
    """Choose the ranker, and analyse the pattern."""
    ask = ranking.ask
    source = ranking.source
    embedder = ranking.embedder
    scan = ranking.scan
    ranker = ranking.degraded or ask.ranker
    note = None if scan is None else scan.note
    if ranker in ("auto", "regex"):
        matched = _find_matched(scan, ranking.allowed)
        if matched:
            query = analyse(regex.find_literal_words(ask.expression))
            return replace(ranking, ranker="regex", query=query, matched=matched)
        if scan is not None:
            note = note or lines.NO_HIT
        ranker = "hybrid" if ranker == "auto" else "keyword"
    text = find_asking_sentences(find_readable_part(ask.pattern), source, embedder, ranking.allowed)
    query = analyse(text, ranking.earlier, source.has_term)
    degraded = ranking.degraded
    has_vectors = embedder is not None and source.vectors is not None
    if SCORERS[ranker].meaning and source.names and not has_vectors:
        ranker = "bm25"
        note = NO_VECTORS
        degraded = degraded or ranker
    return replace(ranking, ranker=ranker, query=query, note=note, degraded=degraded)


def expand(ranking: Ranking) -> Ranking:
    """Add synonyms, completions and corrections, if the ranker uses them."""
    scorer = SCORERS[ranking.ranker]
    embedder = ranking.embedder
    if not scorer.words or scorer.is_literal:
        return ranking
    is_word = embedder.is_word if embedder else _know_no_word
    return replace(ranking, query=ranking.source.expand(ranking.query, is_word))


def by_words(ranking: Ranking) -> Ranking:
    """Compute the evidence of words."""
    words = SCORERS[ranking.ranker].words
    return replace(ranking, lexical=words(ranking.source, ranking.query)) if words else ranking


def embed(query: Query, source: Source, embedder: Embedder) -> QueryVectors | None:
    """Return the vectors of a query, with those of it as it was said; None if nothing is known."""
    is_strange = query.spoken is None and is_unknown(query, source.has_term)
    of_query = embedder.query(
        query.embedding_words, query.earlier, query.sentences, is_strange=is_strange
    )
    if of_query is None or (spoken := query.spoken) is None:
        return of_query
    return replace(of_query, spoken=embedder.query(spoken.embedding_words, spoken.earlier))


def by_meaning(ranking: Ranking) -> Ranking:
    """Compute the evidence of meaning."""
    embedder = ranking.embedder
    vectors = ranking.source.vectors
    query = ranking.query
    if not SCORERS[ranking.ranker].meaning or embedder is None or vectors is None:
        return ranking
    of_query = embed(query, ranking.source, embedder)
    if of_query is None:
        return replace(ranking, vectors=None, cosine=None, whole=None, familiarity=0.0)
    cosine, whole = vectors.similarities(of_query)
    note = ranking.note
    if embedder.encoder is not None and query.spoken is None and not of_query.is_foreign:
        text = " ".join(query.embedding_words)
        cosine, unread = embedder.encoder.blend(cosine, ranking.source, text)
        if unread is not None:
            of_query = replace(of_query, unread=unread)
            note = note or unread.note
    return replace(
        ranking,
        vectors=of_query,
        cosine=cosine,
        whole=whole,
        familiarity=of_query.familiarity,
        note=note,
    )


def by_experience(ranking: Ranking) -> Ranking:
    """Look up the experience with similar queries."""
    if ranking.prior is None or ranking.ranker != "hybrid":
        return ranking
    learned = ranking.prior.of(ranking.query, ranking.vectors)
    if learned is None or not learned.barred:
        return replace(ranking, learned=learned)
    served = np.ones(len(ranking.source), np.bool_)
    served[list(learned.barred)] = False
    allowed = served if ranking.allowed is None else ranking.allowed & served
    return replace(ranking, learned=learned, allowed=allowed)


def _unless_joined(stage: Stage) -> Stage:
    """Return a stage that passes what the native one has answered."""

    @wraps(stage)
    def pass_joined(ranking: Ranking) -> Ranking:
        return ranking if ranking.is_joined else stage(ranking)

    return pass_joined


EVIDENCE = (join, *map(_unless_joined, (read, expand, by_words, by_meaning)), by_experience)
"""The stages that compute the evidence for each tool; short ones, so that the code of each stays in
the processor's caches while several questions are decided together."""


def exclude(ranking: Ranking) -> Ranking:
    """Remove the evidence of tools that are not allowed, before fusion."""
    allowed = ranking.allowed
    lexical = ranking.lexical
    learned = ranking.learned
    if allowed is None:
        return ranking
    cosine = ranking.cosine
    whole = ranking.whole
    if lexical is not None:
        lexical = replace(lexical.times(allowed), covered=lexical.covered * allowed)
    if cosine is not None and whole is not None:
        cosine = sink_others(cosine, allowed)
        whole = np.where(allowed, whole, np.float32(0))
    if learned is not None:
        learned = learned.among(allowed)
    return replace(
        ranking,
        lexical=lexical,
        cosine=cosine,
        whole=whole,
        learned=learned,
    )


def name(ranking: Ranking) -> Ranking:
    """Find the tools that the pattern names."""
    source = ranking.source
    allowed = ranking.allowed
    mentions = find_mentions(ranking)
    mentions = add_whole_name(mentions, ranking.ask.pattern, source.rows)
    if allowed is not None:
        mentions = [mention for mention in mentions if allowed[mention.row]]
    return replace(ranking, mentions=mentions)


def fuse(ranking: Ranking) -> Ranking:
    """Fuse the evidence for each tool into one score."""
    scores = fuse_evidence(ranking)
    if ranking.allowed is not None:
        scores = scores * ranking.allowed
    return add_experience(ranking, scores)


def _find_rows(source: Source, allowed: Allowed | None, names: Iterable[str]) -> tuple[int, ...]:
    rows = [source.rows[name] for name in dict.fromkeys(names) if name in source.rows]
    return tuple(row for row in rows if allowed is None or allowed[row])


def _find_matched(scan: Scan | None, allowed: Allowed | None) -> tuple[int, ...]:
    rows = () if scan is None else scan.rows or ()
    return tuple(row for row in rows if allowed is None or allowed[row])


def _know_no_word(_: str) -> bool:
    """Tell, in place of a model, that no word is known."""
    return False
