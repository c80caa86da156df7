"""The parent's end of the worker connection: start a worker, send work, match replies.

The first worker is forked while this process has a single thread: it starts in milliseconds and
shares the memory of the model. By the time another is needed there are threads, whose locks would
stay taken in a copy, so that one is a new interpreter with a model of its own. Either ends when its
connection does, so also when this process is killed, and on Linux even while it is stopped.

A worker that dies, or says nothing for long while something is asked of it, is replaced, and what
it had not finished is asked once more; what is unfinished again when the next one ends is given up.
"""

import asyncio
import gc
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from math import inf
from multiprocessing.connection import Connection
from pathlib import Path
from socket import SO_SNDBUF, SOL_SOCKET, socketpair
from threading import Lock, Thread
from typing import Any

import msgspec

from toolscout.common.threads import FairPool
from toolscout.errors import Overloaded, TooMuchWork
from toolscout.index.catalog import Catalog
from toolscout.index.compile import Compiler
from toolscout.index.transfer import SEED, Packed, unpack
from toolscout.server.compiling.worker import BEAT, UNASKED, use_overlay
from toolscout.settings import Settings

TRIES = 2
"""Workers that are asked for the same work, one after the other."""

RESTART_S = 1.0
"""Least seconds between two starts of a worker: what kills each at once must not spin."""

HUNG_S = 30.0
"""Seconds without any progress after which a worker with open requests is replaced."""

SILENT_S = 2.0
"""Seconds without a message, two heartbeats, after which a worker does not answer."""

CHECKS = 50
"""Checks, ten a second, after which a worker that sends no heartbeat either is replaced. Where this
process is not scheduled it does not check either, so that a busy machine kills no worker."""

BUFFER_BYTES = 8 * 1024 * 1024
"""What a connection holds at most, if the system allows it; 3,000 compiled tools take 6 MB. Where
it holds less, writer and reader wait for each other again and again."""

IDLE_CHECKS = 50
"""Checks after which a worker that is asked nothing is replaced if it has grown."""

GROWN_BYTES = 512 * 1024 * 1024
GROWN_SHARE = 8
"""Memory of a worker, with this part of `cache_bytes`, beyond which it has grown: after a list of
100,000 tools it kept 1.1 GB, in pieces that no allocator gives back, and needed 150 MB. What
10,000 tools leave is half of the limit."""

_MOST_FILES = 1 << 16
_SPAWNED = """
import sys
_, descriptor, *sys.path = sys.argv
from toolscout.server.compiling.worker import main
main(int(descriptor))
"""
"""It imports from where this process does: `-c` alone would look in the working directory first."""


class WorkerProcess:
    """A worker that was started."""

    def __init__(
        self,
        settings: Settings,
        work: Callable[[Connection], None] | None = None,
        overlay: str = "",
    ) -> None:
        """Fork a worker that does `work` where that is safe, else spawn one with an overlay.

        Raises:
            OSError: none can be started.
        """
        ends = socketpair()
        for end in ends:
            end.setsockopt(SOL_SOCKET, SO_SNDBUF, BUFFER_BYTES)
        self.connection, theirs = (Connection(end.detach()) for end in ends)
        self._ending = Lock()
        self._number = 0
        self._spawned: subprocess.Popen[bytes] | None = None
        if work is not None and _can_fork():
            self._number = _fork(work, theirs)
        else:
            self._spawned = subprocess.Popen(  # noqa: S603 - this very interpreter
                [sys.executable, "-Pc", _SPAWNED, str(theirs.fileno()), *sys.path],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )
            with suppress(OSError):  # whoever receives notices too
                self.connection.send((settings, SEED, overlay))
        theirs.close()

    def measure_resident(self) -> int:
        """Return the bytes of its resident memory; 0 where the system does not tell."""
        number = self._number if self._spawned is None else self._spawned.pid
        try:
            pages = Path(f"/proc/{number}/statm").read_text().split()[1]
        except OSError:
            return 0
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def end(self) -> None:
        """Kill it, whatever it does; the connection ends for those who wait for it.

        The connection is closed when nobody uses it any more: while a thread writes to it, its
        descriptor must not become that of another file.
        """
        with self._ending:
            number = self._number
            self._number = 0
            if self._spawned is not None:
                self._spawned.kill()
                self._spawned.wait()
            elif number:
                with suppress(OSError):  # it was waited for elsewhere
                    os.kill(number, signal.SIGKILL)
                    os.waitpid(number, 0)


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


class _Asked(msgspec.Struct):
    """Work that is not finished."""

    message: tuple[Any, ...]
    result: "asyncio.Future[Any]"
    on_words: Callable[[Catalog], object]
    process: WorkerProcess
    """The worker that it was sent to."""
    tries: int = 1


