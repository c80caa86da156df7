"""A second try is made where it can help, and no third."""

import pytest

from tests.client.test_chaos import GOOD, assert_all_tools, scripted, status
from tests.client.upstream import TOOLS, Exchange, peer
from tests.support import until


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
