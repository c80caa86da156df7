"""A second try is made where it can help, no third; at most a tenth of all calls have one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.client.test_chaos import GOOD, assert_all_tools, scripted, status
from tests.client.upstream import TOOLS, Exchange, peer
from tests.support import until
from toolscout.client.breaker import BreakerPolicy, RetryBudget


def test_a_kept_connection_that_closes_just_then_is_tried_once_more(make):
    def answers_once_per_connection(exchange: Exchange) -> None:
        if exchange.number == 1:
            exchange.close()
        else:
            exchange.answer(GOOD)

    with peer(answers_once_per_connection) as fake:
        selector = make(fake.url)
        first = selector.select("x", TOOLS)
        second = selector.select("x", TOOLS)
    assert (first.attempts, second.attempts) == (1, 2)
    assert second.names == ["read_file"]
    assert not second.fell_open


def test_an_idle_connection_that_closed_meanwhile_costs_no_retry(make):
    def closes_after_each(exchange: Exchange) -> None:
        exchange.answer(GOOD)
        exchange.close()

    with peer(closes_after_each) as fake:
        selector = make(fake.url)
        for number in range(1, 4):
            selection = selector.select("x", TOOLS)
            assert selection.names == ["read_file"]
            assert len(fake.requests) == number
            until(lambda: fake.is_idle)  # it has said goodbye


def test_a_503_whose_patience_fits_is_tried_once_more(make):
    def busy_once(exchange: Exchange) -> None:
        if exchange.number == 0:
            exchange.answer(b"busy", 503, [("Retry-After", "0")])
        else:
            exchange.answer(GOOD)

    selection, fake, _ = scripted(make, busy_once)
    assert selection.names == ["read_file"]
    assert len(fake.requests) == 2


@pytest.mark.parametrize("patience", ["soon", "-1", "1e9", "Mon, 99 Foo 2020", "9" * 400])
def test_patience_that_is_nonsense_is_none(make, patience: str):
    selection, fake, _ = scripted(make, status(503, ("Retry-After", patience)))
    assert_all_tools(selection)
    assert len(fake.requests) == 1


# Retries add at most a tenth to the load, whatever happens.


NEVER = BreakerPolicy(consecutive=10**9, ratio=2.0)
"""A breaker that never opens, so that only the budget limits the load."""


@given(st.lists(st.booleans(), max_size=400))
def test_retries_are_at_most_one_or_a_tenth_of_the_calls(wanted: list[bool]):
    budget, retries = RetryBudget(), 0
    for calls, wants in enumerate(wanted, start=1):
        budget.deposit()
        retries += wants and budget.withdraw()
        assert retries <= max(1, calls / 10 + 1e-6)


def test_in_an_outage_without_a_breaker_the_load_grows_by_a_tenth_at_most(make):
    def busy(exchange):
        exchange.answer(b"", 503, [("Retry-After", "0")])

    calls = 200
    with peer(busy) as fake:
        selector = make(fake.url, breaker=NEVER)
        for _ in range(calls):
            assert selector.select("x", TOOLS).fell_open
        assert calls < len(fake.requests) <= calls * 1.1