class Link:
    """Sends work to a worker and hands out its replies, both from threads of its own."""

    def __init__(
        self,
        process: WorkerProcess,
        settings: Settings,
        compiler: Compiler,
        restarted: Callable[[], object],
    ) -> None:
        self.process = process
        self.settings = settings
        self.compiler = compiler
        self.restarted = restarted
        self._sender = FairPool(1, "to worker")
        self._asked: dict[int, _Asked] = {}
        self._numbers = count(1)
        self._silent_since = inf
        """Since when the worker owes a word; abandoned work counts, it shows most that it hangs."""
        self._checks = 0
        """Checks since the last message."""
        self._idle_checks = 0
        """Checks since something was asked."""
        self._has_grown = False
        """Whether the worker was ended for its size."""
        self._grown_bytes = GROWN_BYTES + settings.cache_bytes // GROWN_SHARE
        self._heard = inf
        """When the last message came."""
        self.has_begun = False
        """Whether this worker has sent anything; a new one takes seconds to start."""
        self.lost = 0
        """Workers that have ended."""
        self._overlay = ""
        """The text of the overlay that workers compile with."""
        self._replacing = Lock()
        self._is_open = False
        self._loop: asyncio.AbstractEventLoop

    def open(self) -> None:
        """Listen to the worker; call from the running loop."""
        self._loop = asyncio.get_running_loop()
        self._is_open = True
        Thread(target=self._receive, name="from worker", daemon=True).start()

    def close(self) -> None:
        """End the worker; what is unfinished stays so."""
        self._is_open = False
        self.process.end()

    async def ask(
        self,
        pool: str,
        tenant: str,
        work: Callable[..., Any],
        *args: Any,
        on_words: Callable[[Catalog], object] = lambda _: None,
    ) -> Any:
        """Have the worker do something, and return its reply.

        Args:
            pool: the threads that do it, which tenants take in turn.
            tenant: whose turn it takes.
            work: a function of the worker and the arguments.
            args: further arguments.
            on_words: gets a catalog that is complete but for its vectors, before the reply.

        Raises:
            Overloaded: the service is stopping.
            TooMuchWork: two workers ended over it.
        """
        if not self._is_open:
            raise Overloaded("the service is stopping")
        number = next(self._numbers)
        result = self._loop.create_future()
        message = number, pool, tenant, work, args
        asked = self._asked[number] = _Asked(message, result, on_words, self.process)
        self._silent_since = min(self._silent_since, time.monotonic())
        self._sender.submit("", _send, self.process.connection, message)
        try:
            return await asked.result
        finally:
            self._asked.pop(number, None)

    def tell(self, pool: str, tenant: str, work: Callable[..., None], *args: Any) -> None:
        """Give the worker a task without waiting for its result."""
        message = UNASKED, pool, tenant, work, args
        self._sender.submit("", _send, self.process.connection, message)

    def use_overlay(self, text: str) -> None:
        """Have all that is asked from now on compiled with these rows of an overlay."""
        with self._replacing:
            self._overlay = text
            self.tell("call", "", use_overlay, text)

    @property
    def is_answering(self) -> bool:
        """Whether the worker has sent something lately; a new one has not."""
        return self.has_begun and time.monotonic() - self._heard < SILENT_S

    def check_health(self) -> None:
        """End a worker that hangs or makes no progress, or is idle and has grown.

        To be called ten times a second.
        """
        is_owing = self._silent_since < inf
        self._idle_checks = 0 if is_owing else self._idle_checks + 1
        if self._idle_checks == IDLE_CHECKS:
            self._has_grown = self.process.measure_resident() > self._grown_bytes
            if self._has_grown:
                self.process.end()
            return
        self._checks = self._checks + 1 if is_owing and self.has_begun else 0
        if self._checks > CHECKS or time.monotonic() - self._silent_since > HUNG_S:
            self.process.end()  # whoever receives replaces it

    def _receive(self) -> None:
        started = 0.0
        while True:
            with suppress(EOFError, OSError):
                while True:
                    number, reply = self.process.connection.recv()
                    if isinstance(reply, Packed):
                        reply = unpack(reply, self.compiler)
                    self._call(self._take, number, reply)
            self.lost += 1
            self.process.end()
            time.sleep(max(0.0, started + RESTART_S - time.monotonic()))
            if not self._is_open:
                return
            started = time.monotonic()
            with suppress(OSError), self._replacing:  # if none can be started, it is tried again
                self.process = WorkerProcess(self.settings, None, self._overlay)
            self._call(self._repeat)

    def _call(self, function: Callable[..., object], *args: Any) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(function, *args)

    def _take(self, number: int, reply: Any) -> None:
        """Hand out a reply."""
        self._checks = 0
        self._heard = time.monotonic()
        self.has_begun = True
        if number == BEAT:
            return
        is_last = not isinstance(reply, Catalog)
        asked = self._asked.pop(number, None) if is_last else self._asked.get(number)
        self._silent_since = time.monotonic() if self._asked else inf
        if asked is None or asked.result.done():
            return
        if not is_last:
            asked.on_words(reply)
        elif isinstance(reply, Exception):
            asked.result.set_exception(reply)
        else:
            asked.result.set_result(reply)

    def _repeat(self) -> None:
        """Ask a new worker for everything that is not done."""
        if not self._has_grown:
            self.restarted()
        self._has_grown = False
        self.has_begun = False
        self._silent_since = time.monotonic() if self._asked else inf
        for asked in [each for each in self._asked.values() if each.process is not self.process]:
            asked.tries = asked.tries + 1
            asked.process = self.process
            if asked.tries > TRIES:
                error = TooMuchWork("the tools could not be compiled; send fewer")
                self._take(asked.message[0], error)
            else:
                self._sender.submit("", _send, self.process.connection, asked.message)


def _send(connection: Connection, message: tuple[Any, ...]) -> None:
    with suppress(OSError):  # whoever receives notices too, and asks anew
        connection.send_bytes(pickle.dumps(message, protocol=5))
