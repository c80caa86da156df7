"""What the evidence for a tool adds up to, and what the score then means."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import ENGINE, TOOLS, compiled, crowd, select
from toolscout.contract.requests import Context
from toolscout.ranking.ask import Ask
from toolscout.ranking.calibration import (
    MATCH_BY_MEANING_FROM,
    MATCH_FROM,
    Evidence,
    add_experience,
    calculate_relevance,
    match_from,
)
from toolscout.ranking.pipeline import rank
from toolscout.ranking.scorers import boost_evidence


@pytest.mark.parametrize("ranker", ["bm25", "semantic", "hybrid", "okapi"])
def test_a_boost_of_one_changes_no_score(ranker: str):
    catalog = compiled([*TOOLS, *crowd(10)])
    ranking = rank(catalog, Ask(pattern="read the file", ranker=ranker), ENGINE.embedder)
    unmoved = boost_evidence(ranking, np.ones(len(catalog), np.float32))
    assert unmoved.tolist() == pytest.approx(ranking.scores.tolist(), abs=1e-6)


def test_a_tool_that_is_lowered_is_not_lost():
    tools = [
        {"name": "archive", "description": "予"},
        {"name": "table_index", "description": "archive archive"},
    ]
    context = Context(files=("Dockerfile", "a.tf"))
    assert select(tools, "cache", top_k=1).names == ["table_index"]
    assert select(tools, "cache", top_k=1, context=context).names == ["table_index"]


@pytest.mark.parametrize(
    ("other", "described"),
    [
        ("read_whole_file", "Read a file as text: the text of one file."),
        ("read_file", "Read a file as text."),
    ],
)
def test_the_longest_name_in_the_question_comes_first(other: str, described: str):
    files = [
        {"name": other, "description": described},
        {"name": "read_text_file", "description": "Return the contents of a file as text."},
        {"name": "write_file", "description": "Write a text to a file."},
    ]
    catalog = compiled([*files, *crowd(10)])
    ranking = rank(catalog, Ask(pattern="read a text file", ranker="hybrid"), ENGINE.embedder)
    best, second = np.argsort(-ranking.scores)[:2]
    assert [catalog.names[best], catalog.names[second]] == ["read_text_file", other]


def test_stop_words_of_a_name_do_not_outweigh_meaning():
    talk = ["what_can_you_do", "who_do_you_work_for", "do_you_have_pets", "are_you_a_bot"]
    work = ["recipe", "ingredients_list", "book_flight", "weather", "directions", "translate"]
    tools = [{"name": name} for name in (*talk, *work, "spending_history", "distance")]
    assert select(tools, "do i have enough flour for bread").names[0] == "recipe"
    assert select(tools, "do you have pets").names[0] == "do_you_have_pets"


# What a score means.


share = st.floats(0, 1)
maybe = st.one_of(st.none(), share)


@given(maybe, st.one_of(st.none(), st.floats(0, 100)), st.one_of(st.none(), st.floats(-1, 1)))
def test_relevance_is_a_share(coverage, mass, cosine):
    assert 0 <= calculate_relevance(Evidence(coverage, mass, cosine)) <= 1


@given(share, share, st.floats(0, 1), st.floats(0, 1))
def test_more_evidence_is_never_less_relevance(coverage, more, cosine, mass):
    low, high = sorted((coverage, more))
    assert calculate_relevance(Evidence(low, mass, cosine)) <= calculate_relevance(
        Evidence(high, mass, cosine)
    )
    assert calculate_relevance(Evidence(low, mass, None)) <= calculate_relevance(
        Evidence(high, mass, None)
    )
    assert calculate_relevance(Evidence(None, None, low)) <= calculate_relevance(
        Evidence(None, None, high)
    )


@given(st.floats(0, 5), st.floats(0, 5), share)
def test_the_rarer_the_words_the_less_is_needed_for_a_match(one, other, unspaced):
    low, high = (
        match_from(Evidence(0.5, mass, 0.5, 1.0, unspaced)) for mass in sorted((one, other))
    )
    assert MATCH_FROM <= high <= low <= MATCH_BY_MEANING_FROM


@pytest.mark.parametrize("found", [Evidence(0.0, None, 0.5), Evidence(0.0, 0.0, 0.5, 1.0, 1.0)])
def test_without_words_that_could_be_shared_none_are_asked_for(found):
    assert match_from(found) == MATCH_FROM
    assert match_from(Evidence(0.0, 0.0, 0.5, is_foreign=True)) == MATCH_FROM


@given(share, st.floats(-2, 2), st.floats(-1, 1), share)
def test_relevance_with_experience_is_a_share(chance, learned, likeness, familiarity):
    assert 0 <= add_experience(chance, learned, likeness, familiarity) <= 1


@given(share, st.floats(-2, 0), st.floats(-1, 1), share)
def test_a_failure_lowers_no_relevance(chance, learned, likeness, familiarity):
    assert add_experience(chance, learned, likeness, familiarity) == chance


@given(st.floats(-1, 1), st.floats(0, 0.59), share)
def test_the_meaning_of_a_query_that_the_model_cannot_read_says_nothing(cosine, known, coverage):
    read = Evidence(coverage, 1.0, cosine, known)
    assert calculate_relevance(read) == calculate_relevance(Evidence(coverage, 1.0, None, known))


@given(share, st.floats(0, 2), st.floats(-1, 0.1), share)
def test_what_worked_for_an_unlike_query_proves_nothing(chance, learned, likeness, familiarity):
    assert add_experience(chance, learned, likeness, familiarity) == chance
