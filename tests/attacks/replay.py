"""The attacks of `make attacks`, each replayed against a fresh server with two callers.

An attack is a function of a running server that sends what the first caller sends. What it did to
others is measured by `stalls.watching`. To add one, append it in `attacks`.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

from tests.attacks.attack import FLOOD, Attack, at_once, post
from tests.attacks.dearest import CATALOG, Dear, dearest
from tests.attacks.of_gateway import of_gateway
from tests.attacks.of_mcp import of_mcp
from tests.attacks.of_peers import of_peers
from tests.attacks.of_proxy import of_proxy
from tests.attacks.stalls import Watched, watching
from tests.attacks.test_edge import FLOODS, pour
from tests.attacks.test_filter import MANY, REPEATED, WORDS
from tests.attacks.test_patterns import ALTERNATIVES, BATCH, COUNTED, STATES
from tests.contract.test_calls import FILTER
from tests.support import SEARCH, Process, crowd, until

LEAST_SHARE = 0.99


def _poured(flood: tuple[bytes, bytes, int]) -> Callable[[Process], None]:
    return lambda server: at_once(FLOOD, lambda: pour(server, *flood))


def _silent(server: Process) -> None:
    head = f"POST {SEARCH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n".encode()
    with ExitStack() as callers:
        silent = [callers.enter_context(server.connect()) for _ in range(200)]
        for caller in silent:
            caller.sendall(head)
        for caller in silent:
            caller.recv(65_536)


def _once(dear: Dear) -> Attack:
    def prepare(server: Process) -> None:
        body()  # writing it holds this process's lock, and the probes are of this process
        if dear.registered:
            post(server, CATALOG, {"tools": crowd(dear.registered)}, "PUT").raise_for_status()

    body = cache(dear.body)

    def run(server: Process) -> None:
        answer = post(server, dear.path, body(), dear.method)
        assert answer.is_success is not dear.is_refused, answer.text

    return Attack(f"dearest: {dear.name}", run, prepare)


def _flood(path: str, text: bytes) -> Callable[[Process], None]:
    return lambda server: at_once(FLOOD, lambda: post(server, path, text))


def _pattern(pattern: str, tools: Sequence[Any]) -> Callable[[Process], None]:
    def run(server: Process) -> None:
        digest = post(server, SEARCH, {"pattern": "x", "tools": tools}).headers["x-catalog-digest"]
        known = {"pattern": "x", "catalog": digest}
        until(lambda: post(server, SEARCH, known).status_code == 200)
        body = {"pattern": pattern, "catalog": digest, "ranker": "regex"}
        at_once(FLOOD, lambda: post(server, SEARCH, body))
        batch = {"patterns": [f"{n}{pattern}" for n in range(32)], "catalog": digest}
        post(server, BATCH, batch)

    return run


def attacks(catalogs: Path | None) -> list[Attack]:
    """List all attacks; on real catalogs where their folder is given, else on invented ones."""
    found = []
    for size in (50, 300, 1_000, 10_000):
        tools: list[Any] = crowd(size)
        if catalogs is not None:
            tools = json.loads((catalogs / f"{size}.json").read_text())
        for name, pattern in (("counter", COUNTED), ("260 ways", ALTERNATIVES), ("states", STATES)):
            found.append(Attack(f"pattern: {name}, {size:,} tools", _pattern(pattern, tools)))
    for name, body in (("letters", REPEATED), ("words", WORDS), ("names", MANY)):
        text = json.dumps(body).encode()
        found.append(Attack(f"filter: {name}, {FLOOD} at once", _flood(FILTER, text)))
    found += map(_once, dearest())
    found += [Attack(f"heads: {name}", _poured(flood)) for name, flood in FLOODS.items()]
    found.append(Attack("heads: 200 without a key, no body", _silent))
    found += of_peers()
    found += of_mcp()
    found += of_proxy()
    found += of_gateway()
    return found


def replay(attack: Attack, folder: Path) -> Watched:
    """Run one attack against a fresh server while a second caller asks for what is known."""
    with attack.start(folder) as server:
        probe, second = attack.others(server)
        attack.prepare(server)
        with watching(server, second, probe, attack.resident) as seen:
            attack.run(server)
    return seen


def broken(attack: Attack, seen: Watched, most_units: float) -> list[str]:
    """Say which promises an attack broke."""
    promises = {
        f"a stall of {most_units} units": seen.stall_units <= most_units,
        "probes": seen.probes > 0 and not seen.failed_probes,
        "the second caller's requests": seen.share >= LEAST_SHARE,
        "memory": seen.rss_mib <= attack.most_mib(seen.base_mib),
    }
    return [promise for promise, is_kept in promises.items() if not is_kept]
