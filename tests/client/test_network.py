"""What lies under a connection: nothing there holds up the host's loop or its end."""

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from tests.client.upstream import TOOLS, Exchange, peer
from toolscout.client import AsyncSelector
from toolscout.client.network import READ_BYTES

HANGING = """
import socket, time
socket.getaddrinfo = lambda *_, **__: time.sleep(3600)
from toolscout.client import Selector
with Selector("http://hanging.example", timeout=0.2, observers=()) as selector:
    print(selector.select("x", [{"name": "a"}, {"name": "b"}], 1).reason)
"""


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Name resolution hangs until the test is over; the names asked for."""
    asked: list[str] = []
    over = threading.Event()

    def hang(host: str, *_: object, **__: object) -> object:
        asked.append(host)
        over.wait(60)
        raise OSError("no such host")

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    yield asked
    over.set()


def test_a_process_ends_while_a_name_resolution_hangs():
    ended = subprocess.run(
        [sys.executable, "-c", HANGING], capture_output=True, text=True, timeout=60
    )
    assert ended.stdout == "api_error\n", ended.stderr


def test_names_that_hang_take_no_thread_of_the_hosts_loop(hanging):
    async def run() -> int:
        loop = asyncio.get_running_loop()
        async with AsyncSelector("http://hanging.example", timeout=0.2) as selector:
            calls = (selector.select("x", TOOLS) for _ in range(40))
            assert all(selection.fell_open for selection in await asyncio.gather(*calls))
            assert getattr(loop, "_default_executor", None) is None
            return await asyncio.to_thread(lambda: 7)

    assert asyncio.run(run()) == 7
    assert hanging == ["hanging.example"]  # one thread, however many calls wait


def test_a_host_is_reached_at_any_of_its_addresses(make, monkeypatch):
    info = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, 0)) for host in ("127.9.9.9", "")]
    info[1] = (*info[1][:4], ("127.0.0.1", 0))

    with peer(lambda exchange: exchange.select("read_file")) as fake:
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: info)
        selection = make(f"http://two.example:{fake.port}", trust_env=False).select("x", TOOLS)
    assert selection.names == ["read_file"]
    assert fake.requests[0].headers["host"].startswith("two.example")


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
    assert len(piece) > READ_BYTES * 10
