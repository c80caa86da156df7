"""The story of one query: choose a ranker, score the tools, judge, select.

    analyse → exact names → scores of the chosen ranker → outcome → top k and pins

Everything here is a pure function of the catalogue, the question and the learned state, so
equal questions get equal answers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolscout.catalog.catalogue import Catalogue
from toolscout.catalog.details import cost_of
from toolscout.catalog.toollist import ToolList
from toolscout.contract import (
    DEFAULT_TOP_K,
    Context,
    Detail,
    Filters,
    Outcome,
    RankerName,
    Session,
    Tool,
)
from toolscout.pauses import Breathe, at_once
from toolscout.ranking import domains, filters, fusion, regex
from toolscout.ranking.bm25 import LexicalScores
from toolscout.ranking.boosts import Boosts, boosts_for
from toolscout.ranking.domains import Taxonomy
from toolscout.ranking.expand import expand
from toolscout.ranking.filters import Allowed
from toolscout.ranking.judging import judge, score
from toolscout.ranking.keyword import keyword_scores
from toolscout.ranking.limits import DEPTH, within_limits
from toolscout.ranking.names import Mention, mentions_in_many
from toolscout.ranking.query import MAX_PATTERN_CHARS, Query, analyse
from toolscout.ranking.select import NoMatch, best, choose, names_first
from toolscout.ranking.semantic import Embedder, QueryVectors

Floats = NDArray[np.float32]

Prior = Callable[[Query, QueryVectors | None], tuple[Floats, float] | None]
"""What to add to each tool's score for a query, shape (tools,), and how alike the nearest query is
that this comes from (a cosine); None for nothing."""

NO_SIMILARITY = 0.12
"""Cosine below which a tool that shares no word with the query is not offered at all."""

NO_VECTORS = "no vectors yet"
"""Note of a ranking by words because the embeddings of a catalogue are still being made."""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a catalogue, whatever carried it."""

    pattern: str
    top_k: int = DEFAULT_TOP_K
    always_keep: Sequence[str] = ()
    ranker: RankerName = "auto"
    no_match: NoMatch = "empty"
    max_pattern_chars: int = MAX_PATTERN_CHARS
    """Characters of the pattern that rank; the rest is ignored, never an error."""
    filters: Filters | None = None
    min_score: float = 0.0
    budget_tokens: int | None = None
    detail: Detail | None = None
    """How the selected tools will be shown, which is what the budget is spent on."""
    definitions: bool = False
    session: Session | None = None
    context: Context | None = None


@dataclass(slots=True)
class Ranking:
    """Scores of every tool (0 = no evidence) and what is needed to explain them."""

    query: Query
    ranker: str
    scores: Floats
    lexical: LexicalScores | None = None
    cosine: Floats | None = None
    """Similarity by the best sentence, for ranking."""
    whole: Floats | None = None
    """Similarity of the query as a whole, for judging whether anything fits."""
    familiarity: float = 0.0
    """How much of the query the embedding model knows; its opinion counts that much."""
    mentions: list[Mention] = field(default_factory=list)
    outcome: Outcome = "match"
    boosts: Boosts | None = None
    learned: Floats | None = None
    """What experience adds to each score; negative where a tool failed."""
    likeness: float = 0.0
    """Cosine of the nearest query that this experience comes from."""
    note: str | None = None
    """Why another ranker ran than the one asked for, or how a pattern was read."""


@dataclass(slots=True)
class Decision:
    """The answer: rows of the catalogue in answer order, and how they came about."""

    pattern: str
    names: list[str]
    rows: list[int]
    pinned: list[int]
    ranking: Ranking
    degraded: str | None = None
    chained: dict[int, float] = field(default_factory=dict)
    """Rows that are there as the next of a chain, with the confidence in it."""

    @property
    def outcome(self) -> Outcome:
        """Match, weak or no_match."""
        return self.ranking.outcome


def decide(
    catalogue: Catalogue,
    ask: Ask,
    embedder: Embedder | None,
    degraded: str | None = None,
    prior: Prior | None = None,
) -> Decision:
    """Answer a question from a compiled catalogue.

    `degraded` names the ranker to run instead of the one asked for, when time is short. A
    catalogue without vectors answers `semantic` and `hybrid` by words, and says so. `prior` is
    what experience says; only `hybrid` listens to it.
    """
    allowed = catalogue.facets.allowed(ask.filters, catalogue.rows)
    ranking = rank(catalogue, ask, embedder, degraded, allowed, prior)
    _mention_whole(ranking, ask.pattern, catalogue.rows)
    if ask.session is not None or ask.context is not None:
        ranking.boosts = boosts_for(
            ask.session,
            ask.context,
            ranking.query,
            catalogue.rows,
            catalogue.taxonomy,
            catalogue.facets.elsewhere,
        )
    stepped = degraded or (ranking.ranker if ranking.note == NO_VECTORS else None)
    return _answer(catalogue.names, catalogue.rows, catalogue.tool, ask, ranking, stepped, allowed)


