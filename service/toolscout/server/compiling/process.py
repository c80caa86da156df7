"""One worker process and the connection to it.

The first worker is forked while this process has a single thread: it starts in milliseconds and
shares the memory of the model. By the time another is needed there are threads, whose locks would
stay taken in a copy, so that one is a new interpreter with a model of its own. Either ends when its
connection does, so also when this process is killed, and on Linux even while it is stopped.
"""

import gc
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock

from toolscout.server.compiling.worker import Setup

_MOST_FILES = 1 << 16
_SPAWNED = "from toolscout.server.compiling.worker import main; main({})"


class WorkerProcess:
    """A worker that was started."""

    def __init__(self, setup: Setup, work: Callable[[Connection], None] | None = None) -> None:
        """Fork a worker that does `work` where that is safe, else spawn one.

        Raises:
            OSError: none can be started.
        """
        self.connection, theirs = Pipe()
        self._ending = Lock()
        if work is not None and _can_fork():
            self._number = _fork(work, theirs)
        else:
            os.set_inheritable(theirs.fileno(), True)
            command = [sys.executable, "-c", _SPAWNED.format(theirs.fileno())]
            self._number = os.posix_spawn(sys.executable, command, os.environ)
            with suppress(OSError):  # whoever receives notices too
                self.connection.send(setup)
        theirs.close()

    def end(self) -> None:
        """Kill it, whatever it does; the connection ends for those who wait for it.

        The connection is closed when nobody uses it any more: while a thread writes to it, its
        descriptor must not become that of another file.
        """
        with self._ending:
            if self._number:
                os.kill(self._number, signal.SIGKILL)
                os.waitpid(self._number, 0)
                self._number = 0


def _can_fork() -> bool:
    """Whether no thread here can hold anything that a forked process would wait for."""
    tasks = Path("/proc/self/task")
    return sys.platform == "linux" and tasks.is_dir() and len(list(tasks.iterdir())) == 1


def _fork(work: Callable[[Connection], None], connection: Connection) -> int:
    """Fork a process that works and ends, without a file but its standard ones and one."""
    process = os.fork()
    if process:
        return process
    try:
        signal.set_wakeup_fd(-1)  # it is the parent's
        os.closerange(3, connection.fileno())
        os.closerange(connection.fileno() + 1, _MOST_FILES)
        gc.freeze()  # collecting would copy the pages that it walks
        work(connection)
    finally:
        os._exit(0)
