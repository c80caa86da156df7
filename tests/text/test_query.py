"""How a pattern is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import TOOLS, select
from toolscout.contract.bounds import MAX_PATTERN_CHARS
from toolscout.text.query import analyse


def weights(pattern: str) -> dict[str, float]:
    return {term.term: term.weight for term in analyse(pattern).terms}


@pytest.mark.parametrize("word", ["the", "please", "for", "tool", "could"])
def test_stop_words_and_filler_weigh_less_than_what_is_asked_for(word: str):
    found = weights(f"{word} weather")
    assert found.pop("weather") == 1.0
    assert all(0 < weight < 0.5 for weight in found.values())


@pytest.mark.parametrize("pattern", ["the", "look for", "tool", "use function"])
def test_a_query_of_filler_alone_is_taken_at_its_word(pattern: str):
    assert max(weights(pattern).values()) == 1.0


def test_repeating_a_word_changes_nothing():
    assert analyse("weather weather weather").terms == analyse("weather").terms


def test_parts_of_an_identifier_weigh_little_more_than_one_word():
    assert 1.0 <= sum(weights("createIssueComment").values()) <= 2.0


def test_a_clause_without_spaces_weighs_more_than_a_word():
    word, clause = sum(weights("天气").values()), sum(weights("我想知道明天北京的天气").values())
    assert word == 1.0
    assert clause > 3.0


@pytest.mark.parametrize("ranker", ["auto", "bm25", "semantic", "regex"])
def test_4096_characters_are_read(ranker: str):
    assert MAX_PATTERN_CHARS == 4_096
    assert "get_weather" not in select(TOOLS, "x " * 2_048 + "get_weather", ranker=ranker).names
    assert "get_weather" in select(TOOLS, "x " * 2_000 + "get_weather", ranker=ranker).names


@given(st.text())
def test_weights_are_positive_shares(pattern: str):
    assert all(0 < term.weight <= 1 for term in analyse(pattern).terms)


@pytest.mark.parametrize(
    "pattern",
    [
        "weather",
        "the weather",
        "could you please tell me what the weather is like",
        "I need a tool that can look up the weather, thanks",
        "find function weather",
    ],
)
def test_filler_does_not_change_what_is_found(pattern: str):
    assert select(TOOLS, pattern, top_k=1).names == ["get_weather"]
