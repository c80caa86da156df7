"""The first sentence of a description, and what many tools are about."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolscout.tools.summary import CUT, SUMMARY_CHARS, cut_first_sentence, sum_up


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Search the web. Returns JSON.", "Search the web."),
        ("Search.\nMore here.", "Search."),
        ("Sort items, e.g. by date. Returns a list.", "Sort items, e.g. by date."),
        ("Sort items (i.e. rows) now! Done.", "Sort items (i.e. rows) now!"),
        (
            "Takes files, folders, etc. and zips them. Fast.",
            "Takes files, folders, etc. and zips them.",
        ),
        ("Takes files, folders, etc. Returns a zip.", "Takes files, folders, etc."),
        ("Needs version 2.5 of it. Old.", "Needs version 2.5 of it."),
        ("Opens example.com in a tab. Slow.", "Opens example.com in a tab."),
        ("Really? Yes.", "Really?"),
        ("天気を取得します。都市が必要です。", "天気を取得します。"),
        ("No end\nof sentence", "No end of sentence"),
        ("A title\n\nA paragraph. More.", "A title"),
        ("  spaced   out. x", "spaced out."),
        ("", ""),
        (" \n ", ""),
    ],
)
def test_first_sentence(text: str, sentence: str):
    assert cut_first_sentence(text) == sentence


def test_a_long_sentence_is_cut_and_says_so():
    assert cut_first_sentence("a" * 250) == "a" * SUMMARY_CHARS + CUT
    assert cut_first_sentence("a" * SUMMARY_CHARS) == "a" * SUMMARY_CHARS
    assert cut_first_sentence("word " * 100, 9) == "word word" + CUT


@pytest.mark.parametrize("letter", ["e\u0301", "न\u094d", "👩\u200d"])
def test_a_cut_goes_through_no_letter(letter: str):
    assert cut_first_sentence("a" + letter * 150).endswith(letter + CUT)


@given(st.text(max_size=600))
def test_a_summary_is_one_short_line_of_the_text(text: str):
    shown = cut_first_sentence(text)
    assert len(shown) <= SUMMARY_CHARS + len(CUT)
    assert len(shown.splitlines()) <= 1
    assert " ".join(text.split()).startswith(shown.removesuffix(CUT))


def test_documented_first_sentences_of_another_system(data: Path):
    cases = json.loads((data / "cases" / "gatemini.json").read_text("utf-8"))["cases"]
    asked = [case for case in cases if case["kind"] == "first_sentence"]
    assert asked
    for case in asked:
        assert cut_first_sentence(case["query"]) == case["expect_text"], case["id"]


def test_most_tools_are_under_namespaces_only_where_that_is_so():
    plain = [f"tool_{number}" for number in range(297)]
    few = [*plain, "sentry__list", "sentry__find", "gmail__send"]
    assert sum_up(few) == "300 tools, some of them under sentry (2), gmail (1)"
    assert sum_up(few[-4:]) == "4 tools, most of them under sentry (2), gmail (1)"
