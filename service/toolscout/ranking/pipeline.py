"""The story of one query: choose a ranker, score the tools, judge, select.

    analyse → exact names → scores of the chosen ranker → outcome → top k and pins

Everything here is a pure function of the catalog, the question and the learned state, so
equal questions get equal answers.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from toolscout.common.pauses import Breathe, at_once
from toolscout.contract import (
    Tool,
)
from toolscout.index import facets, lines
from toolscout.index.bm25 import LexicalScores
from toolscout.index.catalog import Catalog
from toolscout.index.details import cost_of
from toolscout.index.expand import expand
from toolscout.index.facets import Allowed
from toolscout.index.names import Mention, mentions_in_many
from toolscout.index.tool_list import ToolList
from toolscout.index.vectors import Embedder
from toolscout.ranking.ask import Ask, Decision, Prior, Ranking
from toolscout.ranking.boost import boosts_for
from toolscout.ranking.chain import Chain, follow
from toolscout.ranking.choose import (
    Pins,
    best,
    choose,
    in_rank_order,
    kept_pins,
    lower_failed,
    names_first,
)
from toolscout.ranking.combine import boosted, combined, with_experience
from toolscout.ranking.judge import JUDGED, judge, score
from toolscout.ranking.keyword import keyword_scores
from toolscout.ranking.limits import DEPTH, within_limits
from toolscout.text import domains, regex
from toolscout.text.domains import Taxonomy
from toolscout.text.query import Query, analyse, telling_terms

Floats = NDArray[np.float32]

NO_VECTORS = "no vectors yet"
"""Note of a ranking by words because the embeddings of a catalog are still being made."""


def decide(
    catalog: Catalog,
    ask: Ask,
    embedder: Embedder | None,
    degraded: str | None = None,
    prior: Prior | None = None,
    chain: Chain | None = None,
    scan: lines.Scan | None = None,
) -> Decision:
    """Answer a question from a compiled catalog.

    `degraded` names the ranker to run instead of the one asked for, when time is short. A
    catalog without vectors answers `semantic` and `hybrid` by words, and says so. `prior` is
    what experience says; only `hybrid` listens to it. `chain` is the learned chain to follow.
    `scan` is what the pattern matched as a regular expression, where that was found out before.
    """
    allowed = catalog.facets.allowed(ask.filters, catalog.rows)
    pattern = regex_of(ask)
    if scan is None and degraded is None and pattern is not None:
        scan = lines.scan(pattern, catalog.lines)
    if scan is not None and scan.too_costly:
        degraded = "keyword"
    ranking = rank(catalog, ask, embedder, degraded, allowed, prior, scan)
    _mention_whole(ranking, ask.pattern, catalog.rows)
    if ask.session is not None or ask.context is not None:
        ranking.boosts = boosts_for(
            ask.session,
            ask.context,
            ranking.query,
            catalog.rows,
            catalog.taxonomy,
            catalog.facets.elsewhere,
        )
    stepped = degraded or (ranking.ranker if ranking.note == NO_VECTORS else None)
    return _answer(catalog.names, catalog.rows, catalog.tool, ask, ranking, stepped, allowed, chain)


def decide_cold(
    tools: ToolList, ask: Ask, taxonomy: Taxonomy | None = None, breathe: Breathe = at_once
) -> Decision:
    """Answer from tools that are not compiled yet: by words in names and descriptions.

    `taxonomy` is the one to infer domains by, for filters; None for the bundled one. `breathe` is
    called after every small piece of work.
    """
    names = [tool.name for tool in tools.tools]
    query = analyse(ranking_part(ask))
    descriptions = [tool.description or "" for tool in tools.tools]
    lexical = keyword_scores(query, names, descriptions, breathe)
    ranking = Ranking(query, "keyword", lexical.bm25, lexical=lexical)
    ranking.mentions = mentions_in_many(query.text, names)
    rows = {name: row for row, name in enumerate(names)}
    _mention_whole(ranking, ask.pattern, rows)
    considered = [rows[name] for name in ask.always_keep if name in rows]
    considered += [mention.row for mention in ranking.mentions]
    allowed = facets.allowed_cold(
        tools.tools, ask.filters, taxonomy, lexical.bm25, considered, ask.top_k
    )
    if allowed is not None:
        _drop(ranking, allowed)
    named = lexical.named if allowed is None else lexical.named & allowed
    ranking.has_telling_word = lambda: bool(named.any())
    if ask.session is not None or ask.context is not None:
        elsewhere = partial(facets.elsewhere_cold, tools.tools)
        known = taxonomy or domains.bundled()
        ranking.boosts = boosts_for(ask.session, ask.context, query, rows, known, elsewhere)
    return _answer(names, rows, tools.tools.__getitem__, ask, ranking, "keyword", allowed)


def _answer(
    names: Sequence[str],
    rows: Mapping[str, int],
    tool_of: Callable[[int], Tool],
    ask: Ask,
    ranking: Ranking,
    degraded: str | None,
    allowed: Allowed | None,
    chain: Chain | None = None,
) -> Decision:
    """Cut a ranking to the names that are shown."""
    following: list[int] = []
    if chain is not None and chain.is_sure:
        known = [rows[name] for name in chain.names if name in rows]
        following = [row for row in known if allowed is None or allowed[row]]
    pinned_rows = [rows[name] for name in dict.fromkeys(ask.always_keep) if name in rows]
    if allowed is not None:
        pinned_rows = [row for row in pinned_rows if allowed[row]]
        ranking.mentions = [mention for mention in ranking.mentions if allowed[mention.row]]
    # As many as are judged, too: the outcome does not depend on how many are asked for.
    wanted = max(ask.top_k, JUDGED) + len(pinned_rows) + len(ranking.mentions)
    if ask.budget_tokens is not None:
        wanted += DEPTH
    ranking.scores = with_experience(ranking)
    ranked = best(ranking.scores, wanted)
    if ranking.ranker != "regex":
        ranking.outcome = judge(ranking, ranked, ask.no_match_below)
    if ranking.boosts is not None and len(ranking.scores):
        # After judging: what served before does not make a match of what is none now.
        ranking.scores = boosted(ranking, ranking.boosts.factors, ask.top_k)
        ranking.scores = with_experience(ranking)
        ranked = best(ranking.scores, wanted)
    if ranking.outcome == "no_match" and following and _is_chain_evidence(chain, ask):
        ranking.outcome = "weak"
        ranked = []  # only the chain speaks for anything
    if ranking.outcome == "no_match":
        kept = pinned_rows[: ask.top_k] if ask.no_match == "pins" else []
        return Decision(ask.pattern, [names[row] for row in kept], kept, kept, ranking, degraded)
    pins = _pins(ranking, ranked, pinned_rows, following, ask.no_match_below)
    ranked = names_first(ranked, ranking.mentions, names, max(ask.top_k - len(pinned_rows), 1))
    ranked = in_rank_order(ranked, pins, ranking.scores)
    if following:
        kept_rows = {*pinned_rows, *(mention.row for mention in ranking.mentions)}
        ranked = follow(ranked, following, partial(score, ranking), kept_rows.__contains__)
    kept = kept_pins(ranked, pins, ask.top_k)
    if ask.min_score > 0 or ask.budget_tokens is not None:
        ranked = within_limits(
            ranked,
            kept,
            ask.top_k - len(kept),
            score=partial(score, ranking),
            min_score=ask.min_score,
            cost=lambda row: cost_of(tool_of(row), ask.detail, ask.definitions),
            budget=ask.budget_tokens,
        )
    chosen, last = choose(ranked, kept, ask.top_k)
    if ranking.learned is not None:
        sure = {mention.row for mention in ranking.mentions if mention.sure}
        chosen = lower_failed(chosen, ranking.learned, sure)
    selected = [names[row] for row in chosen + last]
    chained = {}
    if chain is not None:
        members = set(following)
        chained = {row: chain.confidence for row in chosen if row in members}
    return Decision(ask.pattern, selected, chosen + last, kept, ranking, degraded, chained)


def _is_chain_evidence(chain: Chain | None, ask: Ask) -> bool:
    return chain is not None and chain.is_evidence and chain.confidence >= ask.no_match_below


def _pins(
    ranking: Ranking,
    ranked: Sequence[int],
    rows: Sequence[int],
    following: Sequence[int],
    no_match_below: float,
) -> Pins:
    """Divide pins into those that the query wants, by score, name or chain, and the others.

    In a weak answer what is as good as the best of it is wanted, too.
    """
    if not rows:
        return Pins()
    wanted = {*following, *(mention.row for mention in ranking.mentions)}
    if ranking.outcome == "weak" and ranked:
        best_score = max(score(ranking, row) for row in ranked[:JUDGED])
        no_match_below = min(no_match_below, best_score)
    matching = [
        row
        for row in rows
        if row in wanted or (ranking.scores[row] > 0 and score(ranking, row) >= no_match_below)
    ]
    found = set(matching)
    return Pins(tuple(matching), tuple(row for row in rows if row not in found))


def _no_word(_: str) -> bool:
    """Without a model no word is known to be one of the language."""
    return False


def rank(
    catalog: Catalog,
    ask: Ask,
    embedder: Embedder | None,
    degraded: str | None = None,
    allowed: Allowed | None = None,
    prior: Prior | None = None,
    scan: lines.Scan | None = None,
) -> Ranking:
    """Score every tool of a catalog with the ranker that the ask comes down to.

    Tools that are not `allowed` have no evidence; how rare a word is, all tools say. `scan` is what
    the pattern matched as a regular expression, None where it is none.
    """
    ranker = degraded or ask.ranker
    pattern = ranking_part(ask)
    note = None if scan is None else scan.note
    if ranker in ("auto", "regex"):
        if scan is not None:
            by_regex = _by_regex(catalog, pattern, allowed, scan)
            if by_regex is not None:
                return by_regex
            note = note or lines.NO_HIT
        ranker = "hybrid" if ranker == "auto" else "keyword"
    query = analyse(pattern)
    if ranker != "semantic":
        is_word = embedder.is_word if embedder else _no_word
        query = expand(query, catalog.postings, is_word, catalog.synonyms)
    no_vectors = embedder is None or catalog.vectors is None
    if no_vectors and ranker in ("hybrid", "rrf", "semantic"):
        ranker, note = "bm25", NO_VECTORS
    ranking = Ranking(query, ranker, np.zeros(0, np.float32), note=note)
    if ranker != "semantic":
        ranking.lexical = lexical_scores(catalog, query)
        ranking.has_telling_word = partial(_has_telling_word, catalog, query, allowed)
    if ranker in ("hybrid", "rrf", "semantic"):
        assert embedder is not None
        assert catalog.vectors is not None
        vectors = embedder.query(query.spoken)
        if vectors is not None:
            ranking.cosine, ranking.whole = catalog.vectors.similarities(vectors)
            ranking.familiarity = vectors.familiarity
        if prior is not None and ranker == "hybrid":
            experience = prior(query, vectors)
            if experience is not None:
                ranking.learned, ranking.likeness = experience
    if allowed is not None:
        _drop(ranking, allowed)
    scores = combined(ranking, ask.top_k)
    ranking.scores = scores if len(scores) else np.zeros(len(catalog), np.float32)
    if allowed is not None:
        ranking.scores = ranking.scores * allowed
    ranking.mentions = catalog.spellings.mentions(query.text, catalog.postings.is_rare)
    return ranking


def ranking_part(ask: Ask) -> str:
    """Cut the pattern to the characters that rank."""
    return ask.pattern.strip()[: ask.max_pattern_chars]


def regex_of(ask: Ask) -> str | None:
    """Return the pattern where it is to be matched as a regular expression, else None."""
    if ask.ranker not in ("auto", "regex"):
        return None
    pattern = ranking_part(ask)
    return pattern if ask.ranker == "regex" or regex.looks_like_regex(pattern) else None


def _has_telling_word(catalog: Catalog, query: Query, allowed: Allowed | None) -> bool:
    for term in telling_terms(query):
        rows = catalog.postings.rows_named(term)
        if len(rows) and (allowed is None or allowed[rows].any()):
            return True
    return False


def lexical_scores(catalog: Catalog, query: Query) -> LexicalScores:
    """BM25 and coverage of every tool."""
    return catalog.postings.score(
        [(term.term, term.weight, term.credit if term.via else None) for term in query.terms]
    )


def _drop(ranking: Ranking, allowed: Allowed) -> None:
    """Take away the evidence of tools that are not allowed, before it is weighed."""
    if ranking.lexical is not None:
        ranking.lexical.bm25[~allowed] = 0
        ranking.lexical.covered[~allowed] = 0
    if ranking.cosine is not None and ranking.whole is not None:
        # The least of the others: it neither ranks nor moves the scale of those that do.
        least = ranking.cosine[allowed].min() if allowed.any() else np.float32(0)
        ranking.cosine = np.where(allowed, ranking.cosine, least)
        ranking.whole = np.where(allowed, ranking.whole, np.float32(0))
    if ranking.learned is not None:
        ranking.learned[~allowed] = 0


def _by_regex(
    catalog: Catalog, pattern: str, allowed: Allowed | None, scan: lines.Scan
) -> Ranking | None:
    """Rank what a regular expression matched; None when that is nothing."""
    matched = scan.rows or []
    if allowed is not None:
        matched = [row for row in matched if allowed[row]]
    if not matched:
        return None
    query = analyse(regex.literal_words(pattern))
    lexical = lexical_scores(catalog, query)
    scores = np.zeros(len(catalog), np.float32)
    # A match without a spelled-out word still counts; words only order the matches.
    scores[matched] = 1.0 + lexical.bm25[matched]
    ranking = Ranking(query, "regex", scores, lexical=lexical)
    ranking.mentions = catalog.spellings.mentions(query.text, catalog.postings.is_rare)
    return ranking


def _mention_whole(ranking: Ranking, pattern: str, rows: Mapping[str, int]) -> None:
    """A pattern that is a name to the letter means that tool, also a name without letters."""
    name = pattern if pattern in rows else pattern.strip()
    row = rows.get(name)
    if row is not None:
        others = [mention for mention in ranking.mentions if mention.row != row]
        ranking.mentions = [Mention(row, name, True, len(name)), *others]
