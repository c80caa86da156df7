"""`python -m evals --languages`: its short requests in twelve languages."""

from pathlib import Path

from evals.languages import report
from toolscout.index.embedder import Embedder

COUNTS = {
    **dict.fromkeys(("de", "es", "fr", "it", "pt", "tr"), 30),
    **dict.fromkeys(("da", "cs", "uk", "hu", "sv", "ro"), 10),
}
"""The number of requests of each language."""

COUNT_LATER = 6
"""The number of those of each language that were written later."""


def all_requests() -> list[report.Asked]:
    """Return the short requests of all languages, those written later too."""
    return [
        asked
        for language in report.SHORT_LANGUAGES
        for name in ("short.jsonl", report.SHORT_LATER)
        for asked in report.short_requests(language, name)
    ]


def test_each_language_has_its_number_of_requests():
    asked = {code: len(report.short_requests(code)) for code in report.SHORT_LANGUAGES}
    assert asked == COUNTS
    for code in report.SHORT_LANGUAGES:
        assert len(report.short_requests(code, report.SHORT_LATER)) == COUNT_LATER, code


def test_a_request_has_two_to_seven_words():
    texts = [asked.text for asked in all_requests()]
    assert [text for text in texts if not 2 <= len(text.split()) <= 7] == []


def test_no_request_comes_twice():
    texts = [asked.text.casefold() for asked in all_requests()]
    assert len(set(texts)) == len(texts)


def test_every_tool_that_a_request_wants_exists(data: Path):
    asked = all_requests()
    tools = [tool.name for tool in report.assistant_tools(data)]
    assert len(tools) == len(set(tools)) >= 150
    assert all(each.wanted for each in asked)
    assert frozenset().union(*(each.wanted for each in asked)) - set(tools) == frozenset()


def test_a_missing_set_skips_the_short_requests(tmp_path: Path):
    text, figures = report.short_report(tmp_path, Embedder())
    assert text.startswith("Short requests are skipped: ")
    assert figures == {}
