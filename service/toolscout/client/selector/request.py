"""One call as a conversation: what to send next, given what came back.

A generator that yields steps (send this, wait that long) and is sent what came of them. It reads
no socket and sleeps never, so the blocking and the asynchronous selector run the same decisions.

    breaker → digest or tools → send ─┬─ usable answer → names
                 ↑  catalog_unknown ──┤
                 └─ one retry, paid ──┴─ anything else → why not
"""

import random
from collections.abc import Callable, Generator, Mapping
from email.utils import parsedate_to_datetime
from time import monotonic, time
from typing import Any, get_args

import msgspec

from toolscout.client.offer import Offer
from toolscout.client.selector import answer
from toolscout.client.selector.body import AnswerError
from toolscout.client.selector.breaker import CircuitBreaker
from toolscout.client.selector.digests import Digests
from toolscout.client.selector.encoding import Encoder
from toolscout.client.selector.retries import RetryBudget
from toolscout.client.selector.selection import Reason
from toolscout.contract import Outcome

MAX_PATTERN_CHARS = 4_096
"""Characters of a pattern that the service ranks by; more is not sent."""

RECONNECT_PAUSE_S = 0.025
"""Longest pause before connecting a second time; random, so that clients do not march in step."""

MAX_DIGEST_CHARS = 256
MAX_RANKER_CHARS = 32
_OUTCOMES = get_args(Outcome)


class Ask(msgspec.Struct, frozen=True):
    """One question, checked and ready."""

    pattern: str
    offer: Offer
    top_k: int
    always_keep: tuple[str, ...]
    request_id: str
    deadline: float
    """When the caller must have its answer, on the monotonic clock."""
    fields: dict[str, Any] = {}
    """Further fields of the request, for services that know them."""


class Send(msgspec.Struct, frozen=True):
    """Step: post this and read the answer, all before the deadline."""

    headers: dict[str, str]
    body: bytes
    deadline: float


class Pause(msgspec.Struct, frozen=True):
    """Step: let some time pass, in seconds."""

    seconds: float


