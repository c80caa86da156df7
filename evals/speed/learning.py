"""What learning costs: the same searches on two services, of which one has learned much.

The two are asked in turn, so that whatever else the machine does slows both. Patterns are words of
the catalog itself, drawn anew for every call; so is the feedback: four uses in five worked.
"""

import json
import random
from collections.abc import Iterator, Sequence
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from evals.speed.servers import Running, toolscout
from evals.speed.traffic import FEEDBACK, SEARCH

SIZES = (300, 10_000)
OBSERVATIONS = 100_000
BATCH = 1_000
PATTERNS = 5_000
WARM_UP = 20


def report(folder: Path, calls: int) -> Iterator[str]:
    """Yield a line of medians for each size and way of naming the tools, in milliseconds."""
    for size in SIZES:
        tools: list[dict[str, Any]] = json.loads((folder / f"{size}.json").read_text("utf-8"))
        with toolscout("--learning-days", "0") as off, toolscout() as on:
            first = {"pattern": "a", "tools": tools, "latency_budget_ms": 60_000}
            for each in (off, on):
                digest = _send(_open(each), SEARCH, first)
            rng = random.Random(0)
            words = sorted({word for tool in tools for word in _words(tool)})
            _teach(on, [tool["name"] for tool in tools], words, digest, rng)
            ways: dict[str, dict[str, Any]] = {"digest": {"catalog": digest}}
            if size < 1_000:
                ways["inline"] = {"tools": tools}
            for way, named in ways.items():
                before, after = _compare((off, on), words, named, calls, rng)
                times = f"{before:.3f} ms off, {after:.3f} ms on, {after / before:.2f} times"
                yield f"{size} tools, {way}: {times}"


def _teach(
    server: Running, names: Sequence[str], words: Sequence[str], digest: str, rng: random.Random
) -> None:
    patterns = [_pattern(words, 5, rng) for _ in range(PATTERNS)]
    connection = _open(server)
    for _ in range(OBSERVATIONS // BATCH):
        events = [
            {
                "pattern": rng.choice(patterns),
                "tool": rng.choice(names),
                "success": rng.random() < 0.8,
                "catalog": digest,
            }
            for _ in range(BATCH)
        ]
        _send(connection, FEEDBACK, {"events": events})


def _compare(
    servers: tuple[Running, Running],
    words: Sequence[str],
    named: dict[str, Any],
    calls: int,
    rng: random.Random,
) -> tuple[float, float]:
    """Median milliseconds of either server."""
    connections = [_open(server) for server in servers]
    times: tuple[list[float], list[float]] = ([], [])
    for call in range(WARM_UP + calls):
        asked = {"pattern": _pattern(words, 4, rng), "latency_budget_ms": 60_000, **named}
        body = json.dumps(asked).encode()
        for which in (0, 1) if call % 2 else (1, 0):
            began = perf_counter()
            _send(connections[which], SEARCH, body)
            if call >= WARM_UP:
                times[which].append((perf_counter() - began) * 1_000)
    return median(times[0]), median(times[1])


def _send(connection: HTTPConnection, path: str, body: dict[str, Any] | bytes) -> str:
    """One call; returns the digest that it told."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request("POST", path, content, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    if answer.status >= 300:
        raise RuntimeError(f"{path} answered {answer.status}")
    return answer.headers.get("x-catalog-digest", "")


def _open(server: Running) -> HTTPConnection:
    return HTTPConnection("127.0.0.1", server.port, timeout=120)


def _words(tool: dict[str, Any]) -> list[str]:
    return [word for word in (tool["description"] or "").lower().split() if word.isalpha()]


def _pattern(words: Sequence[str], count: int, rng: random.Random) -> str:
    return " ".join(rng.sample(words, count))
