"""Long requests are cut into sentences, some of which ask."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolscout.contract.bounds import MAX_PATTERN_CHARS, MAX_READ_CHARS, cut
from toolscout.text.passages import MOST_SENTENCES, find_asking_part, is_asking, split_sentences


@pytest.mark.parametrize(
    "sentence",
    [
        "Send the report to Ann.",
        "Please book a table for two",
        "And then delete the draft.",
        "I want to see my calendar.",
        "I'd like a summary of the page",
        "We need a new channel for the launch.",
        "Could you merge it",
        "What is the weather in Oslo",
        "Hi, can you help me with this",
        "Das Wetter in Oslo?",
    ],
)
def test_a_question_a_wish_and_an_order_ask(sentence: str):
    assert is_asking(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "My sister was happy with the garden.",
        "The quarterly numbers were late again, as usual.",
        "It was a strange day from the beginning.",
        "I sent the report to Ann.",
        "...",
        "",
    ],
)
def test_a_statement_does_not_ask(sentence: str):
    assert not is_asking(sentence)


def test_sentences_end_at_stops_and_lines():
    text = "Read this. Then send it!\nThanks\n读文件。发邮件。 v1.2 stays"
    assert split_sentences(text) == [
        *("Read this.", "Then send it!", "Thanks"),
        *("读文件。", "发邮件。", "v1.2 stays"),
    ]


@given(st.text(max_size=2_000))
def test_sentences_hold_all_that_was_said(text: str):
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())


def test_of_a_long_request_what_asks_is_kept_wherever_it_stands():
    talk = "The old house stood there without any hurry. " * 400
    for place in (0, len(talk) // 2, len(talk)):
        at = talk.find(".", place) + 2 if 0 < place < len(talk) else place
        part = find_asking_part(f"{talk[:at]}Please translate the letter. {talk[at:]}")
        assert "Please translate the letter." in part
        assert len(part) <= MAX_PATTERN_CHARS


@given(st.text(max_size=300), st.integers(0, 400))
def test_what_is_kept_is_never_longer_than_the_bound(text: str, times: int):
    assert len(find_asking_part(text * times)) <= MAX_PATTERN_CHARS


def test_of_too_many_sentences_the_first_and_the_last_are_read():
    found = split_sentences("first. " + "a. " * 5_000 + "last.")
    assert found[0] == "first."
    assert found[-1] == "last."
    assert len(found) == MOST_SENTENCES


def test_of_a_text_that_is_too_long_the_beginning_and_the_end_are_read():
    text = "first " + "x" * 600_000 + " last"
    kept = cut(text)
    assert len(kept) == MAX_READ_CHARS
    assert kept.startswith("first ")
    assert kept.endswith(" last")
    assert cut(kept) == kept
