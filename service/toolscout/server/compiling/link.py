"""The serving process's end of its worker: what is asked of it, and what becomes of that.

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
from toolscout.server.compiling.messages import Failed, Setup
from toolscout.server.compiling.nursery import Nursery

TRIES = 2
"""Workers that something is asked of, one after the other."""

RESTART_S = 1.0
"""How soon one worker may follow the next but one: what kills each at once must not spin."""

HUNG_S = 30.0
"""How long a worker may say nothing while something is asked of it: it is taken to hang then."""

OnReply = Callable[[Any], object]
"""Takes a reply; called in the thread that receives."""


class _Errand(msgspec.Struct):
    """Something that was asked and is not finished."""

    message: Any
    on_reply: OnReply
    tries: int = 1


class Link:
    """Asks a worker, and hands on what it answers."""

    def __init__(self, nursery: Nursery, setup: Setup, restarted: Callable[[], object]) -> None:
        self._nursery = nursery
        self._setup = setup
        self._restarted = restarted
        self._changed = Condition()
        self._errands: dict[int, _Errand] = {}
        self._outbox: deque[tuple[int, Any]] = deque()
        self._last = 0
        self._silent_since = inf
        """Since when the worker owes a word; abandoned errands count, they show most that it
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
        self._nursery.close()

    def ask(self, message: Any, on_reply: OnReply) -> int:
        """Ask for something, until the last reply; returns its number.

        Raises:
            Overloaded: the service is stopping.
        """
        with self._changed:
            if not self._is_open:
                raise Overloaded("the service is stopping")
            self._last += 1
            self._errands[self._last] = _Errand(message, on_reply)
            self._silent_since = min(self._silent_since, time.monotonic())
            self._post(self._last, message)
            return self._last

    def abandon(self, number: int) -> None:
        """Expect no reply any more."""
        with self._changed:
            self._errands.pop(number, None)

    def look(self) -> None:
        """End a worker that hangs; to be called now and then."""
        if time.monotonic() - self._silent_since > HUNG_S and self._channel is not None:
            self._channel.close()  # whoever receives replaces it

    def _post(self, number: int, message: Any) -> None:
        self._outbox.append((number, message))
        self._changed.notify()

    def _connect(self) -> Channel:
        forked = self._nursery.forks
        channel = Channel(self._nursery.start())
        if not (forked and self._nursery.forks):
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
                        errand = self._errands.get(number)
                        if is_last:
                            self._errands.pop(number, None)
                        self._silent_since = time.monotonic() if self._errands else inf
                    if errand is not None:
                        errand.on_reply(reply)
                    del reply, errand
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
            self._silent_since = time.monotonic() if self._errands else inf
            self._outbox.clear()
            given_up = []
            for number, errand in list(self._errands.items()):
                if self._channel is None or errand.tries == TRIES:
                    given_up.append(self._errands.pop(number))
                else:
                    errand.tries += 1
                    self._post(number, errand.message)
        self._restarted()
        for errand in given_up:
            errand.on_reply(Failed(TooMuchWork("the tools could not be compiled; send fewer")))
