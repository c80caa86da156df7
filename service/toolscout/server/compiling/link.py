"""The parent's end of the worker connection: send requests, match replies, restart a dead worker.

A worker that dies, or says nothing for long while something is asked of it, is replaced, and what
it had not finished is asked once more; what is unfinished again when the next one ends is given up.
"""

import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from math import inf
from threading import Condition, Thread
from typing import Any

import msgspec

from toolscout.errors import Overloaded, TooMuchWork
from toolscout.server.compiling.channel import Channel
from toolscout.server.compiling.fork_server import ForkServer
from toolscout.server.compiling.messages import Failed, Setup

TRIES = 2
"""Workers that a request is sent to, one after the other."""

RESTART_S = 1.0
"""Least seconds between three starts of a worker: what kills each at once must not spin."""

HUNG_S = 30.0
"""Seconds without a message after which a worker with open requests is replaced."""

OnReply = Callable[[Any], object]
"""Takes a reply; called in the thread that receives."""


class _Pending(msgspec.Struct):
    """A request that is not finished."""

    message: Any
    on_reply: OnReply
    tries: int = 1


class Link:
    """Sends requests to a worker and dispatches its replies."""

    def __init__(
        self, fork_server: ForkServer, setup: Setup, restarted: Callable[[], object]
    ) -> None:
        self._fork_server = fork_server
        self._setup = setup
        self._restarted = restarted
        self._changed = Condition()
        self._pending: dict[int, _Pending] = {}
        self._outbox: deque[tuple[int, Any]] = deque()
        self._last = 0
        self._silent_since = inf
        """Since when the worker owes a word; abandoned requests count, they show most that it
        hangs."""
        self._channel: Channel | None = None
        self._is_open = False

    def open(self) -> None:
        """Start the worker, and two threads that talk to it."""
        self._is_open = True
        self._channel = self._connect()
        Thread(target=self._receive, name="from worker", daemon=True).start()
        Thread(target=self._send, name="to worker", daemon=True).start()

    def close(self) -> None:
        """End the worker; what is unfinished stays so."""
        with self._changed:
            self._is_open = False
            self._changed.notify_all()
            if self._channel is not None:
                self._channel.close()
        self._fork_server.close()

    def ask(self, message: Any, on_reply: OnReply) -> int:
        """Ask for something, until the last reply; returns its number.

        Raises:
            Overloaded: the service is stopping.
        """
        with self._changed:
            if not self._is_open:
                raise Overloaded("the service is stopping")
            self._last += 1
            self._pending[self._last] = _Pending(message, on_reply)
            self._silent_since = min(self._silent_since, time.monotonic())
            self._post(self._last, message)
            return self._last

    def abandon(self, number: int) -> None:
        """Expect no reply any more."""
        with self._changed:
            self._pending.pop(number, None)

    def check_health(self) -> None:
        """End a worker that hangs; to be called now and then."""
        if time.monotonic() - self._silent_since > HUNG_S and self._channel is not None:
            self._channel.close()  # whoever receives replaces it

    def _post(self, number: int, message: Any) -> None:
        self._outbox.append((number, message))
        self._changed.notify()

    def _connect(self) -> Channel:
        forked = self._fork_server.forks
        channel = Channel(self._fork_server.start())
        if not (forked and self._fork_server.forks):
            with suppress(OSError):  # whoever receives notices too
                channel.send(self._setup)
        return channel

    def _send(self) -> None:
        while True:
            with self._changed:
                while self._is_open and not self._outbox:
                    self._changed.wait()
                if not self._is_open:
                    return
                message, channel = self._outbox.popleft(), self._channel
            with suppress(OSError):  # whoever receives notices too, and asks anew
                if channel is not None:
                    channel.send(message)
            del message

    def _receive(self) -> None:
        started = 0.0
        while self._is_open:
            try:
                while self._channel is not None:
                    number, reply, is_last = self._channel.receive()
                    with self._changed:
                        pending = self._pending.get(number)
                        if is_last:
                            self._pending.pop(number, None)
                        self._silent_since = time.monotonic() if self._pending else inf
                    if pending is not None:
                        pending.on_reply(reply)
                    del reply, pending
            except EOFError:
                if not self._is_open:
                    return
            time.sleep(max(0.0, started + RESTART_S - time.monotonic()))
            started = time.monotonic()
            self._restart()

    def _restart(self) -> None:
        """Replace the worker, and ask it for everything that is not done."""
        with self._changed:
            if not self._is_open:
                return
            if self._channel is not None:
                self._channel.close()
            try:
                self._channel = self._connect()
            except OSError:
                self._channel = None  # no process can be started now
            self._silent_since = time.monotonic() if self._pending else inf
            self._outbox.clear()
            given_up = []
            for number, pending in list(self._pending.items()):
                if self._channel is None or pending.tries == TRIES:
                    given_up.append(self._pending.pop(number))
                else:
                    pending.tries += 1
                    self._post(number, pending.message)
        self._restarted()
        for pending in given_up:
            pending.on_reply(Failed(TooMuchWork("the tools could not be compiled; send fewer")))
