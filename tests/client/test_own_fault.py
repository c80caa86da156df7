"""What goes wrong on the caller's side: it falls open, and the service is not blamed for it."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpcore2
import pytest

from tests.client.test_chaos import CAP_S, black_hole
from tests.client.upstream import NAMES, TOOLS, Exchange, peer
from toolscout.client import AsyncSelector, Reason, Selector


class Hostile(dict[str, Any]):
    """A tool that raises as soon as anything is asked of it."""

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("hostile")

    def get(self, key: str, default: Any = None) -> Any:
        raise RuntimeError("hostile")

    def __contains__(self, key: object) -> bool:
        raise RuntimeError("hostile")


class Unsized(list[Any]):
    def __len__(self) -> int:
        raise RuntimeError("hostile")


class Unread(list[Any]):
    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError("hostile")

    def __getitem__(self, index: Any) -> Any:
        raise RuntimeError("hostile")


@pytest.mark.parametrize("fallback", ["all", "relevance"])
def test_tools_that_cannot_be_listed_fall_open(make, fallback: str):
    with peer(lambda exchange: exchange.select("read_file")) as fake:
        selector = make(fake.url, fallback=fallback)
        selection = selector.select("open a file", Unread(TOOLS))
        assert (selection.fell_open, selection.reason) == (True, Reason.API_ERROR)
        assert selection.detail == "the tools cannot be read (RuntimeError)"
        assert selection.tools == []
        assert fake.requests == []
        assert selector.selector.breaker.failures == 0


@pytest.mark.parametrize("place", [0, 3, len(TOOLS)])
def test_a_tool_that_raises_when_it_is_read_is_passed_on_unsearched(make, place: int):
    hostile = Hostile(name="x")
    tools = [*TOOLS[:place], hostile, *TOOLS[place:]]
    with peer(lambda exchange: exchange.select("read_file")) as fake:
        selection = make(fake.url).select("open a file", tools)
        assert selection.names == ["read_file"]
        assert selection.tools[1] is hostile
        assert [tool["name"] for tool in fake.requests[0].json["tools"]] == NAMES


def test_a_list_without_a_length_is_searched(make):
    with peer(lambda exchange: exchange.select("read_file")) as fake:
        assert make(fake.url).select("open a file", Unsized(TOOLS)).names == ["read_file"]


@pytest.mark.parametrize("fallback", ["all", "relevance"])
def test_the_cap_holds_for_a_pattern_of_any_length(make, fallback: str):
    tools = [{"name": "a" * size, "description": "x"} for size in range(1, 200)]
    with peer(black_hole) as fake:
        selector = make(fake.url, timeout=CAP_S, fallback=fallback)
        selection = selector.select("a" * 8_000_000, tools)
        assert not fake.ended
        fake.stopping.set()
    assert selection.fell_open


def test_waiting_for_a_connection_of_ones_own_is_not_the_services_fault():
    with peer(black_hole) as fake, Selector(fake.url, timeout=CAP_S, max_connections=1) as selector:
        with ThreadPoolExecutor(8) as pool:
            selections = list(pool.map(lambda _: selector.select("x", TOOLS), range(8)))
        fake.stopping.set()
        assert all(selection.names == NAMES for selection in selections)
        blamed = [s for s in selections if s.detail == "no usable answer within the timeout"]
        waited = [s for s in selections if s.detail == "no connection was free within the timeout"]
        assert (len(blamed), len(waited)) == (1, 7)
        assert selector.breaker.failures <= 1
        assert not selector.breaker.is_open


def test_the_loop_gets_its_turn_between_the_pieces_of_a_flood():
    piece = b"1\r\n \r\n" * 10_000

    def flood(exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while not exchange.stopping.is_set():
            exchange.send(piece)

    async def run() -> int:
        turns = 0
        async with AsyncSelector(fake.url, timeout=0.3) as selector:
            call = asyncio.ensure_future(selector.select("x", TOOLS))
            while not call.done():
                await asyncio.sleep(0)
                turns += 1
            assert call.result().fell_open
        return turns

    with peer(flood) as fake:
        turns = asyncio.run(run())
        fake.stopping.set()
    assert turns > 10


@pytest.mark.parametrize("proxy", ["foo://x:1", "socks5://127.0.0.1:1", "http://[::1"])
def test_a_proxy_variable_that_cannot_be_used_is_named_once(monkeypatch, caplog, proxy: str):
    monkeypatch.setenv("ALL_PROXY", proxy)
    with Selector("http://selector.invalid", observers=()) as selector:
        selections = [selector.select("x", TOOLS) for _ in range(8)]
        assert {selection.reason for selection in selections} == {Reason.API_ERROR}
        assert "proxy" in selections[0].detail
        assert "proxy variable" in caplog.text
        assert len(caplog.messages) == 1
        assert selector.breaker.failures == 0


def test_an_error_of_a_library_is_logged_as_what_it_is_and_not_as_the_users_proxy(
    monkeypatch, caplog
):
    def without_a_backend(*, network_backend: None = None, **_: object) -> None:
        raise TypeError("unexpected keyword argument 'network_backend'")

    monkeypatch.setattr(httpcore2, "AsyncConnectionPool", without_a_backend)
    with Selector("http://127.0.0.1:9", observers=()) as selector:
        selections = [selector.select("x", TOOLS) for _ in range(8)]
        assert {selection.detail for selection in selections} == {"error of the client (TypeError)"}
        assert selector.breaker.failures == 0
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert "unexpected keyword argument 'network_backend'" in caplog.text
    assert "proxy" not in caplog.text


def test_an_error_of_ones_own_while_connecting_is_not_blamed_on_the_service(monkeypatch, caplog):
    async def broken(*_: object, **__: object) -> None:
        raise AttributeError("connect_tcp takes other arguments now")

    monkeypatch.setattr(httpcore2.AnyIOBackend, "connect_tcp", broken)
    with Selector("http://127.0.0.1:9", observers=()) as selector:
        selection = selector.select("x", TOOLS)
        assert selection.detail == "error of the client (AttributeError)"
        assert selector.breaker.failures == 0
    assert "connect_tcp takes other arguments now" in caplog.text
