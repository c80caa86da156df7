"""The relevance filter agrees with the proxy's own tables."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolscout.contract.bounds import MAX_PATTERN_CHARS
from toolscout.text.relevance import (
    Candidate,
    QueryWords,
    keep_count,
    keep_relevant,
    measure_relevance,
    split_tokens,
)


@pytest.fixture(scope="module")
def tables(data: Path) -> dict[str, Any]:
    content = (data / "cases" / "gateway-algorithms.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(content)["relevance"]
    return found


def test_words(tables: dict[str, Any]):
    for case in tables["tokenize"]:
        assert split_tokens(case["input_lowercased_first"]) == case["tokens"]


def test_counts(tables: dict[str, Any]):
    for case in tables["keep_count"]:
        limits = {key: case[key] for key in ("min_tools", "max_tools", "target_ratio")}
        assert keep_count(case["total"], **limits) == case["keep"]


def test_scores(tables: dict[str, Any]):
    for case in tables["score"]:
        tool = Candidate(case["name"], case["description"])
        score = measure_relevance(tool, QueryWords(case["query"]))
        score += 1_000 * case["expanded"] + 100 * case["always_keep"] + 100 * case["recently_used"]
        assert score == case["score"], case


@pytest.mark.parametrize(
    ("said", "name", "named"),
    [
        ("an apple a day", "a", True),
        ("change my address", "add", False),
        ("re-add it, then add", "add", True),
        ("added added add", "add", True),
        ("use get_user_id", "get_user", False),
        ("call get_user!", "get_user", True),
        ("天気予報を見る", "天気予報", True),
        ("anything", "", False),
    ],
)
def test_a_name_counts_where_it_is_a_word_of_its_own(said: str, name: str, named: bool):
    assert QueryWords(said).names(name) is named


def _is_named_naively(said: str, name: str) -> bool:
    """Look at each place where the name occurs, as slow as that is."""
    starts = [at for at in range(len(said)) if name and said.startswith(name, at)]
    return any(
        not re.match("[a-z0-9_]", said[at - 1 : at])
        and not re.match("[a-z0-9_]", said[at + len(name) :])
        for at in starts
    )


@given(st.text("ab_- 天.", max_size=24), st.text("ab_- 天.", max_size=5))
def test_a_name_is_found_where_looking_at_each_place_finds_it(said: str, name: str):
    assert QueryWords(said).names(name) is _is_named_naively(said, name)


def test_a_word_counts_each_time_it_is_said():
    tool = Candidate("x", "find an item")
    assert measure_relevance(tool, QueryWords("item " * 7)) == 7 * measure_relevance(
        tool, QueryWords("item")
    )


def test_of_a_long_query_what_asks_counts():
    tools = [Candidate(name, "") for name in ("alpha", "omega")]
    query = f"Show alpha. {'The omega is old. ' * 1_000}Was it so?"
    assert measure_relevance(tools[0], QueryWords(query)) > 0
    assert len(query) > MAX_PATTERN_CHARS


def test_work_ends_when_the_pause_says_so():
    seen = []

    def pause() -> None:
        seen.append(1)
        if len(seen) == 3:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        keep_relevant([Candidate(str(n), "") for n in range(9)], "x", pause=pause)
    assert len(seen) == 3


names = st.lists(st.sampled_from("abcdefgh"), unique=True)


@given(names, st.text("abc ", max_size=9), st.integers(0, 9), st.integers(1, 9), names)
def test_a_split_loses_and_doubles_nothing(there, query, least, most, forced):
    tools = [Candidate(name, name * 3) for name in there]
    limits = {"min_tools": least, "max_tools": most}
    kept, deferred = keep_relevant(tools, query, always_keep=forced, **limits)
    assert sorted(kept + deferred) == sorted(there)
    assert not set(deferred) & set(forced)
    assert len(kept) >= min(keep_count(len(there), **limits), len(there))
