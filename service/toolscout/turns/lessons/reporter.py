"""Report observations to the service, in the background.

    turn over → queue → one post at a time ─┬─ taken: next
                  ↑   down, slow, 5xx, 429 ─┤  for a while nothing is sent
                  └─────────────────────────┘  refused (4xx): dropped, and a longer while

A turn only puts its observations into a bounded queue; the oldest are dropped when it is full. The
posts share the connections of the searches and never count for the breaker or the retries.
"""

import asyncio
import os
from collections import deque
from concurrent import futures
from contextlib import suppress
from time import monotonic

import msgspec

from toolscout.client.call import Channel
from toolscout.client.connections import HttpReply, Post
from toolscout.client.endpoint import find_feedback_path
from toolscout.client.log import logger
from toolscout.client.selector import AsyncSelector, Selector
from toolscout.turns.lessons.lessons import Lessons, ToolObservation
from toolscout.turns.state import TurnState

MAX_WAITING = 1_000
"""Maximum number of observations that wait to be sent."""

MAX_BATCH = 100
"""Maximum number of observations in one post."""

INTERVAL_S = 0.1
"""Seconds between two posts, so that observations of a busy process go out together."""

FAILED_PAUSE_S = 5.0
"""Seconds without posts after one failed."""

REFUSED_PAUSE_S = 600.0
"""Seconds without posts after one was refused: the service does not learn, or not from this key."""

CLOSE_S = 0.5
"""Seconds that closing waits for the queued observations."""


def make_reporter(selector: AsyncSelector | Selector) -> "Reporter | None":
    """Return a reporter to the service of a selector; None if it has no place for feedback."""
    channel = selector.channel
    path = None if channel is None else find_feedback_path(channel.connections.url.path)
    return None if channel is None or path is None else Reporter(channel, path, selector)


class Reporter:
    """Observes turns and reports what the service can learn from them.

    Args:
        channel: the way to the service.
        path: that of the feedback.
        selector: has the timeout of a post, and runs it in the background.
    """

    def __init__(self, channel: Channel, path: str, selector: AsyncSelector | Selector) -> None:
        self.dropped = 0
        """Observations that did not fit into the queue or were refused."""
        self._channel = channel
        self._path = path
        self._selector = selector
        self._lessons = Lessons(channel.encoder.sends)
        self._waiting: deque[ToolObservation] = deque()
        self._sender: asyncio.Task[None] | futures.Future[None] | None = None
        self._pid = os.getpid()
        self._last_post = -INTERVAL_S
        self._quiet_until = 0.0

    def observe(self, turn: TurnState) -> None:
        """Queue what a turn teaches; never waits."""
        if self._pid != os.getpid():  # a fork: the parent sends what it had queued
            self._pid = os.getpid()
            self._sender = None
            self._waiting.clear()
        self._waiting.extend(self._lessons.observations(turn))
        while len(self._waiting) > MAX_WAITING:
            self._waiting.popleft()
            self.dropped += 1
        self._wake()

    async def flush(self) -> None:
        """Wait, or block, until the queued observations are sent, for at most half a second."""
        deadline = monotonic() + CLOSE_S
        with suppress(Exception):
            self._wake()
            while self._is_sending() and (left := deadline - monotonic()) > 0:
                if isinstance(self._sender, asyncio.Task):
                    await asyncio.wait((self._sender,), timeout=left)
                elif self._sender is not None:
                    self._sender.result(left)
                self._wake()  # sends what was queued while the last sender was ending

    def _wake(self) -> None:
        """Start sending, unless that is under way or has to wait."""
        if self._waiting and not self._is_sending() and not self._is_quiet():
            work = self._send()
            try:
                self._sender = self._selector.run_later(work)
            except RuntimeError:  # no event loop runs here; the next turn tries again
                work.close()

    def _is_sending(self) -> bool:
        sender = self._sender
        if sender is None or sender.done():
            return False
        # A task whose event loop ended never ends itself.
        return not isinstance(sender, asyncio.Task) or sender.get_loop().is_running()

    def _is_quiet(self) -> bool:
        return monotonic() < self._quiet_until or self._channel.breaker.is_open

    async def _send(self) -> None:
        """Post until the queue is empty or the service does not take it."""
        while self._waiting and not self._is_quiet():
            await asyncio.sleep(max(self._last_post + INTERVAL_S - monotonic(), 0.0))
            self._last_post = monotonic()
            await self._post(self._next_batch())

    def _next_batch(self) -> list[ToolObservation]:
        """Take the oldest observation out of the queue, and others of the same catalog."""
        waiting: list[ToolObservation] = []
        with suppress(IndexError):  # turns queue theirs from other threads
            while True:
                waiting.append(self._waiting.popleft())
        batch = [one for one in waiting if one.catalog == waiting[0].catalog][:MAX_BATCH]
        taken = {*map(id, batch)}
        self._waiting.extendleft(one for one in reversed(waiting) if id(one) not in taken)
        return batch

    async def _post(self, observations: list[ToolObservation]) -> None:
        """Post observations of one catalog; those that fail for now are queued again."""
        catalog = observations[0].catalog if observations else ""
        # By this header a balancer finds the process that searches the catalog.
        headers = self._channel.headers | ({"x-catalog-digest": catalog} if catalog else {})
        reply: HttpReply | None = None
        try:
            body = msgspec.json.encode({"events": observations})
            post = Post(headers, body, monotonic() + self._selector.timeout, self._path)
            reply = await self._channel.connections.post(post)
        except Exception as error:
            logger.warning("observations cannot be sent (%s)", type(error).__name__)
        finally:
            self._settle(reply, observations)

    def _settle(self, reply: HttpReply | None, observations: list[ToolObservation]) -> None:
        """Drop what was taken or refused, queue the rest; None is a post that was cancelled."""
        if reply is not None and reply.is_success:
            return
        if reply is not None and 0 < reply.status < 500 and reply.status not in (408, 429):
            self._quiet_until = monotonic() + REFUSED_PAUSE_S
            self.dropped += len(observations)
            logger.info("the service takes no observations (status %d)", reply.status)
            return
        if reply is not None:
            self._quiet_until = monotonic() + FAILED_PAUSE_S
        room = max(MAX_WAITING - len(self._waiting), 0)
        kept = observations[-room:] if room else []
        self._waiting.extendleft(reversed(kept))
        self.dropped += len(observations) - len(kept)
