"""One call of a selector: its request, retries and verdict.

    breaker → digest or tools → send ─┬─ usable answer → names
                 ↑  catalog_unknown ──┤
                 └─ one retry, paid ──┴─ anything else → why not

The breaker is asked and the tools are encoded in the caller's thread (`admit`), so an open circuit
costs next to nothing. The rest is one coroutine (`Request.send`), wherever its event loop runs.
"""

import asyncio
import logging
import random
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from time import monotonic, time
from typing import Any, get_args

import msgspec

from toolscout import __version__
from toolscout.client import answer
from toolscout.client.answer import AnswerError
from toolscout.client.breaker import CircuitBreaker, RetryBudget
from toolscout.client.connections import (
    CLOSED,
    Connections,
    Failure,
    Progress,
    Reply,
    too_late,
)
from toolscout.client.encoding import Digests, Encoder
from toolscout.client.offer import Offer
from toolscout.client.selection import Reason
from toolscout.contract.bounds import MAX_PATTERN_CHARS
from toolscout.contract.fields import Outcome

MAX_MESSAGES = 256
"""Latest messages of a conversation that are sent; the service reads no more."""

RECONNECT_PAUSE_S = 0.025
"""Longest pause before connecting a second time; random, so that clients do not retry together."""

FILTERS = ("filters", "max_risk")
"""Fields of a request by which a tool may be left out, however few there are."""

MAX_DIGEST_CHARS = 256
MAX_RANKER_CHARS = 32
_OUTCOMES = get_args(Outcome)

logger = logging.getLogger("toolscout.client")


class Call(msgspec.Struct):
    """One call of `select`, checked."""

    pattern: str
    offer: Offer
    top_k: int
    always_keep: tuple[str, ...]
    fields: dict[str, Any]
    """Further fields of the request, for services that know them."""
    session: str | None
    loop: int
    request_id: str
    started: float
    deadline: float
    """When the service must have answered, on the monotonic clock."""
    until: float
    """When the call must be over, on the monotonic clock."""
    verdict: "Verdict | None" = None
    """How it ended; None if the rollout does not ask the service."""

    @property
    def is_filtered(self) -> bool:
        """Whether the call may leave tools out that there is room for."""
        return any(self.fields.get(name) for name in FILTERS)

    @property
    def side(self) -> str:
        """The key of the call in a percentage rollout: its session, else its pattern."""
        return self.pattern if self.session is None else self.session


class Verdict(msgspec.Struct):
    """How a call ended: names to use, or the reason why there are none."""

    names: list[str]
    reason: Reason | None = None
    detail: str = ""
    failed: bool = False
    """Whether the service itself failed; the breaker counts these calls."""
    counts: bool = True
    """Whether the breaker records the call."""
    request_id: str = ""
    degraded: str | None = None
    outcome: str | None = None
    catalog: str = ""
    attempts: int = 0


class Channel:
    """State shared by calls to one endpoint: its breaker, retry budget and known digests."""

    def __init__(
        self,
        connections: Connections,
        breaker: CircuitBreaker,
        encoder: Encoder,
        api_key: str | None,
        use_digests: bool,
    ) -> None:
        self.connections = connections
        self.breaker = breaker
        self.retries = RetryBudget()
        self.digests = Digests() if use_digests else None
        self.encoder = encoder
        self.headers = {
            "content-type": "application/json",
            "accept": "application/json",
            "accept-encoding": "gzip",
            "user-agent": f"toolscout-client/{__version__}",
        }
        if api_key:
            self.headers["authorization"] = f"Bearer {api_key}"

    def admit(self, call: Call) -> "Request | None":
        """Make the request of a call; without one, set the verdict of a call that fell open."""
        if not call.pattern.strip():
            call.verdict = Verdict([], Reason.EMPTY_QUERY, "the pattern is blank")
            return None
        if len(call.offer.names) <= call.top_k and not call.is_filtered:
            return None  # all of them are shown
        ticket = self.breaker.admit(monotonic())
        if ticket is None:
            why = "the service failed too often just now"
            call.verdict = Verdict([], Reason.CIRCUIT_OPEN, why)
            return None
        request: Request | None = None
        try:
            tools, key = self.encoder.encode(call.offer, call.deadline)
            if tools != b"[]":
                request = Request(self, call, ticket, tools, key)
            else:
                call.verdict = Verdict([], Reason.API_ERROR, "no tool could be sent")
        except TimeoutError:
            call.verdict = Verdict([], Reason.API_ERROR, "the tools took all of the time")
        except Exception as error:
            call.verdict = _unexpected(error)
        finally:
            if request is None:
                self.breaker.withdraw(ticket)
        return request