def decide_cold(
    tools: ToolList, ask: Ask, taxonomy: Taxonomy | None = None, breathe: Breathe = at_once
) -> Decision:
    """Answer from tools that are not compiled yet: by words in names and descriptions.

    `taxonomy` is the one to infer domains by, for filters; None for the bundled one. `breathe` is
    called after every small piece of work.
    """
    names = [tool.name for tool in tools.tools]
    query = analyse(ask.pattern.strip()[: ask.max_pattern_chars])
    descriptions = [tool.description or "" for tool in tools.tools]
    lexical = keyword_scores(query, names, descriptions, breathe)
    ranking = Ranking(query, "keyword", lexical.bm25, lexical=lexical)
    ranking.mentions = mentions_in_many(query.text, names)
    rows = {name: row for row, name in enumerate(names)}
    _mention_whole(ranking, ask.pattern, rows)
    considered = [rows[name] for name in ask.always_keep if name in rows]
    considered += [mention.row for mention in ranking.mentions]
    allowed = filters.allowed_cold(
        tools.tools, ask.filters, taxonomy, lexical.bm25, considered, ask.top_k
    )
    if allowed is not None:
        _drop(ranking, allowed)
    if ask.session is not None or ask.context is not None:
        elsewhere = partial(filters.elsewhere_cold, tools.tools)
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
) -> Decision:
    """Cut a ranking to the names that are shown."""
    pinned_names = ask.always_keep
    if allowed is not None:
        pinned_names = [name for name in pinned_names if name in rows and allowed[rows[name]]]
        ranking.mentions = [mention for mention in ranking.mentions if allowed[mention.row]]
    wanted = ask.top_k + len(pinned_names) + len(ranking.mentions)
    if ask.budget_tokens is not None:
        wanted += DEPTH
    ranking.scores = _with_experience(ranking)
    ranked = best(ranking.scores, wanted)
    if ranking.ranker != "regex":
        ranking.outcome = judge(ranking, ranked)
    if ranking.boosts is not None and len(ranking.scores):
        # After judging: what served before does not make a match of what is none now.
        ranking.scores = _boosted(ranking, ranking.boosts.factors, ask.top_k)
        ranking.scores = _with_experience(ranking)
        ranked = best(ranking.scores, wanted)
    pins = sum(name in rows for name in set(pinned_names))
    ranked = names_first(ranked, ranking.mentions, names, max(ask.top_k - pins, 1))
    if ask.min_score > 0 or ask.budget_tokens is not None:
        kept = [rows[name] for name in dict.fromkeys(pinned_names) if name in rows]
        kept = kept[: max(ask.top_k - 1, 0)]
        ranked = within_limits(
            ranked,
            kept,
            ask.top_k - len(kept),
            score=partial(score, ranking),
            min_score=ask.min_score,
            cost=lambda row: cost_of(tool_of(row), ask.detail, ask.definitions),
            budget=ask.budget_tokens,
        )
    chosen, pinned = choose(ranked, rows, pinned_names, ask.top_k, ranking.outcome, ask.no_match)
    selected = [names[row] for row in chosen]
    return Decision(ask.pattern, selected, chosen, pinned, ranking, degraded)


def _with_experience(ranking: Ranking) -> Floats:
    """The scores with what experience adds, which may make a match of what had no evidence."""
    if ranking.learned is None:
        return ranking.scores
    # A tool that failed sinks to the end, but evidence stays evidence.
    least = ranking.scores * np.float32(1e-3)
    moved: Floats = np.maximum(ranking.scores + ranking.learned, least)
    return moved


def _boosted(ranking: Ranking, factors: Floats, top_k: int) -> Floats:
    """The scores again, from evidence times factors; what had no score gets none.

    Not the fused score is multiplied: scaled between the best and the worst tool, it can be far
    apart for two tools that are nearly alike.
    """
    if ranking.cosine is None or ranking.ranker == "regex":
        return ranking.scores * factors
    lexical, cosine = ranking.lexical, ranking.cosine
    if lexical is not None:
        lexical = msgspec.structs.replace(lexical, bm25=lexical.bm25 * factors)
    cosine = np.where(cosine > 0, cosine * factors, cosine)
    moved = replace(ranking, lexical=lexical, cosine=cosine)
    return _combined(moved, top_k) * (ranking.scores > 0)


