"""The circuit breaker: when it opens, how long it stays open, and what closes it."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.client.upstream import NAMES, TOOLS, Exchange, peer
from tests.support import until
from toolscout.client import InvalidArgument, Reason, Selector
from toolscout.client.breaker import BreakerPolicy, CircuitBreaker


def fail(breaker: CircuitBreaker, times: int, now: float) -> None:
    for _ in range(times):
        ticket = breaker.admit(now)
        assert ticket is not None
        breaker.record(ticket, True, now)


def pass_(breaker: CircuitBreaker, times: int, now: float) -> None:
    for _ in range(times):
        ticket = breaker.admit(now)
        assert ticket is not None
        breaker.record(ticket, False, now)


def still() -> CircuitBreaker:
    """Return a breaker whose pauses do not vary."""
    return CircuitBreaker(BreakerPolicy(jitter=0.0))


def test_five_failures_in_a_row_open_it():
    breaker = still()
    fail(breaker, 4, 0)
    pass_(breaker, 1, 0)
    fail(breaker, 4, 0)
    assert breaker.admit(0) is not None
    fail(breaker, 1, 0)
    assert breaker.admit(0) is None


def test_half_of_the_last_twenty_open_it():
    breaker = still()
    for _ in range(9):
        pass_(breaker, 1, 0)
        fail(breaker, 1, 0)
    pass_(breaker, 2, 0)
    assert not breaker.is_open
    fail(breaker, 1, 0)
    assert breaker.is_open


def test_after_its_pause_one_probe_goes_through():
    breaker = still()
    fail(breaker, 5, 0)
    assert breaker.admit(4.9) is None
    probe = breaker.admit(5.0)
    assert probe is not None
    assert breaker.admit(5.0) is None
    breaker.record(probe, False, 5.1)
    assert breaker.admit(5.1) is not None


def test_pauses_double_up_to_a_minute():
    breaker = still()
    fail(breaker, 5, 0)
    now, pauses = 0.0, []
    for _ in range(6):
        pause = 0.0
        while (probe := breaker.admit(now + pause)) is None:
            pause += 1.0
        pauses.append(pause)
        now += pause
        breaker.record(probe, True, now)
    assert pauses == [5, 10, 20, 40, 60, 60]


def test_an_abandoned_probe_lets_another_through():
    breaker = still()
    fail(breaker, 5, 0)
    probe = breaker.admit(5)
    assert probe is not None
    breaker.withdraw(probe)
    assert breaker.admit(5) is not None


def test_calls_from_before_it_opened_do_not_close_it():
    breaker = still()
    early = breaker.admit(0)
    assert early is not None
    fail(breaker, 5, 0)
    breaker.record(early, False, 1)
    assert breaker.admit(1) is None


def test_pauses_vary_by_a_fifth_and_no_more():
    for _ in range(50):
        breaker = CircuitBreaker()
        fail(breaker, 5, 0)
        assert breaker.admit(3.99) is None
        assert breaker.admit(6.01) is not None


def test_an_open_circuit_asks_nobody_and_keeps_every_tool(make):
    def broken(exchange: Exchange) -> None:
        exchange.answer(b"", status=500)

    with peer(broken) as fake:
        selector = make(fake.url)
        for _ in range(5):
            assert selector.select("x", TOOLS).reason is Reason.API_ERROR
        selection = selector.select("x", TOOLS)
        assert len(fake.requests) == 5
    assert selection.reason is Reason.CIRCUIT_OPEN
    assert selection.names == NAMES
    assert selection.attempts == 0


def test_closing_while_calls_are_under_way_says_nothing_about_the_service():
    def slow(exchange: Exchange) -> None:
        exchange.stopping.wait(60)

    with peer(slow) as fake:
        selector = Selector(fake.url, timeout=30)
        with ThreadPoolExecutor(6) as pool:
            calls = [pool.submit(selector.select, "x", TOOLS) for _ in range(6)]
            until(lambda: len(fake.requests) == 6)
            selector.close()
            selections = [call.result(20) for call in calls]
        assert {selection.detail for selection in selections} == {"the selector was closed"}
        assert all(selection.tools == TOOLS for selection in selections)
        assert not selector.breaker.is_open
        assert selector.breaker.failures == 0


@pytest.mark.parametrize(
    "wrong",
    [{"window": 0}, {"consecutive": -1}, {"ratio": -0.5}, {"jitter": -0.1}, {"first_pause_s": "5"}],
)
def test_a_policy_is_not_made_from_numbers_without_sense(wrong):
    with pytest.raises(InvalidArgument, match=f"breaker.{next(iter(wrong))}"):
        BreakerPolicy(**wrong)
