"""Report observations to the service, in the background.

    turn over → queue → one post at a time ─┬─ taken: next
                  ↑   down, slow, 5xx, 429 ─┤  for a while nothing is sent
                  └─────────────────────────┘  refused (4xx): dropped, and a longer while

A turn only puts its observations into a bounded queue; the oldest are dropped when it is full. The
posts share the connections of the searches and never count for the breaker or the retries.
"""

import asyncio
import logging
import os
import threading
from collections import deque
from collections.abc import Iterable
from concurrent import futures
from contextlib import suppress
from math import inf
from time import monotonic
from typing import Any

import msgspec

from toolscout.client.call import Channel, sendable
from toolscout.client.connections import Reply
from toolscout.client.endpoint import feedback_path
from toolscout.client.selection import Selection
from toolscout.client.selector import AsyncSelector, Selector
from toolscout.common.lru import Lru
from toolscout.discovery.turn import Turn

MAX_QUESTIONS = 10_000
"""Sessions whose latest question is remembered."""

MAX_SEARCHES = 16
"""Latest searches of one question that are remembered."""


Searched = tuple[int, str, Selection[Any]]
"""The round of a search (0 before the first forward), its query and its result."""


class Observation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One event of the service's feedback."""

    pattern: str
    tool: str
    turn: str
    """Unique to the search, so that a report that is sent twice counts once."""
    success: bool
    catalog: str = ""
    """Digest of the tools that were searched; empty when unknown."""
    session: str = ""
    """The conversation, by which reports may be deleted; empty when unknown."""


class Search(msgspec.Struct):
    """A search of the model, and the tools that it turned out to want."""

    pattern: str
    found: frozenset[str]
    catalog: str
    turn: str
    round: int
    """Searches of one response share it."""
    is_whole: bool
    """Whether it repeats the user's message."""
    wanted: set[str] = msgspec.field(default_factory=set)


class Question(msgspec.Struct):
    """What happened since the user's last message."""

    id: str
    searches: list[Search] = msgspec.field(default_factory=list)
    called: set[str] = msgspec.field(default_factory=set)
    rounds: int = 0
    count: int = 0
    """Number of searches so far."""


class Lessons:
    """Makes observations of turns; remembers the question that a session is at. Thread-safe."""

    def __init__(self) -> None:
        self._questions: Lru[str, Question] = Lru(MAX_QUESTIONS)
        self._lock = threading.Lock()

    def observations(self, turn: Turn) -> list[Observation]:
        """Return what a turn that is over teaches, each lesson once."""
        with self._lock:
            question = self._question(turn)
            if question is None:
                return []
            late = turn.rounds if turn.was_mixed else inf
            early = [one for one in turn.searched if one[0] < late]
            self._ask(question, turn, early)
            found = self._credit(question, turn)
            # Calls beside a search were made before its result.
            self._ask(question, turn, [one for one in turn.searched if one[0] >= late])
            question.rounds += turn.rounds
        return found

    def _question(self, turn: Turn) -> Question | None:
        """Return the question of a turn; None if nothing was searched for it."""
        known = None
        if turn.session and not turn.provider.ends_with_user(turn.asked):
            known = self._questions.get(turn.session)
        if known is None and not turn.searched:
            return None
        if known is None:
            known = Question(os.urandom(8).hex())
        if turn.session:
            self._questions.put(turn.session, known)
        return known

    def _ask(self, question: Question, turn: Turn, searched: Iterable[Searched]) -> None:
        message = _words(turn.user_query)
        for round_, query, selection in searched:
            question.count += 1
            found = frozenset(() if selection.fell_open else selection.names)
            name = f"{question.id}-{question.count}"
            at = question.rounds + round_
            is_whole = _words(query) == message
            question.searches.append(Search(query, found, selection.catalog, name, at, is_whole))
        del question.searches[:-MAX_SEARCHES]

    def _credit(self, question: Question, turn: Turn) -> list[Observation]:
        """Credit the calls of a turn to the searches that wanted their tools."""
        names = _chosen(turn)
        question.called.update(names)
        lessons = []
        for name in names:
            finders = [one.round for one in question.searches if name in one.found]
            latest = max(finders, default=inf)
            for one in question.searches:
                is_missed = one.round < latest and not one.found & question.called
                if not (name in one.found or is_missed or one.is_whole):
                    continue
                if name not in one.wanted:
                    one.wanted.add(name)
                    about = (one.pattern, name, one.turn, True, one.catalog, turn.session)
                    lessons.append(Observation(*about))
        return lessons


