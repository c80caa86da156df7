"""What a score means."""

from hypothesis import given
from hypothesis import strategies as st

from toolscout.ranking.calibration import Evidence, outcome, relevance, with_experience

share = st.floats(0, 1)
maybe = st.one_of(st.none(), share)


@given(maybe, st.one_of(st.none(), st.floats(0, 100)), st.one_of(st.none(), st.floats(-1, 1)))
def test_relevance_is_a_share(coverage, mass, cosine):
    assert 0 <= relevance(Evidence(coverage, mass, cosine)) <= 1


@given(share, share, st.floats(0, 1), st.floats(0, 1))
def test_more_evidence_is_never_less_relevance(coverage, more, cosine, mass):
    low, high = sorted((coverage, more))
    assert relevance(Evidence(low, mass, cosine)) <= relevance(Evidence(high, mass, cosine))
    assert relevance(Evidence(low, mass, None)) <= relevance(Evidence(high, mass, None))
    assert relevance(Evidence(None, None, low)) <= relevance(Evidence(None, None, high))


@given(share, share)
def test_outcomes_follow_relevance(one, other):
    order = ["no_match", "weak", "match"]
    low, high = sorted((one, other))
    assert order.index(outcome(low)) <= order.index(outcome(high))


def test_the_three_outcomes():
    assert [outcome(best) for best in (0.0, 1.0)] == ["no_match", "match"]
    assert "weak" in {outcome(step / 100) for step in range(101)}


@given(share, st.floats(-2, 2), st.floats(-1, 1), share)
def test_relevance_with_experience_is_a_share(chance, learned, likeness, familiarity):
    assert 0 <= with_experience(chance, learned, likeness, familiarity) <= 1


@given(share, st.floats(-2, 0), st.floats(-1, 1), share)
def test_a_failure_lowers_no_relevance(chance, learned, likeness, familiarity):
    assert with_experience(chance, learned, likeness, familiarity) == chance


@given(share, share)
def test_below_the_threshold_nothing_matches(best, threshold):
    assert (outcome(best, threshold) == "no_match") == (best < threshold)


@given(st.floats(-1, 1), st.floats(0, 0.59), share)
def test_the_meaning_of_a_query_that_the_model_cannot_read_says_nothing(cosine, known, coverage):
    read = Evidence(coverage, 1.0, cosine, known)
    assert relevance(read) == relevance(Evidence(coverage, 1.0, None, known))


@given(share, st.floats(0, 2), st.floats(-1, 0.1), share)
def test_what_worked_for_an_unlike_query_proves_nothing(chance, learned, likeness, familiarity):
    assert with_experience(chance, learned, likeness, familiarity) == chance
