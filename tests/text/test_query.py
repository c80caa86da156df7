"""How a pattern is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import TOOLS, select
from toolscout.contract.bounds import MAX_PATTERN_CHARS
from toolscout.ranking.ask import Ask
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


FORGE = [
    {"name": name, "description": description}
    for name, description in (
        ("create_issue", "Open a new issue in a repository"),
        ("list_issues", "List the issues of a repository"),
        ("create_pull_request", "Open a pull request in a repository"),
        ("fork_repository", "Fork a repository"),
        ("sync_calendar", "Synchronise calendars with an account"),
        ("list_emails", "List emails of the inbox"),
        ("convert_pdf", "Convert a document to PDF"),
        ("get_weather", "Current weather forecast of a city"),
        ("files/read", "Read a file from disk"),
    )
]


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("open an issue in acme/calendar-sync", "create_issue"),
        ("list the issues of acme/email-client", "list_issues"),
        ("open a pull request in acme/weather-forecast that fixes the city", "create_pull_request"),
        ("fork the repo acme/pdf-converter", "fork_repository"),
        ("acme/calendar-sync", "sync_calendar"),
        ("sync acme/calendar-sync", "sync_calendar"),
        ("use files/read on it", "files/read"),
        ("weather/forecast for berlin", "get_weather"),
    ],
)
def test_a_slug_names_what_is_meant_and_does_not_ask(pattern: str, name: str):
    assert select(FORGE, pattern).names[0] == name


@pytest.mark.parametrize(
    "value", ["jane.doe@inbox.com", "0x5D2e40fa91aa", "9f1c7b2e-4f2a-4d0e-9c39-bb1f2a77c001"]
)
def test_an_address_or_a_number_names_what_is_meant_and_does_not_ask(value: str):
    query = analyse(f"get the weather forecast for {value}")
    assert query.embedding_words == analyse("get the weather forecast for").embedding_words
    assert select(FORGE, query.text).names[0] == "get_weather"
    assert {term.word for term in query.terms if term.weight >= 1.0} == {"weather", "forecast"}


def test_the_words_of_a_slug_weigh_in_full_where_they_stand_elsewhere_too():
    found = weights("open an issue about the calendar in acme/calendar-sync")
    assert found["calendar"] == found["issu"] == 1.0
    assert 0 < found["sync"] < 0.5


def test_repeating_a_word_changes_nothing():
    assert analyse("weather weather weather").terms == analyse("weather").terms


def test_parts_of_an_identifier_weigh_little_more_than_one_word():
    assert 1.0 <= sum(weights("createIssueComment").values()) <= 2.0


def test_a_clause_without_spaces_weighs_more_than_a_word():
    word, clause = sum(weights("天气").values()), sum(weights("我想知道明天北京的天气").values())
    assert word == 1.0
    assert clause > 3.0


def test_4096_characters_of_an_expression_are_read():
    assert MAX_PATTERN_CHARS == len(Ask(pattern=" " + "x" * 5_000).expression) == 4_096


@pytest.mark.parametrize("ranker", ["auto", "bm25", "semantic"])
def test_a_request_is_read_to_its_end(ranker: str):
    for text in ("x " * 20_000 + "get_weather", "get_weather " + "x " * 20_000):
        assert "get_weather" in select(TOOLS, text, ranker=ranker).names


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
