"""The last stages of the pipeline: whether anything fits, and which tools are shown."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from msgspec.structs import replace

from toolscout.index.details import count_shown_cost
from toolscout.ranking import choose as choosing
from toolscout.ranking import coverage, prerequisites
from toolscout.ranking import judge as judging
from toolscout.ranking.ask import Ranking
from toolscout.ranking.boost import find_boosts
from toolscout.ranking.choose import follow
from toolscout.ranking.experience import add_experience
from toolscout.ranking.scorers import SCORERS, boost_evidence

DEPTH = 100
"""Tools tried beyond `top_k` for one that still fits the budget."""


def fill_room(  # noqa: PLR0913  # limits of different kinds, by name
    ranked: Sequence[int],
    pinned: Iterable[int],
    room: int,
    *,
    score: Callable[[int], float],
    min_score: float,
    cost: Callable[[int], int],
    budget: int | None,
) -> list[int]:
    """Fill the `room` beside the pins in rank order; skip what does not fit, and try the next.

    Pins cost tokens but are never refused, and ranked ones keep their place. A tool below
    `min_score` leaves its place empty and costs nothing: no worse tool moves up.
    """
    kept = set(pinned)
    left = None if budget is None else budget - sum(map(cost, kept))
    chosen: list[int] = []
    for row in ranked:
        if row in kept:
            chosen.append(row)
            continue
        if not room:
            continue
        if score(row) < min_score:
            room -= 1
            continue
        if left is not None:
            price = cost(row)
            if price > left:
                continue
            left -= price
        room -= 1
        chosen.append(row)
    return chosen


ONLY_WORDS = "there was no time to compare meanings, and no tool has a word of this"
"""Note of an answer without tools, where a later one may have some."""


def judge(ranking: Ranking) -> Ranking:
    """Decide the outcome."""
    ranked = _find_best(ranking)
    if ranking.ranker == "regex":
        return replace(ranking, ranked=ranked)
    outcome = judging.judge(ranking, ranked, ranking.ask.no_match_below)
    if outcome == "no_match" and not ranked and _is_without_meaning(ranking):
        return replace(ranking, ranked=ranked, outcome=outcome, note=ranking.note or ONLY_WORDS)
    if ranking.is_clear:
        outcome = "match"
    elif outcome == "match" and ranking.earlier:
        outcome = "weak"
    return replace(ranking, ranked=ranked, outcome=outcome)


def _is_without_meaning(ranking: Ranking) -> bool:
    """Whether only words were compared, for want of time."""
    return ranking.degraded is not None and not SCORERS[ranking.ranker].meaning


def boost(ranking: Ranking) -> Ranking:
    """Adjust scores by session and context.

    This follows judging, so that earlier calls cannot make a match.
    """
    ask = ranking.ask
    source = ranking.source
    if ask.session is None and ask.context is None:
        return ranking
    boosts = find_boosts(
        ask.session, ask.context, ranking.query, source.rows, source.taxonomy, source.find_elsewhere
    )
    ranking = add_experience(ranking, boost_evidence(ranking, boosts.factors))
    return replace(ranking, boosts=boosts, ranked=_find_best(ranking))


def cover(ranking: Ranking) -> Ranking:
    """Cover the clauses of a request for several tools."""
    if ranking.ranker != "hybrid" or ranking.outcome == "no_match":
        return ranking
    ranked = coverage.cover(ranking)
    return ranking if ranked is None else replace(ranking, ranked=ranked)


def require(ranking: Ranking) -> Ranking:
    """Add the tools that find what the best tools require.

    If the query already has the identifier, nothing is added. A learned chain takes precedence.
    """
    if not ranking.ask.prerequisites or ranking.ranker != "hybrid" or ranking.following:
        return ranking
    ranked, brought = prerequisites.add_finders(ranking)
    return replace(ranking, ranked=ranked, prerequisites=brought) if brought else ranking


def recall(ranking: Ranking) -> Ranking:
    """Make the outcome weak if only a proven chain is evidence for its tools."""
    chain = ranking.chain
    if ranking.outcome != "no_match" or not ranking.following or chain is None:
        return ranking
    if chain.proof >= 1.0 and chain.confidence >= ranking.ask.no_match_below:
        return replace(ranking, outcome="weak", ranked=[])
    return ranking


def order(ranking: Ranking) -> Ranking:
    """Put named tools first, then the best; place the pins and the chain."""
    ask = ranking.ask
    pinned = ranking.pinned
    if ranking.outcome == "no_match":
        shown = pinned[: ask.top_k] if ask.no_match == "pins" else ()
        return replace(ranking, ranked=[], kept=list(shown))
    mentions = ranking.mentions
    slots = max(ask.top_k - len(pinned), 1)
    ranked = choosing.sort_named_first(ranking.ranked, mentions, ranking.source.names, slots)
    if not pinned and not ranking.following:  # as in most requests
        return replace(ranking, ranked=ranked)
    pins = judging.divide_pins(ranking)
    ranked = choosing.sort_by_rank(ranked, pins, ranking.scores)
    if ranking.following:
        fixed = {*pinned, *(mention.row for mention in mentions)}
        relevance = partial(judging.score, ranking)
        ranked = follow(ranked, ranking.following, relevance, fixed.__contains__)
    kept = choosing.choose_pins(ranked, pins, ask.top_k)
    return replace(ranking, ranked=ranked, kept=kept)


def limit(ranking: Ranking) -> Ranking:
    """Drop tools below `min_score`, and those that do not fit the budget."""
    ask = ranking.ask
    if ask.min_score <= 0 and ask.budget_tokens is None:
        return ranking
    ranked = fill_room(
        ranking.ranked,
        ranking.kept,
        _measure_room(ranking),
        score=partial(judging.score, ranking),
        min_score=ask.min_score,
        cost=lambda row: count_shown_cost(
            ranking.source, row, ask.detail, ask.include_definitions, ask.filters
        ),
        budget=ask.budget_tokens,
    )
    return replace(ranking, ranked=ranked)


def choose(ranking: Ranking) -> Ranking:
    """Fill the places; lower tools that failed within them."""
    chosen, last = choosing.choose(ranking.ranked, ranking.kept, _measure_room(ranking))
    if ranking.learned is not None:
        sure = {mention.row for mention in ranking.mentions if mention.sure}
        chosen = choosing.lower_failed(chosen, ranking.learned.failed, ranking.unlearned, sure)
    return replace(ranking, ranked=chosen, last=last)


def _find_best(ranking: Ranking) -> list[int]:
    """Return the best rows, best first."""
    return choosing.find_best(ranking.scores, _measure_depth(ranking))


def _measure_room(ranking: Ranking) -> int:
    """Return how many tools an answer has room for beside the pins that it has."""
    return max(ranking.ask.top_k - len(ranking.kept), 0)


def _measure_depth(ranking: Ranking) -> int:
    """Return how many of the best rows are considered.

    At least as many as are judged, so that the outcome does not depend on `top_k`.
    """
    ask = ranking.ask
    depth = max(ask.top_k, judging.JUDGED) + len(ranking.pinned) + len(ranking.mentions)
    return depth if ask.budget_tokens is None else depth + DEPTH