def _no_word(_: str) -> bool:
    """Without a model no word is known to be one of the language."""
    return False


def rank(
    catalogue: Catalogue,
    ask: Ask,
    embedder: Embedder | None,
    degraded: str | None = None,
    allowed: Allowed | None = None,
    prior: Prior | None = None,
) -> Ranking:
    """Score every tool of a catalogue with the ranker that the ask comes down to.

    Tools that are not `allowed` have no evidence; how rare a word is, all tools say.
    """
    ranker = degraded or ask.ranker
    pattern = ask.pattern.strip()[: ask.max_pattern_chars]
    if ranker in ("auto", "regex"):
        if ranker == "regex" or regex.looks_like_regex(pattern):
            by_regex = _by_regex(catalogue, pattern, allowed)
            if by_regex is not None:
                return by_regex
        ranker = "hybrid" if ranker == "auto" else "keyword"
    query = analyse(pattern)
    if ranker != "semantic":
        is_word = embedder.is_word if embedder else _no_word
        query = expand(query, catalogue.postings, is_word, catalogue.synonyms)
    note = None
    no_vectors = embedder is None or catalogue.vectors is None
    if no_vectors and ranker in ("hybrid", "rrf", "semantic"):
        ranker, note = "bm25", NO_VECTORS
    if ranker == "keyword" and degraded is None:
        note = "no regex match"
    ranking = Ranking(query, ranker, np.zeros(0, np.float32), note=note)
    if ranker != "semantic":
        ranking.lexical = lexical_scores(catalogue, query)
    if ranker in ("hybrid", "rrf", "semantic"):
        assert embedder is not None
        assert catalogue.vectors is not None
        vectors = embedder.query(query.spoken)
        if vectors is not None:
            ranking.cosine, ranking.whole = catalogue.vectors.similarities(vectors)
            ranking.familiarity = vectors.familiarity
        if prior is not None and ranker == "hybrid":
            experience = prior(query, vectors)
            if experience is not None:
                ranking.learned, ranking.likeness = experience
    if allowed is not None:
        _drop(ranking, allowed)
    ranking.scores = _combined(ranking, ask.top_k)
    if allowed is not None and len(ranking.scores):
        ranking.scores = ranking.scores * allowed
    ranking.mentions = catalogue.spellings.mentions(query.text, catalogue.postings.is_rare)
    return ranking


def lexical_scores(catalogue: Catalogue, query: Query) -> LexicalScores:
    """BM25 and coverage of every tool."""
    return catalogue.postings.score(
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


def _by_regex(catalogue: Catalogue, pattern: str, allowed: Allowed | None) -> Ranking | None:
    """Rank what a regular expression matches; None when it is invalid or matches nothing."""
    expression = regex.compile_pattern(pattern)
    if expression is None:
        return None
    matched = catalogue.lines.matching(expression)
    if allowed is not None:
        matched = [row for row in matched if allowed[row]]
    if not matched:
        return None
    query = analyse(regex.literal_words(pattern))
    lexical = lexical_scores(catalogue, query)
    scores = np.zeros(len(catalogue), np.float32)
    # A match without a spelled-out word still counts; words only order the matches.
    scores[matched] = 1.0 + lexical.bm25[matched]
    ranking = Ranking(query, "regex", scores, lexical=lexical)
    ranking.mentions = catalogue.spellings.mentions(query.text, catalogue.postings.is_rare)
    return ranking


def _combined(ranking: Ranking, top_k: int) -> Floats:
    """Fuse what the ranker has; zero where a tool has no evidence worth an answer."""
    lexical, cosine = ranking.lexical, ranking.cosine
    if cosine is None:
        return np.zeros(0, np.float32) if lexical is None else lexical.bm25
    if lexical is None:
        return np.where(cosine >= NO_SIMILARITY, cosine, np.float32(0))
    if ranking.ranker == "rrf":
        return fusion.reciprocal_rank(lexical.bm25, cosine, top_k)
    weight = fusion.SEMANTIC_WEIGHT * ranking.familiarity
    fused = fusion.weighted_sum(lexical.bm25, cosine, weight)
    fused *= (lexical.bm25 > 0) | (cosine >= NO_SIMILARITY)
    return fused


def _mention_whole(ranking: Ranking, pattern: str, rows: Mapping[str, int]) -> None:
    """A pattern that is a name to the letter means that tool, also a name without letters."""
    name = pattern if pattern in rows else pattern.strip()
    row = rows.get(name)
    if row is not None:
        others = [mention for mention in ranking.mentions if mention.row != row]
        ranking.mentions = [Mention(row, name, True, len(name)), *others]
