"""What an attack is, and what all of them send with."""

import json
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.support import Server, running

FIRST = "first-0123456789abcdef0123456789abcdef"
SECOND = "second-0123456789abcdef0123456789abcde"
KEYS = f"first={FIRST}, second={SECOND}"
FLOOD = 8
"""Callers at once where an attack is a flood."""

Start = Callable[[Path], AbstractContextManager[Server]]
"""Starts the server that is attacked, in a folder of its own."""


def with_flags(*flags: str) -> Start:
    """Start a service of two tenants that learns."""
    return lambda folder: running(folder, "--learning", *flags, TOOLSCOUT_API_KEYS=KEYS)


LEARNING = with_flags()


@dataclass(frozen=True)
class Attack:
    """One attack: its name, what it sends to a server, and what it sends before."""

    name: str
    run: Callable[[Server], None]
    prepare: Callable[[Server], None] = lambda _: None
    start: Start = LEARNING
    is_short: bool = False
    """Whether `make test` replays it too."""
    most_mib: Callable[[float], float] | None = None
    """The memory that may be reached, by that before the attack; None for the service, where a
    second tenant searches meanwhile."""


def post(
    server: Server, path: str, body: bytes | dict[str, Any], method: str = "POST"
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
