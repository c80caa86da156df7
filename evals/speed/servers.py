"""Starting, watching and stopping the servers under test."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from evals import programs
from evals.programs import free_port
from evals.speed.processes import figure, proportional_mib


@dataclass(frozen=True, slots=True)
class Running:
    """A server that is ready: where, as what process, and after how long."""

    port: int
    pid: int
    ready_s: float

    def proportional_mib(self) -> float:
        """Return the memory of all its processes."""
        return proportional_mib(self.pid)

    def cpu_s(self) -> float:
        """Processor time of the serving process: its clock, whatever else the machine does."""
        return time.clock_gettime((~self.pid << 3) | 2)

    def memory_mib(self) -> tuple[float, float]:
        """Resident and peak memory."""
        return figure(self.pid, "status", "VmRSS"), figure(self.pid, "status", "VmHWM")

    def memory(self) -> str:
        """Return all of it, for a note."""
        note = "{:.0f} MiB, peak {:.0f}; with its worker {:.0f}"
        return note.format(*self.memory_mib(), self.proportional_mib())


def toolscout(*flags: str, source: Path | None = None) -> AbstractContextManager[Running]:
    """Yield the service as a user would start it, without its log; of another folder's code."""
    port = free_port()
    command = ["-m", "toolscout", "serve", "--port", str(port), "--log", "off", *flags]
    environment = {**os.environ, "PYTHONPATH": str(source)} if source else None
    return listening([sys.executable, *command], port, ready, env=environment)


def application(path: str) -> AbstractContextManager[Running]:
    """Yield an ASGI application, such as `evals.speed.floor:app`, on the same uvicorn."""
    port = free_port()
    command = ["-m", "uvicorn", path, "--port", str(port), "--lifespan", "off"]
    command += ["--loop", "uvloop", "--http", "httptools", "--no-access-log"]
    command += ["--no-server-header", "--no-date-header", "--log-level", "warning"]
    return listening([sys.executable, *command], port)


def floor() -> AbstractContextManager[Running]:
    """Yield the floor application."""
    return application("evals.speed.floor:app")


@contextmanager
def listening(
    command: list[str],
    port: int,
    is_ready: Callable[[int], bool] = programs.answers,
    **options: Any,
) -> Iterator[Running]:
    """Yield any program, once it listens or is ready."""
    began = time.perf_counter()
    started = programs.running(command, lambda: is_ready(port), end=signal.SIGINT, **options)
    with started as process:
        yield Running(port, process.pid, time.perf_counter() - began)


def ready(port: int) -> bool:
    """Whether what listens there, if anything does, says that it is ready."""
    return programs.says_yes(f"http://127.0.0.1:{port}/readyz")


def metric(ours: Running, name: str) -> float:
    """Return a figure without labels from `/metrics`."""
    with urlopen(f"http://127.0.0.1:{ours.port}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))
