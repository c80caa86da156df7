"""The pipeline of one query; `STAGES` lists its stages in order.

Every stage is a pure function: it takes the state of the question and returns it with its results,
so equal questions to equal catalogs with equal experience get equal answers.
"""

from toolscout.index.encoder import is_english
from toolscout.index.lines import Scan
from toolscout.index.source import Source
from toolscout.index.vectors import Embedder, Floats
from toolscout.ranking.ask import Ask, Decision, Prior, Ranking
from toolscout.ranking.choose import Chain
from toolscout.ranking.scoring import allow, exclude, fuse, name, read, score
from toolscout.ranking.selecting import (
    boost,
    choose,
    cover,
    fill,
    judge,
    limit,
    order,
    recall,
    require,
)
from toolscout.text import regex

SCORING = (allow, read, score, exclude, name, fuse)
STAGES = (*SCORING, judge, boost, cover, require, recall, order, fill, limit, choose)


def decide(  # noqa: PLR0913  # everything that a decision is a function of
    source: Source,
    ask: Ask,
    embedder: Embedder | None = None,
    degraded: str | None = None,
    prior: Prior | None = None,
    chain: Chain | None = None,
    scan: Scan | None = None,
    encoder_vector: Floats | None = None,
) -> Decision:
    """Answer a question from a tool list.

    `degraded` is the ranker to run instead of the requested one, when time is short. A list without
    vectors answers `semantic` and `hybrid` by words, with a note. `prior` is the experience, which
    only `hybrid` uses. `chain` is the learned chain to follow. `scan` has the matches of the
    pattern as a regular expression, if it was matched before. `encoder_vector` is the encoder's
    vector of the query, which only `hybrid` uses, and only if the tools are encoded.
    """
    ranking = _begin(source, ask, embedder, degraded, prior, chain, scan, encoder_vector)
    for stage in STAGES:
        ranking = stage(ranking)
    return _decision(ranking)


def rank(
    source: Source, ask: Ask, embedder: Embedder | None = None, degraded: str | None = None
) -> Ranking:
    """Score every tool of a list, and choose none."""
    ranking = _begin(source, ask, embedder, degraded)
    for stage in SCORING:
        ranking = stage(ranking)
    return ranking


def regex_of(ask: Ask) -> str | None:
    """Return the pattern if it is to be matched as a regular expression, else None."""
    if ask.ranker not in ("auto", "regex"):
        return None
    pattern = ask.ranking_part
    return pattern if ask.ranker == "regex" or regex.looks_like_regex(pattern) else None


def is_for_encoder(source: Source, ask: Ask, embedder: Embedder) -> bool:
    """Return whether the encoder can add to the answer to a question, if there is time for it."""
    return (
        source.encoded is not None
        and ask.ranker in ("auto", "hybrid")
        and not ask.earlier  # it would read the last turn alone
        and regex_of(ask) is None
        and is_english(ask.ranking_part, embedder)
    )


def _begin(  # noqa: PLR0913  # as `decide`
    source: Source,
    ask: Ask,
    embedder: Embedder | None,
    degraded: str | None,
    prior: Prior | None = None,
    chain: Chain | None = None,
    scan: Scan | None = None,
    encoder_vector: Floats | None = None,
) -> Ranking:
    degraded = degraded or source.only_ranker
    if scan is None and degraded is None:
        pattern = regex_of(ask)
        scan = None if pattern is None else source.scan(pattern)
    if scan is not None and scan.too_costly:
        degraded = "keyword"
    return Ranking(
        ask=ask,
        source=source,
        embedder=embedder,
        degraded=degraded,
        prior=prior,
        chain=chain,
        scan=scan,
        encoder_vector=encoder_vector,
    )


def _decision(ranking: Ranking) -> Decision:
    rows = ranking.ranked + ranking.last
    members, chain = set(ranking.following), ranking.chain
    return Decision(
        pattern=ranking.ask.pattern,
        names=[ranking.source.names[row] for row in rows],
        rows=rows,
        pinned=ranking.kept,
        ranking=ranking,
        degraded=ranking.degraded,
        chained={row: chain.confidence for row in ranking.ranked if row in members}
        if chain is not None
        else {},
    )