class Request:
    """A request that the breaker let through, with encoded tools."""

    __slots__ = ("_call", "_channel", "_key", "_progress", "_ticket", "_tools")

    def __init__(self, channel: Channel, call: Call, ticket: int, tools: bytes, key: bytes) -> None:
        self._channel = channel
        self._call = call
        self._ticket = ticket
        self._tools, self._key = tools, key
        self._progress = Progress()

    async def send(self) -> Verdict:
        """Ask the service; failures of it or the network are in the verdict."""
        try:
            return await self._exchange()
        except Exception as error:
            return _unexpected(error)

    def give_up(self, closed: bool = False) -> Verdict:
        """Stop waiting for `send` in another thread: time is up, or the selector closed."""
        return self._judged(CLOSED if closed else too_late(self._progress))

    def settle(self, verdict: Verdict | None) -> None:
        """Tell the breaker how the call ended; None if it was cancelled."""
        if verdict is not None and verdict.counts:
            self._channel.breaker.record(self._ticket, verdict.failed, monotonic())
        else:
            self._channel.breaker.withdraw(self._ticket)

    async def _exchange(self) -> Verdict:
        call, key, channel = self._call, self._key, self._channel
        digests, connections = channel.digests, channel.connections
        channel.retries.deposit()
        digest = digests.get(key, monotonic()) if digests else None
        headers = {**channel.headers, "x-request-id": call.request_id}
        if digest is not None:
            headers["x-catalog-digest"] = digest
        by_digest = digest is not None
        retried = False
        while True:
            catalog = f'"catalog":"{digest}"'.encode() if by_digest else b'"tools":' + self._tools
            reply = await connections.post(
                headers, _body(call, catalog), call.deadline, self._progress
            )
            if digests and by_digest and _is_refused(reply, digest):
                # The tools follow in the remaining time; this is not counted as a retry.
                by_digest = False
                if _is_unknown(reply):
                    digests.forget(key, monotonic())
                else:
                    digests.pause(monotonic())
                continue
            pause = None if retried else _pause_before_retry(reply, call.deadline)
            if pause is None or not channel.retries.withdraw():
                break
            retried = True
            self._progress.begun = None
            await asyncio.sleep(pause)
        verdict = self._judged(reply)
        if digests and isinstance(reply, Reply) and reply.is_success and not verdict.failed:
            if by_digest:
                digests.served(key)
            if verdict.catalog:
                digests.learn(key, verdict.catalog)
        return verdict

    def _judged(self, reply: Reply | Failure) -> Verdict:
        given = ""
        if isinstance(reply, Failure):
            verdict = Verdict([], Reason.API_ERROR, reply.detail, reply.blame, reply.blame)
        else:
            verdict = _read(reply, self._call)
            given = reply.headers.get("x-request-id", "")
            digest = reply.headers.get("x-catalog-digest", "")
            if digest.isalnum() and digest.isascii() and len(digest) <= MAX_DIGEST_CHARS:
                verdict.catalog = digest
        # A reply may contain any id; only a plausible one may go into logs.
        plausible = given.isprintable() and 0 < len(given) <= 128
        verdict.request_id = given if plausible else self._call.request_id
        verdict.attempts = self._progress.attempts
        return verdict