class Reply(msgspec.Struct, frozen=True):
    """What came of a `Send`: an answer, whatever its status. Header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Failure(msgspec.Struct, frozen=True):
    """What came of a `Send`: no answer. `again` says that a second try may fare better."""

    detail: str
    again: bool = False
    blame: bool = True
    """Whether the service is to blame; not when the caller closed the selector meanwhile."""


Step = Send | Pause
Result = Reply | Failure | None


class Verdict(msgspec.Struct):
    """How a conversation ended: names to use, or the reason why there are none."""

    names: list[str]
    reason: Reason | None = None
    detail: str = ""
    failed: bool = False
    """Whether the service itself is to blame, which is what the breaker counts."""
    counts: bool = True
    """Whether the call says anything about the service at all."""
    request_id: str = ""
    degraded: str | None = None
    outcome: str | None = None
    attempts: int = 0


class Conversations:
    """What calls to one endpoint share: its health, its retry budget, its known catalogs."""

    def __init__(
        self,
        api_key: str | None,
        user_agent: str,
        encoder: Encoder,
        breaker: CircuitBreaker,
        use_digests: bool,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.breaker = breaker
        self.retries = RetryBudget()
        self.digests = Digests()
        self._use_digests = use_digests
        self._encoder = encoder
        self._clock = clock
        self._headers = {
            "content-type": "application/json",
            "accept": "application/json",
            "accept-encoding": "gzip",
            "user-agent": user_agent,
        }
        if api_key:
            self._headers["authorization"] = f"Bearer {api_key}"

    def hold(self, ask: Ask) -> Generator[Step, Result, Verdict]:
        """Hold one conversation; every way out of it settles with the breaker."""
        if not ask.pattern.strip():
            return Verdict([], Reason.EMPTY_QUERY, "the pattern is blank")
        if not ask.offer.names:
            return Verdict([])
        ticket = self.breaker.admit(self._clock())
        if ticket is None:
            return Verdict([], Reason.CIRCUIT_OPEN, "the service failed too often just now")
        try:
            verdict = yield from self._exchange(ask)
        except BaseException:
            self.breaker.withdraw(ticket)
            raise
        if verdict.counts:
            self.breaker.record(ticket, verdict.failed, self._clock())
        else:
            self.breaker.withdraw(ticket)
        return verdict

    def _exchange(self, ask: Ask) -> Generator[Step, Result, Verdict]:
        self.retries.deposit()
        try:
            tools, key = self._encoder.encode(ask.offer, ask.deadline)
        except TimeoutError:
            return Verdict([], Reason.API_ERROR, "the tools took all of the time", counts=False)
        if tools == b"[]":
            return Verdict([], Reason.API_ERROR, "no tool could be sent", counts=False)
        digest = self.digests.get(key, self._clock()) if self._use_digests else None
        by_digest = digest is not None
        retried = False
        attempts = 0
        while True:
            attempts += 1
            body = _body(
                ask, f'"catalog":"{digest}"'.encode() if by_digest else b'"tools":' + tools
            )
            reply = yield Send(self._request_headers(ask, digest), body, ask.deadline)
            assert reply is not None
            if by_digest and _is_refused(reply, digest):
                # The tools go after it in what is left of the time; no retry is spent on that.
                by_digest = False
                if _is_unknown(reply):
                    self.digests.forget(key, self._clock())
                else:
                    self.digests.pause(self._clock())
                continue
            pause = None if retried else self._pause_before_retry(reply, ask.deadline)
            if pause is None or not self.retries.withdraw():
                break
            retried = True
            yield Pause(pause)
        verdict = _judge(reply, ask)
        verdict.attempts = attempts
        if isinstance(reply, Reply) and not verdict.failed and 200 <= reply.status < 300:
            given = reply.headers.get("x-catalog-digest", "")
            if by_digest:
                self.digests.served(key)
            if given.isalnum() and given.isascii() and len(given) <= MAX_DIGEST_CHARS:
                self.digests.learn(key, given)
        return verdict

    def _request_headers(self, ask: Ask, digest: str | None) -> dict[str, str]:
        headers = {**self._headers, "x-request-id": ask.request_id}
        if digest is not None:
            headers["x-catalog-digest"] = digest
        return headers

    def _pause_before_retry(self, reply: Reply | Failure, deadline: float) -> float | None:
        """Seconds to wait before a second try; None when none is due or it would come too late."""
        if isinstance(reply, Failure):
            pause = random.uniform(0, RECONNECT_PAUSE_S) if reply.again else None  # noqa: S311
        else:
            pause = _retry_after(reply.headers) if reply.status == 503 else None
        if pause is None or self._clock() + pause >= deadline:
            return None
        return pause


def _body(ask: Ask, catalog: bytes) -> bytes:
    pattern = ask.pattern[:MAX_PATTERN_CHARS].encode("utf-8", "replace").decode()
    fields: dict[str, Any] = {**ask.fields, "pattern": pattern, "top_k": ask.top_k}
    offered = ask.offer.by_name
    pins = [pin for pin in dict.fromkeys(ask.always_keep) if pin in offered and _is_text(pin)]
    if pins:
        fields["always_keep"] = pins
    return msgspec.json.encode(fields)[:-1] + b"," + catalog + b"}"


def _is_text(name: str) -> bool:
    """Whether JSON can carry it; half a surrogate pair is in no request."""
    return name.encode("utf-8", "replace").decode() == name


def _is_refused(reply: Reply | Failure, digest: str | None) -> bool:
    """Whether a digest was not taken: refused as a request, or not named back in the answer."""
    if isinstance(reply, Failure) or reply.status in (401, 403, 429):
        return False
    if 200 <= reply.status < 300:
        return reply.headers.get("x-catalog-digest") != digest
    return 400 <= reply.status < 500


def _is_unknown(reply: Reply | Failure) -> bool:
    return isinstance(reply, Reply) and reply.status == 404 and b"catalog_unknown" in reply.body


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds until the service wants to be asked again; None where it does not say."""
    given = headers.get("retry-after", "").strip()
    if not given:
        return None
    if given.isdecimal():
        return float(given[:9])
    try:
        return max(parsedate_to_datetime(given).timestamp() - time(), 0.0)
    except (ValueError, OverflowError):
        return None


def _judge(reply: Reply | Failure, ask: Ask) -> Verdict:
    if isinstance(reply, Failure):
        verdict = Verdict([], Reason.API_ERROR, reply.detail, reply.blame, reply.blame)
        verdict.request_id = ask.request_id
        return verdict
    verdict = _read(reply, ask)
    # A reply may name any id; only a plausible one is worth repeating in logs.
    given = reply.headers.get("x-request-id", "")
    verdict.request_id = given if given.isprintable() and 0 < len(given) <= 128 else ask.request_id
    return verdict


def _read(reply: Reply, ask: Ask) -> Verdict:
    if not 200 <= reply.status < 300:
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
    verdict.names = answer.usable(names, ask.offer.by_name, ask.top_k, ask.always_keep)
    if not verdict.names:
        verdict.reason = Reason.UNKNOWN_SELECTION_NAMES
        verdict.detail = f"{len(names)} names, none of them offered"
    return verdict
