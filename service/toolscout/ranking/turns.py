"""How much what was said before counts in a conversation, and what the last turn says by itself.

A turn that is a match by itself is hardly about the turns before it: with these at their whole
weight, another request just before costs it a third of its first places. One that is none ("How do
I get there?") needs them.
"""

from msgspec.structs import replace

from toolscout.ranking import judge, scoring
from toolscout.ranking.ask import Ranking
from toolscout.ranking.choose import best
from toolscout.text.conversation import Earlier

CLEAR_SHARE = 0.3
"""Share of the weight of earlier turns where the last one is a match by itself. Of 0, .15, .3 and
.5, .3 is the highest that keeps what 0 gains after another request; follow-ups lose nothing.
"""


def weigh_earlier(ranking: Ranking) -> Ranking:
    """Find whether the last turn is a match by itself, and let earlier turns count less if so."""
    ask = ranking.ask
    if not ask.earlier:
        return ranking
    last = replace(ranking, prior=None)
    for stage in (*scoring.EVIDENCE, scoring.exclude, scoring.name, scoring.fuse):
        last = stage(last)
    ranked = best(last.scores, judge.JUDGED)
    outcome = judge.judge(last, ranked, ask.no_match_below)
    if outcome != "match":
        says_something = outcome == "weak" and last.ranker == "hybrid"
        of_last_turn = last.scores if says_something else None
        return replace(ranking, earlier=ask.earlier, of_last_turn=of_last_turn)
    earlier = tuple(Earlier(text, CLEAR_SHARE * weight) for text, weight in ask.earlier)
    return replace(ranking, earlier=earlier, is_clear=True)