def _read(reply: Reply, call: Call) -> Verdict:
    if not reply.is_success:
        failed = reply.status >= 500
        return Verdict([], Reason.API_ERROR, f"status {reply.status}", failed=failed)
    try:
        names = answer.names_in(reply.body)
    except AnswerError as error:
        return Verdict([], Reason.API_ERROR, str(error), failed=True)
    header = answer.selection_header(reply.headers.get("x-tool-selection", ""))
    outcome = header.get("outcome") if header.get("outcome") in _OUTCOMES else None
    degraded = header.get("degraded", "no")[:MAX_RANKER_CHARS]
    verdict = Verdict([], outcome=outcome, degraded=None if degraded == "no" else degraded)
    if not names or outcome == "no_match":
        verdict.reason, verdict.detail = Reason.EMPTY_SELECTION, "the service found nothing"
        return verdict
    verdict.names = answer.usable(names, call.offer.by_name, call.top_k, call.always_keep)
    if not verdict.names:
        verdict.reason = Reason.UNKNOWN_SELECTION_NAMES
        verdict.detail = f"{len(names)} names, none of them offered"
    return verdict


def _unexpected(error: Exception) -> Verdict:
    """Log an unexpected error of this library or of a hook; the caller still gets its tools."""
    logger.error("a tool search failed unexpectedly", exc_info=error)
    return Verdict([], Reason.API_ERROR, f"unexpected {type(error).__name__}", counts=False)


def _body(call: Call, catalog: bytes) -> bytes:
    fields: dict[str, Any] = {**call.fields, "top_k": call.top_k}
    if not fields.get("messages"):
        fields["pattern"] = sendable(call.pattern)
    offered = call.offer.by_name
    pins = [pin for pin in dict.fromkeys(call.always_keep) if pin in offered and _is_text(pin)]
    if pins:
        fields["always_keep"] = pins
    return msgspec.json.encode(fields)[:-1] + b"," + catalog + b"}"


def latest(messages: list[Any]) -> list[Any]:
    """Return as many of the latest messages as the service reads, with the user's last one."""
    kept = messages[-MAX_MESSAGES:]
    asked = next((one for one in reversed(messages) if one.get("role") == "user"), None)
    if asked is not None and not any(one is asked for one in kept):
        kept[0] = asked
    return kept


def sendable(pattern: str) -> str:
    """Return a pattern as the service takes it."""
    return pattern[:MAX_PATTERN_CHARS].encode("utf-8", "replace").decode()


def _is_text(name: str) -> bool:
    """Whether a text can be encoded as UTF-8; a lone surrogate cannot."""
    return name.encode("utf-8", "replace").decode() == name


def _is_refused(reply: Reply | Failure, digest: str | None) -> bool:
    """Whether a digest was not accepted: refused, or not returned in the answer."""
    if isinstance(reply, Failure) or reply.status in (401, 403, 429):
        return False
    if reply.is_success:
        return reply.headers.get("x-catalog-digest") != digest
    return 400 <= reply.status < 500


def _is_unknown(reply: Reply | Failure) -> bool:
    return isinstance(reply, Reply) and reply.status == 404 and b"catalog_unknown" in reply.body


def _pause_before_retry(reply: Reply | Failure, deadline: float) -> float | None:
    """Return the seconds to wait before a retry; None without one, or if it would be too late."""
    if isinstance(reply, Failure):
        pause = random.uniform(0, RECONNECT_PAUSE_S) if reply.again else None  # noqa: S311
    else:
        pause = _retry_after(reply.headers) if reply.status == 503 else None
    if pause is None or monotonic() + pause >= deadline:
        return None
    return pause


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of `Retry-After`; None if it is absent or malformed."""
    given = headers.get("retry-after", "").strip()
    if not given:
        return None
    if given.isdecimal():
        return float(given[:9])
    try:
        return max(parsedate_to_datetime(given).timestamp() - time(), 0.0)
    except (ValueError, OverflowError):
        return None
