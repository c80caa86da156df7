"""What the client costs: an open breaker, a call, the load of retries in an outage.

    python -m evals.client

Prints the table of docs/client.md. The peer is a bare socket in this process that answers at once,
so a call's time is the client's own cost and the loopback's.
"""

import argparse
import asyncio
import logging
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from statistics import quantiles
from time import perf_counter
from typing import Any

from toolscout.client import AsyncSelector, Selector
from toolscout.client.breaker import BreakerPolicy

CALLS = 2_000
NEVER = BreakerPolicy(consecutive=10**9, ratio=2.0)
BODY = b'{"selected_names":["tool_7_do"]}'
GOOD = b"HTTP/1.1 200 OK\r\nX-Catalog-Digest: ab\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
BUSY = b"HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"


def tools(count: int) -> list[dict[str, Any]]:
    """OpenAI tools with a small schema each."""
    schema = {"type": "object", "properties": {"path": {"type": "string", "description": "Where"}}}
    return [
        {
            "type": "function",
            "function": {"name": f"tool_{n}_do", "description": f"Does {n}", "parameters": schema},
        }
        for n in range(count)
    ]


class Peer:
    """Answers every request on loopback with the same bytes, and counts."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.requests = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            data = b""
            while chunk := connection.recv(1 << 20):
                data += chunk
                head, found, body = data.partition(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
                if found and len(body) >= length:
                    self.requests += 1
                    data = b""
                    connection.sendall(self.answer)


def times(call: Callable[[], Any]) -> list[float]:
    """Seconds of each of many calls."""
    spent = []
    for _ in range(CALLS):
        began = perf_counter()
        call()
        spent.append(perf_counter() - began)
    return spent


def row(what: str, spent: list[float], note: str = "") -> str:
    """One line of the table, in microseconds."""
    cut = quantiles(spent, n=100)
    return f"| {what} | {cut[49] * 1e6:,.0f} | {cut[98] * 1e6:,.0f} | {note} |"


async def _awaited(url: str, offered: list[dict[str, Any]]) -> list[float]:
    spent = []
    async with AsyncSelector(url) as selector:
        for _ in range(CALLS):
            began = perf_counter()
            await selector.select("do seven", offered)
            spent.append(perf_counter() - began)
    return spent


def main() -> None:
    """Measure and print."""
    logging.getLogger("toolscout.client").setLevel(logging.ERROR)
    good, busy = Peer(GOOD), Peer(BUSY)
    print("| what | p50 µs | p99 µs | |\n|---|---|---|---|")
    for count in (10, 300):
        offered = tools(count)
        with Selector("http://127.0.0.1:9") as selector:
            for _ in range(5):
                selector.select("do seven", offered)
            spent = times(lambda: selector.select("do seven", offered))  # noqa: B023 - called here
            print(row(f"open breaker, {count} tools", spent))
        with Selector(good.url) as selector:
            spent = times(lambda: selector.select("do seven", offered))  # noqa: B023 - called here
            print(row(f"blocking call, {count} tools by digest", spent))
        print(
            row(f"awaited call, {count} tools by digest", asyncio.run(_awaited(good.url, offered)))
        )
    with Selector(busy.url, breaker=NEVER) as selector:
        times(lambda: selector.select("do seven", offered))
    load = busy.requests / CALLS - 1
    print(f"\nOutage without a breaker: {CALLS:,} calls, {busy.requests:,} requests, {load:+.1%}.")
    busy.requests = 0
    with Selector(busy.url) as selector:
        times(lambda: selector.select("do seven", offered))
    print(f"The same with the breaker: {busy.requests:,} requests.")


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m evals.client", description=__doc__).parse_args()
    main()
