"""Which ranker still fits into the time that is left."""

import pytest

from toolscout.ranking.ladder import RUNGS, Costs, affordable, bucket

PLENTY = 60_000.0


@pytest.mark.parametrize("ranker", list(RUNGS))
def test_with_time_enough_nothing_steps_down(ranker: str):
    assert affordable(ranker, PLENTY, Costs(), 300) is None


@pytest.mark.parametrize("ranker", list(RUNGS))
def test_without_any_time_words_must_do(ranker: str):
    assert affordable(ranker, -1.0, Costs(), 300) == "keyword"


def test_every_ranker_has_its_way_down():
    assert set(RUNGS) == {"auto", "hybrid", "rrf", "okapi", "semantic", "bm25", "regex"}
    assert all(rungs[0] == ranker and rungs[-1] == "keyword" for ranker, rungs in RUNGS.items())


def test_the_middle_rung_is_taken_when_it_fits():
    costs = Costs()
    for _ in range(100):
        costs.learn(f"hybrid:{bucket(300)}", 50.0)
        costs.learn(f"bm25:{bucket(300)}", 1.0)
    assert affordable("hybrid", 10.0, costs, 300) == "bm25"
    assert affordable("hybrid", 0.5, costs, 300) == "keyword"
    assert affordable("hybrid", 500.0, costs, 300) is None


def test_costs_are_learned_and_forgotten():
    costs = Costs()
    for _ in range(200):
        costs.learn("x", 8.0)
    assert costs.expected("x") == pytest.approx(8.0)
    assert costs.expected("x", 10) == pytest.approx(80.0)
    for _ in range(200):
        costs.learn("x", 2.0)
    assert costs.expected("x") == pytest.approx(2.0)


def test_estimates_are_on_the_safe_side():
    costs = Costs()
    costs.learn("x", 4.0)
    assert costs.estimate("x") > costs.expected("x")


def test_one_slow_answer_does_not_condemn_a_ranker():
    costs = Costs()
    for _ in range(50):
        costs.learn("x", 1.0)
    costs.learn("x", 50.0)
    assert costs.expected("x") < 10


def test_a_ranker_that_was_too_dear_is_tried_again():
    costs = Costs()
    for _ in range(50):
        costs.learn(f"hybrid:{bucket(300)}", 100.0)
    rungs = [affordable("hybrid", 20.0, costs, 300) for _ in range(200)]
    assert rungs[0] == "bm25"
    assert rungs[-1] is None
