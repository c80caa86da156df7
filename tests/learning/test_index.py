"""The index of what was learned: it follows the reports, and says the same whenever it was made."""

import pytest

from tests.learning.test_prior import KEYS, NAMES, asked, learn
from toolscout.experience.points import NEIGHBOURS
from toolscout.experience.prior import STALE_S, LearnedIndex
from toolscout.experience.reported import Experience


def test_an_index_follows_what_is_learned_later():
    experience = Experience()
    index = LearnedIndex(KEYS, experience, 0.0)
    for tool in NAMES:
        learn(experience, f"use {tool} now", tool, times=2)
        assert index.bring_up_to_date(experience, 0.0)
        found = index.prior(asked(f"use {tool} now"))
        assert found is not None
        assert NAMES[max(found.past, key=found.past.__getitem__)] == tool
        anew = LearnedIndex(KEYS, experience, 0.0).prior(asked(f"use {tool} now"))
        assert anew is not None
        assert anew.likeness == pytest.approx(found.likeness, abs=1e-6)


def test_an_index_is_made_anew_when_it_is_old_or_of_other_experience():
    experience = Experience()
    learn(experience, "ship the parcel", "send_email")
    index = LearnedIndex(KEYS, experience, 0.0)
    assert not index.bring_up_to_date(experience, 2 * STALE_S)
    assert not index.bring_up_to_date(Experience(), 0.0)


def test_an_index_says_the_same_whether_it_grew_or_is_made_anew():
    keys = [(f"tool_{number}", "content") for number in range(2 * NEIGHBOURS)]
    experience = Experience()
    grown = LearnedIndex(keys, experience, 0.0)
    for seconds, (tool, _) in enumerate(keys[::-1]):
        learn(experience, "ship the parcel", tool, time=seconds)
        assert grown.bring_up_to_date(experience, seconds)
    made = LearnedIndex(keys, experience, 100.0)
    first, second = (index.prior(asked("ship a parcel")) for index in (grown, made))
    assert first is not None
    assert second is not None
    assert first.past == second.past


def test_reports_about_other_tools_change_nothing_for_these():
    """Or an index that was made before them would answer otherwise than one made since."""
    experience = Experience()
    learn(experience, "ship the parcel", "send_email", success=False, times=4)
    index = LearnedIndex(KEYS, experience, 0.0)
    before, version = index.prior(asked("ship a parcel")), index.version
    for number in range(40):
        learn(experience, f"number {number}", f"other_{number}", success=False)
    assert index.bring_up_to_date(experience, 0.0)
    for made in (index, LearnedIndex(KEYS, experience, 0.0)):
        after = made.prior(asked("ship a parcel"))
        assert before is not None
        assert after is not None
        assert after.failed == pytest.approx(before.failed)
    assert index.version == version


def test_a_past_query_that_is_not_related_says_nothing():
    experience = Experience()
    learn(experience, "ship the parcel", "send_email", times=4)
    index = LearnedIndex(KEYS, experience, 0.0)
    assert index.prior(asked("ship a parcel")) is not None
    assert index.prior(asked("which colours suit an autumn garden")) is None
