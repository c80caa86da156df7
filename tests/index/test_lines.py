"""Patterns as regular expressions, in RE2's dialect."""

from time import perf_counter

import pytest

from tests.support import TOOLS, compiled, crowd, select
from toolscout.index.lines import INVALID, NO_HIT, SLICE_WORK, TOO_COSTLY, scan
from toolscout.text.regex import (
    MAX_ALTERNATIVES,
    MAX_PROGRAM,
    compile_pattern,
    find_literal_words,
    is_like_regex,
)


def matching(pattern: str, *tools: tuple[str, str]) -> list[int]:
    """Which of the tools (name, description) match; they must be given in name order."""
    expression = compile_pattern(pattern)
    assert expression is not None
    catalog = compiled([{"name": name, "description": text} for name, text in tools])
    return catalog.lines.matching(expression)[0]


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
    assert is_like_regex(pattern)


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
    assert not is_like_regex(pattern)


@pytest.mark.parametrize("pattern", ["(", "[", "*", "a**", r"\1", "(?=ahead)", "(?<!behind)"])
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
    assert matching(r"\Aget_\w\z", *tools) == [1]
    assert matching(r"\Aget_.*|.*_x\Z", *tools) == [0, 1]
    assert matching(r"\\A", *tools) == []
    assert matching("^$", *tools) == matching(r"^\s*$", *tools) == []


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
    found = find_literal_words(r"\bsend[abc]+\d\w mail")
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
    assert decision.ranking.note == NO_HIT
    assert decision.degraded is None


def test_an_invalid_pattern_is_told_apart_from_one_without_a_hit():
    decision = select(TOOLS, "weather(", ranker="regex")
    assert decision.names[0] == "get_weather"
    assert decision.ranking.note == INVALID
    assert decision.degraded is None


@pytest.mark.parametrize(
    "pattern",
    [
        "zq|(.{0,1000}~)",
        "x{101}",
        "x{7,1000000000000}",
        "|".join(["weather"] * (MAX_ALTERNATIVES + 1)),
        "|".join(f".*{a}.*{b}#~" for a in "abcdefghijklm" for b in "abcdefghijklmnopqrst"),
        r"(\pL+ ){30}~",
        "." * 4_000,
    ],
)
def test_what_costs_too_much_by_its_size_is_answered_by_words_and_says_so(pattern: str):
    decision = select(TOOLS, f"weather {pattern}", ranker="regex")
    assert decision.names[0] == "get_weather"
    assert decision.ranking.note == TOO_COSTLY
    assert decision.degraded == "keyword"


def test_a_scan_ends_with_its_deadline_and_says_how_far_it_came():
    tools = [{"name": f"tool_{n}", "description": "m" * 2_000} for n in range(200)]
    lines = compiled(tools).lines
    expression = compile_pattern("[a-m].{60}~")
    assert expression is not None
    asked = []
    found, nbytes = lines.matching(expression, lambda: asked.append(1) is None and len(asked) == 3)
    assert found == []
    assert len(asked) == 3
    assert 0 < nbytes < lines.size
    assert scan("[a-m].{60}~", lines, deadline=perf_counter() - 1).too_costly


def test_the_work_between_two_looks_at_the_deadline_is_bounded():
    lines = compiled([{"name": f"tool_{n}", "description": "m" * 500} for n in range(300)]).lines
    for pattern in ("get_.*", ".{0,50}~", r"\w{100}", r"\pL+.*\pL~"):
        expression = compile_pattern(pattern)
        assert expression is not None
        looks = []
        lines.matching(expression, lambda looks=looks: looks.append(1) is not None)
        between = lines.size / (len(looks) + 1)
        assert between * expression.programsize <= SLICE_WORK + 2 * lines.longest * MAX_PROGRAM


@pytest.mark.parametrize("pattern", ["tool_1.*", r"\bspin\b", "tool_7_|gadget_12", "(?:x?){50}1"])
def test_slices_find_what_one_pass_finds(pattern: str, monkeypatch: pytest.MonkeyPatch):
    lines = compiled(crowd(60)).lines
    expression = compile_pattern(pattern)
    assert expression is not None
    whole = lines.matching(expression)
    monkeypatch.setattr("toolscout.index.lines.SLICE_WORK", 1)
    assert lines.matching(expression) == whole


def test_auto_tries_a_regex_and_then_everything_else():
    catalog = compiled([{"name": "send_mail", "description": "Send mail"}, {"name": "other"}])
    assert select(catalog, "send.*mail").ranking.ranker == "regex"
    assert select(catalog, "mail.*xylophone").ranking.ranker == "hybrid"
    assert select(catalog, "send mail").ranking.ranker == "hybrid"
