"""Retries add at most a tenth to the load, whatever happens."""

from hypothesis import given
from hypothesis import strategies as st

from tests.client.upstream import TOOLS, peer
from toolscout.client.breaker import BreakerPolicy, RetryBudget

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
