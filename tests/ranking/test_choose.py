"""From a ranking to the names that are shown."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from toolscout.ranking.choose import (
    Pins,
    choose,
    choose_pins,
    find_best,
    lower_failed,
    sort_by_rank,
)


def test_best_first_and_ties_in_row_order():
    assert find_best(np.array([1, 3, 0, 3, 2], np.float32), 4) == [1, 3, 4, 0]


def test_what_has_no_score_is_never_chosen():
    assert find_best(np.array([0, 0.5, 0, -1], np.float32), 10) == [1]
    assert find_best(np.empty(0, np.float32), 3) == []


@given(st.lists(st.integers(0, 3).map(float), max_size=120), st.integers(1, 130))
def test_the_best_are_those_of_a_full_sort(scores: list[float], count: int):
    ordered = sorted((row for row, s in enumerate(scores) if s > 0), key=lambda r: (-scores[r], r))
    assert find_best(np.array(scores, np.float32), count) == ordered[:count]


def answer(ranked: list[int], pins: Pins, top_k: int) -> list[int]:
    kept = choose_pins(ranked, pins, top_k)
    chosen, last = choose(ranked, kept, top_k - len(kept))
    return chosen + last


def test_pins_without_evidence_follow_the_matches_in_their_own_order():
    assert answer([0, 1], Pins(others=(5, 4)), 5) == [0, 1, 5, 4]


def test_pins_without_evidence_leave_one_slot():
    assert answer([0, 1], Pins(others=(5, 4, 3)), 2) == [0, 5]
    assert answer([0, 1], Pins(others=(5,)), 1) == [0]


def test_a_pin_that_matches_keeps_its_rank():
    assert answer([5, 0, 1], Pins((5,)), 5) == [5, 0, 1]
    assert answer([0, 5, 1], Pins((5,), (4,)), 5) == [0, 5, 1, 4]


def test_a_pin_that_matches_is_in_the_answer_however_deep_it_ranks():
    assert answer([0, 1, 2, 3, 5], Pins((5,)), 3) == [0, 1, 5]


def test_pins_that_match_never_push_out_the_best_match():
    assert answer([0, 5, 4, 3], Pins((5, 4, 3)), 3) == [0, 5, 4]
    assert answer([5, 4, 3, 0], Pins((5, 4, 3)), 3) == [5, 4, 3]


def test_a_pin_deeper_than_the_ranked_rows_stands_behind_them_by_its_score():
    scores = np.array([9, 8, 0, 0, 1, 2, 0, 0], np.float32)
    assert sort_by_rank([0, 1, 6], Pins((4, 5), (6,)), scores) == [0, 1, 5, 4]


changes = st.lists(st.floats(-1.0, 1.0), min_size=12, max_size=12)


weights = st.lists(st.sampled_from([0.5, 0.9, 0.99, 1.0]), min_size=12, max_size=12)


@given(st.permutations(range(12)), changes, weights, st.sets(st.integers(0, 11)))
def test_failures_lower_a_tool_by_two_places_and_never_out_of_an_answer(
    chosen: list[int], learned: list[float], scores: list[float], fixed: set[int]
):
    failed = {row: -change for row, change in enumerate(learned) if change < 0}
    lowered = lower_failed(chosen, failed, np.array(scores, np.float32), fixed)
    assert sorted(lowered) == sorted(chosen)
    for row in chosen:
        assert lowered.index(row) - chosen.index(row) <= 2
    if not failed:
        assert lowered == chosen


def test_a_tool_that_failed_lets_those_behind_it_pass():
    failed, alike = {0: 1.0}, np.ones(4, np.float32)
    assert lower_failed([0, 1, 2, 3], failed, alike, ()) == [1, 2, 0, 3]
    assert lower_failed([0, 1], failed, alike, ()) == [1, 0]
    assert lower_failed([0, 1, 2, 3], failed, alike, {0}) == [0, 1, 2, 3]


def test_a_tool_that_failed_stays_before_those_far_behind_it():
    failed, scores = {0: 1.0}, np.array([1, 0.99, 0.9, 0.9])
    assert lower_failed([0, 1, 2, 3], failed, scores.astype(np.float32), ()) == [1, 0, 2, 3]
