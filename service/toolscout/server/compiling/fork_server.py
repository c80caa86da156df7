"""Where worker processes come from.

A process is forked while this one has a single thread and the model is loaded, and does nothing but
fork a worker whenever it is told to: however late that is, and whatever threads hold here by then,
a worker starts from a clean state in milliseconds, and shares the memory of the model. Where
forking is unsafe (macOS, or threads that run already) a worker is a new interpreter, which loads a
model of its own.

There is one worker at a time: the next one ends the one before, whatever that does. Every one of
them ends when this process does, however that ends: its connection is closed then. Signals are left
to this process, so that a worker serves as long as there are requests.
"""

import ctypes
import gc
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

Work = Callable[[socket.socket], object]
"""What a worker does until its connection ends."""

FORKS_WITHIN_S = 5.0
"""How long a fork is waited for: what should fork hangs if it takes longer, and is replaced."""

_MOST_FILES = 1 << 16
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_LEFT_ALONE = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SPAWNED = "from toolscout.server.compiling.worker import main; main({})"


class ForkServer:
    """Starts workers, each at the other end of a new connection."""

    def __init__(self, work: Work | None) -> None:
        """Fork now where `work` is given and that is safe; else spawn later."""
        self._process = 0
        self._control: socket.socket | None = None
        self._spawned: subprocess.Popen[bytes] | None = None
        if work is not None and _can_fork():
            self._control, theirs = socket.socketpair()
            self._process = _fork(lambda: _serve_forks(theirs, work), keep=theirs)
            theirs.close()

    @property
    def forks(self) -> bool:
        """Whether workers are forked: then they know what this process knew."""
        return self._control is not None

    def start(self) -> socket.socket:
        """End the worker there is, and return the connection to a new one.

        Raises:
            OSError: none can be started.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            if self._control is not None and not self._ask_for_fork(self._control, theirs):
                self._abandon()
            if self._control is None:
                self._kill_spawned()
                self._spawned = subprocess.Popen(  # noqa: S603 - this very interpreter
                    [sys.executable, "-c", _SPAWNED.format(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                )
        return ours

    def close(self) -> None:
        """End the worker, and start no more."""
        self._abandon()
        self._kill_spawned()

    @staticmethod
    def _ask_for_fork(control: socket.socket, theirs: socket.socket) -> bool:
        """Say whether a worker was forked."""
        try:
            socket.send_fds(control, [b"."], [theirs.fileno()])
            control.settimeout(FORKS_WITHIN_S)
            return bool(control.recv(1))
        except OSError:
            return False

    def _abandon(self) -> None:
        """End what forks, and the worker with it."""
        if self._control is not None:
            self._control.close()
            self._control = None
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(self._process, signal.SIGKILL)
                os.waitpid(self._process, 0)

    def _kill_spawned(self) -> None:
        if self._spawned is not None:
            self._spawned.kill()
            self._spawned.wait()


def _can_fork() -> bool:
    """Whether no thread here can hold anything that a forked process would wait for.

    uvicorn's thread that tells its supervisor that this process lives only reads from a pipe.
    """
    tasks = Path("/proc/self/task")
    others = [thread for thread in threading.enumerate() if thread != threading.main_thread()]
    return (
        sys.platform == "linux"
        and tasks.is_dir()
        and len(list(tasks.iterdir())) == 1 + len(others)
        and all(thread.name.endswith("(always_pong)") for thread in others)
    )


def _fork(work: Callable[[], object], keep: socket.socket) -> int:
    """Fork a process that does some work and ends, without a file but its standard ones and one."""
    process = os.fork()
    if process:
        return process
    try:
        signal.set_wakeup_fd(-1)  # it is the parent's
        for number in _LEFT_ALONE:
            signal.signal(number, signal.SIG_IGN)
        os.closerange(3, keep.fileno())
        os.closerange(keep.fileno() + 1, _MOST_FILES)
        work()
    finally:
        os._exit(0)


def _serve_forks(control: socket.socket, work: Work) -> None:
    """Fork a worker for every connection that arrives, and end the one before it."""
    gc.freeze()  # collecting would copy the pages that it walks
    worker = 0
    while True:
        message, files, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            return
        if worker:  # until it is waited for, its number is no other's
            os.kill(worker, signal.SIGKILL)
            os.waitpid(worker, 0)
        with socket.socket(fileno=files[0]) as connection:
            worker = _fork(lambda: _work(work, connection), keep=connection)
        control.send(message)


def _work(work: Work, connection: socket.socket) -> None:
    """Work until the connection ends, or the parent: also where this process is stopped."""
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    work(connection)
