"""From a ranking to the names that are shown."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolscout.ranking.select import best, choose

ROWS = {name: row for row, name in enumerate("abcdefgh")}


def test_best_first_and_ties_in_row_order():
    assert best(np.array([1, 3, 0, 3, 2], np.float32), 4) == [1, 3, 4, 0]


def test_what_has_no_score_is_never_chosen():
    assert best(np.array([0, 0.5, 0, -1], np.float32), 10) == [1]
    assert best(np.empty(0, np.float32), 3) == []


@given(
    st.lists(st.integers(0, 3).map(float), max_size=120),
    st.integers(1, 130),
)
def test_the_best_are_those_of_a_full_sort(scores: list[float], count: int):
    ordered = sorted((row for row, s in enumerate(scores) if s > 0), key=lambda r: (-scores[r], r))
    assert best(np.array(scores, np.float32), count) == ordered[:count]


def test_pins_follow_the_matches_in_their_own_order():
    assert choose([0, 1], ROWS, ["f", "e"], 5, "match") == ([0, 1, 5, 4], [5, 4])


def test_pins_leave_one_slot():
    assert choose([0, 1], ROWS, ["f", "e", "d"], 2, "match") == ([0, 5], [5])
    assert choose([0, 1], ROWS, ["f"], 1, "match") == ([0], [])


def test_a_pin_that_matches_stands_once_and_as_a_pin():
    assert choose([0, 5, 1], ROWS, ["f"], 5, "match") == ([0, 1, 5], [5])


def test_pins_that_are_unknown_or_repeated_count_once():
    assert choose([0], ROWS, ["zz", "f", "f"], 5, "match") == ([0, 5], [5])


def test_weak_answers_keep_their_pins():
    assert choose([0, 1], ROWS, ["f"], 5, "weak") == ([0, 1, 5], [5])


@pytest.mark.parametrize(("no_match", "rows"), [("empty", []), ("pins", [5, 4])])
def test_no_match_is_empty_or_the_pins(no_match: str, rows: list[int]):
    assert choose([0, 1], ROWS, ["f", "e"], 5, "no_match", no_match) == (rows, rows)
