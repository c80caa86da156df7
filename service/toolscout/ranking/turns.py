"""How much what was said before counts in a conversation, and what the last turn says by itself.

A turn that is a match by itself is hardly about the turns before it: with these at their whole
weight, another request just before costs it a third of its first places. One that is none ("How do
I get there?") needs them.
"""

from msgspec.structs import replace

from toolscout.ranking import judge, scoring
from toolscout.ranking.ask import Ranking
from toolscout.ranking.choose import find_best
from toolscout.text.conversation import Earlier

CLEAR_SHARE = 0.3
"""Share of the weight of earlier turns where the last one is a match by itself. Of 0, .15, .3 and
.5, .3 is the highest that keeps what 0 gains after another request; follow-ups lose nothing.
"""

HINT = 0.04
"""Relevance of the best tool from which a turn that is no match hints at what is wanted: "Start the
last one" does, "again" and "with a friendly tone" do not.
"""


def weigh_earlier(ranking: Ranking) -> Ranking:
    """Find whether the last turn is a match by itself, and let earlier turns count less if so."""
    ask = ranking.ask
    if not ask.earlier:
        return ranking
    last = replace(ranking, prior=None)
    for stage in (*scoring.EVIDENCE, scoring.exclude, scoring.name, scoring.fuse):
        last = stage(last)
    ranked = find_best(last.scores, judge.JUDGED)
    outcome = judge.judge(last, ranked, ask.no_match_below)
    if outcome != "match":
        has_hint = last.ranker == "hybrid" and outcome == "weak"
        if has_hint and judge.score(last, ranked[0]) >= HINT:
            return replace(ranking, earlier=ask.earlier, of_last_turn=last.scores)
        return replace(ranking, earlier=ask.earlier)
    earlier = tuple(Earlier(text, CLEAR_SHARE * weight) for text, weight in ask.earlier)
    return replace(ranking, earlier=earlier, is_clear=True)
