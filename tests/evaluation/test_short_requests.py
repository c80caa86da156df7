"""`python -m evals --languages`: its short requests in six languages."""

from pathlib import Path

import pytest

from evals.languages import report
from toolscout.index.embedder import Embedder

EACH = 30
"""The number of requests of each language."""


@pytest.mark.parametrize("language", report.SHORT_LANGUAGES)
def test_a_language_has_thirty_different_requests_of_two_to_seven_words(language: str):
    asked = report.short_requests(language)
    assert len(asked) == len({each.text.casefold() for each in asked}) == EACH
    assert [each.text for each in asked if not 2 <= len(each.text.split()) <= 7] == []


def test_no_request_comes_in_two_languages():
    asked = [each for code in report.SHORT_LANGUAGES for each in report.short_requests(code)]
    assert len({each.text.casefold() for each in asked}) == EACH * len(report.SHORT_LANGUAGES)


def test_every_tool_that_a_request_wants_exists(data: Path):
    asked = [each for code in report.SHORT_LANGUAGES for each in report.short_requests(code)]
    tools = [tool.name for tool in report.assistant_tools(data)]
    assert len(tools) == len(set(tools)) >= 150
    assert all(each.wanted for each in asked)
    assert frozenset().union(*(each.wanted for each in asked)) - set(tools) == frozenset()


def test_a_missing_set_skips_the_short_requests(tmp_path: Path):
    text, figures = report.short_report(tmp_path, Embedder())
    assert text.startswith("Short requests are skipped: ")
    assert figures == {}
