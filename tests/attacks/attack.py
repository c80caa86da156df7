"""What an attack is, and what all of them send with."""

import json
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from evals.speed.processes import resident_mib
from tests.attacks.stalls import HEALTH, Ask
from tests.support import SEARCH, TOOLS, Process, running, until

FIRST = "first-0123456789abcdef0123456789abcdef"
SECOND = "second-0123456789abcdef0123456789abcde"
KEYS = f"first={FIRST}, second={SECOND}"
FLOOD = 8
"""Callers at once where an attack is a flood."""

MAX_GROWTH_MIB = 256 + 2 * FLOOD * 16
"""What a service may grow by: `cache_bytes`, and twice the bodies of a flood."""

Start = Callable[[Path], AbstractContextManager[Process]]
"""Starts the server that is attacked, in a folder of its own."""


def with_flags(*flags: str) -> Start:
    """Start a service of two tenants that learns."""
    return lambda folder: running(folder, *flags, TOOLSCOUT_API_KEYS=KEYS)


LEARNING = with_flags()


def half_more(idle: float) -> float:
    """Return the MiB that a proxy or gateway may reach, by what it takes when idle."""
    return 1.5 * idle + 64


def of_a_service(server: Process) -> tuple[Ask, Ask]:
    """Probe the health of a service, and search a known list as its second tenant."""
    body = {"pattern": "read a file", "tools": TOOLS}
    key = {"authorization": f"Bearer {SECOND}"}
    until(lambda: "cache=hit" in server.post(body, headers=key).headers["x-tool-selection"])
    headers = {"content-type": "application/json", **key}
    return HEALTH, Ask("POST", SEARCH, json.dumps(body).encode(), headers)


@dataclass(frozen=True)
class Attack:
    """One attack: its name, what it sends to a server, and what it sends before."""

    name: str
    run: Callable[[Process], None]
    prepare: Callable[[Process], None] = lambda _: None
    start: Start = LEARNING
    others: Callable[[Process], tuple[Ask, Ask | None]] = of_a_service
    """Makes the probe, and what the second caller asks for, if there is one."""
    resident: Callable[[int], float] = resident_mib
    """Measures the MiB of the process that is attacked."""
    most_mib: Callable[[float], float] = lambda base: base + MAX_GROWTH_MIB
    """What these may grow to from what they were before."""


def post(
    server: Process, path: str, body: bytes | dict[str, Any], method: str = "POST"
) -> httpx2.Response:
    """Send one request of the first tenant on a connection of its own."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"content-type": "application/json", "authorization": f"Bearer {FIRST}"}
    with httpx2.Client(base_url=server.url, timeout=120, trust_env=False, verify=False) as client:
        return client.request(method, path, content=content, headers=headers)


def at_once(count: int, call: Callable[[], Any]) -> None:
    """Make the same call from several threads."""
    threads = [threading.Thread(target=call) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
