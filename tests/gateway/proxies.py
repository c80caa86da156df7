"""`toolscout proxy` in a process of its own, as long as a block lasts."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support import Process, answers, free_port, started, until


@contextmanager
def proxy(
    upstream: str, *flags: str, selector: str = "http://127.0.0.1:9", **variables: Any
) -> Iterator[Process]:
    """Yield a proxy, as long as the block lasts; `variables` are those of its environment."""
    port = free_port()
    command = ["-m", "toolscout", "proxy", "--upstream", upstream, "--port", str(port), *flags]
    command += ["--selector", selector] if selector else []
    with (
        TemporaryDirectory() as folder,
        started(Path(folder), port, *command, **variables) as server,
    ):
        until(lambda: answers(port))
        yield server
        server.process.kill()
