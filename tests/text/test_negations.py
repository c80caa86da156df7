"""What a request rules out does not ask."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ranking.test_long_requests import MANY
from tests.support import select
from toolscout.text.negations import strip_negated
from toolscout.text.tokens import split_words


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Don't send the letter, only save it", "the letter only save it"),
        ("Open the page without closing the tab", "Open the page the tab"),
        ("No need to delete it, put it in the trash", "it put it in the trash"),
        ("Instead of a picture give me the text", "give me the text"),
        ("Never mind the letter, show the calendar", "show the calendar"),
        ("I don't want the issue closed, just a comment", "the issue just a comment"),
        ("Rename the file and never open or overwrite it", "Rename the file and or it"),
    ],
)
def test_what_is_ruled_out_is_left_out(text: str, left: str):
    assert split_words(strip_negated(text)) == left.split()


@pytest.mark.parametrize(
    "text",
    [
        "Do not forget to send the mail",
        "Don't hesitate to open the page",
        "I don't know how to send a mail",
        "Why does the build not start?",
        "The mail was not sent, send it again",
        "It is not only slow: restart the server",
        "Find notes about the knot",
    ],
)
def test_a_not_that_rules_nothing_out_changes_nothing(text: str):
    assert strip_negated(text) == text


@given(st.text(), st.sampled_from(["don't", "without", "never mind", "instead of", "not"]))
def test_something_is_left_of_every_text_with_words(text: str, negator: str):
    said = f"{text} {negator} {text}"
    assert split_words(strip_negated(said))
    assert strip_negated(text) or not text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Don't send the file by mail, just read it", "read_file"),
        ("Without translating the text, scale the picture", "resize_image"),
        ("Instead of the weather show me the meetings in the calendar", "list_meetings"),
    ],
)
def test_what_is_forbidden_does_not_come_first(text: str, wanted: str):
    assert select(MANY, text).names[0] == wanted
