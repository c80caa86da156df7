"""A small HTTP client for load: raw sockets, keep-alive, as little work as possible per call."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.client import HTTPResponse
from itertools import takewhile
from math import inf
from time import perf_counter
from typing import Any


@dataclass(slots=True)
class Timings:
    """Latencies in seconds of one run, and how long the run took."""

    latencies: list[float] = field(default_factory=list)
    wall: float = 0.0
    statuses: dict[int, int] = field(default_factory=dict)
    clock: Callable[[], float] = perf_counter
    cpu_s: float = 0.0
    """Processor time that the serving process took for all of it, if it was read."""

    def quantile(self, share: float) -> float:
        """Latency in milliseconds that `share` of the calls stay below."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1_000

    @property
    def cpu_ms(self) -> float:
        """Milliseconds of processor time for each call."""
        return self.cpu_s * 1_000 / len(self.latencies)

    @property
    def rate(self) -> float:
        """Calls per second."""
        return len(self.latencies) / self.wall


def request(path: str, body: bytes) -> bytes:
    """One POST as bytes."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def call(port: int, payload: bytes) -> tuple[int, dict[str, str], bytes]:
    """One call on a connection of its own: status, headers, body."""
    with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
        connection.sendall(payload)
        with HTTPResponse(connection) as answer:
            answer.begin()
            headers = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, headers, answer.read()


def run(port: int, payloads: Sequence[bytes], connections: int, *how: Any, **more: Any) -> Timings:
    """Send requests, each with the next payload, over some connections at once, as `arun` does."""
    return asyncio.run(arun(port, payloads, connections, *how, **more))


async def arun(
    port: int,
    payloads: Sequence[bytes],
    connections: int,
    calls: int = 10**9,
    clock: Callable[[], float] = perf_counter,
    seconds: float = inf,
) -> Timings:
    """Send so many requests, or for some time; by another clock, such as a process's."""
    timings = Timings(clock=clock)
    began = perf_counter()
    turn = takewhile(lambda _: perf_counter() - began < seconds, range(calls))
    await asyncio.gather(
        *(_connection(port, payloads, turn, timings) for _ in range(min(connections, calls)))
    )
    timings.wall = perf_counter() - began
    return timings


async def _connection(
    port: int, payloads: Sequence[bytes], turn: "object", timings: Timings
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    for number in turn:  # type: ignore[attr-defined]
        sent = payloads[number % len(payloads)]
        began = timings.clock()
        writer.write(sent)
        head = await reader.readuntil(b"\r\n\r\n")
        lowered = head.lower()
        start = lowered.index(b"content-length:") + 15
        await reader.readexactly(int(lowered[start : lowered.index(b"\r\n", start)]))
        timings.latencies.append(timings.clock() - began)
        status = int(head[9:12])
        timings.statuses[status] = timings.statuses.get(status, 0) + 1
        if b"connection: close" in lowered:
            writer.close()
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    writer.close()
