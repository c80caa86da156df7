"""Starting, watching and stopping the servers under test."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
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


@contextmanager
def toolscout(*flags: str) -> Iterator[Running]:
    """Yield the service as a user would start it, without its log."""
    port = free_port()
    command = ["-m", "toolscout", "serve", "--port", str(port), "--log", "off", *flags]
    with _process([sys.executable, *command], port) as running:
        yield running


@contextmanager
def application(path: str) -> Iterator[Running]:
    """Yield an ASGI application, such as `evals.speed.floor:app`, on the same uvicorn."""
    port = free_port()
    command = ["-m", "uvicorn", path, "--port", str(port), "--lifespan", "off"]
    command += ["--loop", "uvloop", "--http", "httptools", "--no-access-log"]
    command += ["--no-server-header", "--no-date-header", "--log-level", "warning"]
    with listening([sys.executable, *command], port) as running:
        yield running


def floor() -> AbstractContextManager[Running]:
    """Yield the floor application."""
    return application("evals.speed.floor:app")


def benchmark(*flags: str) -> subprocess.CompletedProcess[str]:
    """Return the benchmark itself, as a process of its own."""
    command = [sys.executable, "-m", "evals.speed", *flags]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@contextmanager
def _process(command: list[str], port: int) -> Iterator[Running]:
    began = time.perf_counter()
    with programs.running(command, lambda: ready(port), end=signal.SIGINT) as process:
        yield Running(port, process.pid, time.perf_counter() - began)


@contextmanager
def listening(command: list[str], port: int) -> Iterator[Running]:
    """Yield any other program, once it listens."""
    with programs.running(command, lambda: programs.answers(port), end=signal.SIGINT) as process:
        yield Running(port, process.pid, 0.0)


def ready(port: int) -> bool:
    """Whether what listens there, if anything does, says that it is ready."""
    return programs.says_yes(f"http://127.0.0.1:{port}/readyz")


def metric(ours: Running, name: str) -> float:
    """Return a figure without labels from `/metrics`."""
    with urlopen(f"http://127.0.0.1:{ours.port}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))
