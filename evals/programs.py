"""Programs that run as long as a block lasts, for measurements and tests."""

import random
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

START_LIMIT_S = 120.0
"""How long a program may take until it is ready."""

END_LIMIT_S = 30.0
"""How long it may take to end before it is killed."""

PORTS = range(20_000, 32_000)
"""Ports below those that Linux gives to connections and to listeners that name none."""

RANDOM = random.SystemRandom()
"""Chooses differently in processes that measure and test side by side."""

_DIRECTLY = build_opener(ProxyHandler({}))
"""Asks programs of this machine, whatever proxy the environment names."""


@contextmanager
def running(
    command: Sequence[str | Path],
    is_ready: Callable[[], bool],
    log: Path | None = None,
    end: signal.Signals = signal.SIGTERM,
    **options: Any,
) -> Iterator["subprocess.Popen[bytes]"]:
    """Yield a program that is ready, ended after the block whatever happens.

    Args:
        command: the program and its arguments.
        is_ready: asked again and again.
        log: where it writes; nowhere that is kept, by default.
        end: the signal that ends it.
        options: those of `subprocess.Popen`.

    Raises:
        RuntimeError: it ended instead, or was never ready; with what it wrote.
    """
    with log.open("w+b") if log else tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, **options)
        try:
            deadline = time.monotonic() + START_LIMIT_S
            while not is_ready():
                if process.poll() is not None or time.monotonic() > deadline:
                    said.seek(0)
                    wrote = said.read().decode("utf-8", "replace")
                    raise RuntimeError(f"{command[0]} did not start: {wrote[-4_000:]}")
                time.sleep(0.01)
            yield process
        finally:
            process.send_signal(end)
            try:
                process.wait(END_LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def says_yes(url: str) -> bool:
    """Whether what listens there, if anything does, answers with 200."""
    try:
        with _DIRECTLY.open(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


def answers(port: int) -> bool:
    """Whether something listens on a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    """Return a port that nobody listens on, and that a listener without a port is not given."""
    while True:
        port = RANDOM.choice(PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
