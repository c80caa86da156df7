"""Patterns as regular expressions, in RE2's dialect."""

import pytest

from tests.support import TOOLS, compiled, select
from toolscout.ranking.regex import compile_pattern, literal_words, looks_like_regex


def matching(pattern: str, *tools: tuple[str, str]) -> list[int]:
    """Which of the tools (name, description) match; they must be given in name order."""
    expression = compile_pattern(pattern)
    assert expression is not None
    catalogue = compiled([{"name": name, "description": text} for name, text in tools])
    return catalogue.lines.matching(expression)


@pytest.mark.parametrize(
    "pattern",
    [
        "send.*mail",
        "a.+b",
        "mail|message",
        "(mail)|(note)",
        "[gs]et",
        r"\w+_file",
        r"\bread\b",
        r"\d+",
        "^get_",
        "_file$",
    ],
)
def test_patterns_that_are_regular_expressions(pattern: str):
    assert looks_like_regex(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "read a file",
        "what is this?",
        "e.g. mail",
        "create_issue",
        "mcp__github__create_issue",
        "C++",
        "a * b",
        r"escaped \.\* star",
        r"a \| b",
        "list [optional fields here]",
        "3+4",
        "(see below)",
        "天気予報",
    ],
)
def test_patterns_that_are_words(pattern: str):
    assert not looks_like_regex(pattern)


@pytest.mark.parametrize(
    "pattern", ["(", "[", "*", "a**", r"\1", "(?=ahead)", "(?<!behind)", "((x{1000}){1000})"]
)
def test_what_re2_refuses_is_refused_quietly(pattern: str, capfd: pytest.CaptureFixture[str]):
    assert compile_pattern(pattern) is None
    assert capfd.readouterr() == ("", "")


def test_lone_surrogates_are_refused():
    assert compile_pattern("\ud800") is None


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(a|aa)+c", "(.*)*x", "(a*)*(b*)*c"])
def test_catastrophic_patterns_end(pattern: str):
    found = matching(pattern, ("repeat", "a" * 8_000 + "!"))
    assert found in ([], [0])
    assert len(select([{"name": "repeat", "description": "a" * 8_000}], pattern).names) <= 1


def test_case_is_ignored():
    assert matching("READ_file", ("Read_File", "")) == [0]
    assert matching("ÜBER", ("über", "")) == [0]


def test_anchors_stand_at_the_ends_of_a_text():
    tools = [("a_get_x", "all"), ("get_a", "all"), ("z", "and get_c")]
    assert matching("^get_", *tools) == [1]
    assert matching("get_c$", *tools) == [2]
    assert matching("get_a$", *tools) == [1]


@pytest.mark.parametrize("pattern", ["alpha.*beta", r"alpha\s+beta", r"(?s)alpha.*beta"])
def test_a_match_never_spans_two_tools(pattern: str):
    assert matching(pattern, ("alpha", "alpha"), ("beta", "beta")) == []


def test_line_breaks_inside_a_text_do_not_hide_a_match():
    assert matching("alpha.*beta", ("x", "alpha\n\nbeta")) == [0]


@pytest.mark.parametrize("pattern", ["tool", "", ".*", "t|o"])
def test_every_matching_tool_is_found_once(pattern: str):
    tools = [(f"tool_{n:02}", "a tool") for n in range(50)]
    assert matching(pattern, *tools) == list(range(50))


def test_no_tools_no_matches():
    assert matching("x") == []
    assert matching(".*") == []


def test_escapes_and_classes_are_no_words_of_a_pattern():
    found = literal_words(r"\bsend[abc]+\d\w mail")
    assert "send" in found
    assert "mail" in found
    assert not set(found.split()) & {"b", "bsend", "abc", "d", "w"}


def test_the_regex_ranker_orders_its_matches_by_relevance():
    tools = [
        {"name": "look_into", "description": "Looks at a mail, a letter and an envelope"},
        {"name": "send_mail", "description": "Send mail"},
    ]
    assert select(tools, "mail", ranker="regex").names == ["send_mail", "look_into"]


def test_no_regex_hit_is_said():
    decision = select(TOOLS, "weather.*xylophone", ranker="regex")
    assert decision.names[0] == "get_weather"
    assert decision.ranking.ranker == "keyword"
    assert decision.ranking.note


def test_auto_tries_a_regex_and_then_everything_else():
    catalogue = compiled([{"name": "send_mail", "description": "Send mail"}, {"name": "other"}])
    assert select(catalogue, "send.*mail").ranking.ranker == "regex"
    assert select(catalogue, "mail.*xylophone").ranking.ranker == "hybrid"
    assert select(catalogue, "send mail").ranking.ranker == "hybrid"
