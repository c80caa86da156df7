"""Experience orders a catalog once its reports show that this helps."""

from tests.learning.test_prior import KEYS, NAMES, learn
from toolscout.learning.experience import Experience
from toolscout.learning.prior import LearnedIndex


def test_what_a_tool_gains_proves_experience_for_others_and_not_for_itself():
    experience = Experience()
    learn(experience, "translate this", "translate_text", times=20, gain=0.5)
    index = LearnedIndex(KEYS, experience, 0.0)
    own, other = NAMES.index("translate_text"), NAMES.index("get_weather")
    assert not index.gate.is_open(own, 0.5)
    assert index.gate.is_open(other, 0.5)
    assert (index.gate.orders, index.gate.reported, index.gate.ordered) == ("same", 1, 0)
    learn(experience, "say how warm it is", "get_weather", gain=0.5)
    assert index.is_current(experience, 0.0)
    assert index.gate.is_open(own, 0.5)


def test_what_a_tool_loses_counts_against_itself_too():
    experience = Experience()
    learn(experience, "say how warm it is", "get_weather", gain=1.0)
    learn(experience, "translate this", "translate_text", times=4, gain=-0.25)
    index = LearnedIndex(KEYS, experience, 0.0)
    assert not index.gate.is_open(NAMES.index("translate_text"), 0.5)
    assert index.gate.orders == "same"
    learn(experience, "translate that", "translate_text", gain=-0.25)
    assert LearnedIndex(KEYS, experience, 0.0).gate.orders == "none"
