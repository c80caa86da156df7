"""Processes of `toolscout` that are forked from one that has imported it.

They start in .2 s instead of the 1.6 of an interpreter that imports everything anew. Integration
tests start programs as users do.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from toolscout.cli import main

FORKS = multiprocessing.get_context("forkserver")
"""Forks from a process that has loaded the model and runs no thread."""

FORKS.set_forkserver_preload(["tests.in_process", "toolscout.gateway.proxy"])

COMMAND = [sys.executable, "-m", "toolscout"]


class Forked:
    """What tests use of `subprocess.Popen`."""

    def __init__(
        self, arguments: Sequence[str], files: Sequence[int], environment: Mapping[str, str]
    ) -> None:
        """Run a command of `toolscout` that writes at the ends of two files."""
        paths = [str(Path(f"/proc/self/fd/{file}").readlink()) for file in files]
        told = list(arguments), paths, dict(environment), str(Path.cwd())
        self._process = FORKS.Process(target=_run, args=told, daemon=True)
        self._process.start()
        self.pid = self._process.pid or 0

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("toolscout", timeout or 0)
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        if self.returncode is None:
            with suppress(ProcessLookupError):  # the fork server has reaped it, and says so later
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _run(arguments: list[str], paths: list[str], environment: dict[str, str], folder: str) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, path in enumerate(paths, 1):
        file = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.dup2(file, number)
        os.close(file)
    sys.argv = ["toolscout", *arguments]
    sys.exit(main(arguments))


Started = subprocess.Popen[bytes] | Forked


class Starter:
    """Starts programs; forks `toolscout` where that is allowed."""

    forks = False

    def start(
        self,
        command: Sequence[str],
        out: IO[bytes] | int,
        err: IO[bytes],
        environment: Mapping[str, str],
    ) -> Started:
        """Start a program that writes to two files, or to a pipe and a file."""
        own = dict(environment.items() - os.environ.items())
        is_plain = not any(name.startswith("PYTHON") for name in own)  # which a fork has read
        if self.forks and is_plain and command[:3] == COMMAND and not isinstance(out, int):
            return Forked(command[3:], (out.fileno(), err.fileno()), environment)
        return subprocess.Popen(command, stdout=out, stderr=err, env=environment)


STARTER = Starter()