def _chosen(turn: Turn) -> list[str]:
    """Return the tools that the last response calls because the model chose them, each once.

    What the request forces or lists was chosen by the caller, and what ends a run fits any.
    """
    choice, offer = turn.provider.choice(turn.asked), turn.offer
    if choice.names or (choice.must_call and len(offer.names) == 1):
        return []
    others = offer.by_name.keys() - offer.endings(choice.must_call)
    return [name for name in dict.fromkeys(turn.called) if name in others]


def _words(text: str) -> list[str]:
    return text.casefold().split()


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

Sender = asyncio.Task[None] | futures.Future[None]

logger = logging.getLogger("toolscout.client")


def reporter_of(selector: AsyncSelector | Selector) -> "Reporter | None":
    """Return a reporter to the service of a selector; None if it has no place for feedback."""
    channel = selector.channel
    path = None if channel is None else feedback_path(channel.connections.url.path)
    if channel is None or path is None:
        return None
    return Reporter(channel, path, selector)


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
        self._lessons = Lessons()
        self._waiting: deque[Observation] = deque()
        self._sender: Sender | None = None
        self._pid = os.getpid()
        self._last_post = -INTERVAL_S
        self._quiet_until = 0.0

    def observe(self, turn: Turn) -> None:
        """Queue what a turn teaches; never raises and never waits."""
        try:
            if self._pid != os.getpid():  # a fork: the parent sends what it had queued
                self._pid, self._sender = os.getpid(), None
                self._waiting.clear()
            self._waiting.extend(self._sendable(turn))
            while len(self._waiting) > MAX_WAITING:
                self._waiting.popleft()
                self.dropped += 1
            self._wake()
        except Exception:
            logger.exception("a turn could not be observed; the service does not learn from it")

    def flush(self) -> None:
        """Wait for the queued observations to be sent, for at most half a second."""
        with suppress(Exception):
            self._wake()
            if isinstance(self._sender, futures.Future):
                self._sender.result(CLOSE_S)

    async def aflush(self) -> None:
        """As `flush`, in an event loop."""
        with suppress(Exception):
            self._wake()
            if isinstance(self._sender, asyncio.Task):
                await asyncio.wait((self._sender,), timeout=CLOSE_S)

    def _sendable(self, turn: Turn) -> list[Observation]:
        """Return the observations of a turn, without what the service must not know."""
        encoder, found = self._channel.encoder, []
        for one in self._lessons.observations(turn):
            pattern = sendable(one.pattern)
            if pattern.strip() and encoder.sends(one.tool, turn.offer.by_name[one.tool]):
                found.append(msgspec.structs.replace(one, pattern=pattern))
        return found

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

    def _next_batch(self) -> list[Observation]:
        """Take the oldest observation out of the queue, and others of the same catalog."""
        batch: list[Observation] = []
        others: list[Observation] = []
        with suppress(IndexError):
            for _ in range(len(self._waiting)):
                one = self._waiting.popleft()
                fits = len(batch) < MAX_BATCH and (not batch or one.catalog == batch[0].catalog)
                (batch if fits else others).append(one)
        self._waiting.extendleft(reversed(others))
        return batch

    async def _post(self, observations: list[Observation]) -> None:
        """Post observations of one catalog; those that fail for now are queued again."""
        headers = self._channel.headers
        if observations and (catalog := observations[0].catalog):
            # By this header a balancer finds the process that searches the catalog.
            headers = {**headers, "x-catalog-digest": catalog}
        reply: Reply | None = None
        try:
            body = msgspec.json.encode({"events": observations})
            deadline = monotonic() + self._selector.timeout
            reply = await self._channel.connections.post(headers, body, deadline, self._path)
        except Exception as error:
            logger.warning("observations cannot be sent (%s)", type(error).__name__)
        finally:
            self._settle(reply, observations)

    def _settle(self, reply: Reply | None, observations: list[Observation]) -> None:
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
