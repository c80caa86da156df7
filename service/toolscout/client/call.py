"""One call of a selector: what is asked, how it is sent, and how it ended.

    breaker → digest or tools → send ─┬─ usable answer → names
                 ↑  catalog_unknown ──┤
                 └─ one retry, paid ──┴─ anything else → why not

The breaker is asked and the tools are encoded in the caller's thread (`Channel.admit`), so an open
circuit costs next to nothing; the answer is read there too (`Channel.settle`). Between them is one
coroutine (`Channel.send`), wherever its event loop runs.
"""

import asyncio
import random
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from time import monotonic, time
from typing import Any, get_args

import msgspec

from toolscout import __version__
from toolscout.client import answer
from toolscout.client.answer import AnswerError
from toolscout.client.breaker import CircuitBreaker, RetryBudget
from toolscout.client.connections import Connections, HttpReply, Post
from toolscout.client.encoding import Digests, RequestEncoder
from toolscout.client.log import logger
from toolscout.client.offer import Offer
from toolscout.client.selection import Reason, Selection
from toolscout.contract.bounds import cut
from toolscout.contract.fields import Outcome

MAX_MESSAGES = 256
"""Latest messages of a conversation that are sent; the service reads no more."""

RECONNECT_PAUSE_S = 0.025
"""Longest pause before connecting a second time; random, so that clients do not retry together."""

FILTERS = ("filters", "max_risk")
"""Fields of a request by which a tool may be left out, however few there are."""

MIN_PATIENT_MS = 900
"""Milliseconds from which a caller waits as long as a service may take for new tools, its
`cold_budget_ms`."""

SERVICE_SHARE = 0.6
"""Share of a shorter wait that the service is told it has: better an answer by words than none."""

MAX_DIGEST_CHARS = 256
MAX_ID_CHARS = 128
MAX_RANKER_CHARS = 32
_OUTCOMES = get_args(Outcome)


class SearchCall(msgspec.Struct):
    """One call of `select`, checked."""

    pattern: str
    offer: Offer
    top_k: int
    always_keep: tuple[str, ...]
    fields: dict[str, Any]
    """Further fields of the request, for services that know them."""
    session: str | None
    loop: int
    started: float
    deadline: float
    """When the service must have answered, on the monotonic clock."""
    until: float
    """When the call must be over, on the monotonic clock."""
    request_id: str
    ticket: int | None = None
    """The breaker's; None for a call that does not go to the service."""
    tools: bytes = b""
    """The tools as JSON."""
    key: bytes = b""
    """The hash by which they are recognised."""
    attempts: int = 0
    times: list[float] = []
    """When the latest request began, and when it had a connection."""
    result: Selection[Any] = Selection([], [])
    """What the service selected, without tools; all are shown if it is empty."""

    def fall_open(self, reason: Reason, detail: str) -> None:
        """End without a selection."""
        self.result = Selection([], [], True, reason, detail)


class Channel:
    """State shared by calls to one endpoint: its breaker, retry budget and known digests."""

    def __init__(
        self,
        connections: Connections,
        breaker: CircuitBreaker,
        encoder: RequestEncoder,
        *,
        api_key: str | None,
        use_digests: bool,
    ) -> None:
        self.connections = connections
        self.breaker = breaker
        self.encoder = encoder
        self.retries = RetryBudget()
        self.digests = Digests() if use_digests else None
        self.headers = {
            "content-type": "application/json",
            "accept": "application/json",
            "accept-encoding": "gzip",
            "user-agent": f"toolscout-client/{__version__}",
        }
        if api_key:
            self.headers["authorization"] = f"Bearer {api_key}"

    def admit(self, call: SearchCall, asks_about_few: bool = False) -> None:
        """Give a call its ticket and its tools as JSON, or the reason why it falls open.

        Of no more tools than it may choose, all are chosen, unless it `asks_about_few`.
        """
        is_asked = asks_about_few or any(call.fields.get(name) for name in FILTERS)
        if not call.pattern.strip():
            call.fall_open(Reason.EMPTY_QUERY, "the pattern is blank")
        elif len(call.offer.names) <= call.top_k and not is_asked:
            if call.offer.names:
                detail = f"no more than {call.top_k} tools; nothing was asked"
                call.result = Selection([], [], reason=Reason.FEW_TOOLS, detail=detail)
        elif (ticket := self.breaker.admit(monotonic())) is None:
            call.fall_open(Reason.CIRCUIT_OPEN, "the service failed too often just now")
        else:
            call.ticket = ticket
            try:
                call.tools, call.key = self.encoder.encode(call.offer, call.deadline)
                why = "no tool could be sent" if call.tools == b"[]" else ""
            except TimeoutError:
                why = "the tools took all of the time"
            except Exception as error:
                why = log_unexpected(error)
            if why:
                self.breaker.withdraw(ticket)
                call.ticket = None
                call.fall_open(Reason.API_ERROR, why)

    def sent_for(self, call: SearchCall) -> Iterator[SearchCall]:
        """Yield what is to be sent for a call, each after the answer to the one before.

        What the model sees already is asked about where no other tool fits: a search that only such
        a tool fits has found it.
        """
        if call.ticket is None:
            return
        yield call
        visible = call.offer.visible
        if visible is None or call.result.reason is not Reason.EMPTY_SELECTION:
            return
        second = msgspec.structs.replace(call, offer=visible, always_keep=(), ticket=None)
        self.admit(second, asks_about_few=True)
        if second.ticket is not None:
            yield second
        if second.result.fell_open:
            call.result = msgspec.structs.replace(call.result, attempts=second.attempts)
        else:
            call.result = second.result

    async def send(self, call: SearchCall) -> HttpReply:
        """Ask the service; failures of it or the network are in the reply."""
        try:
            return await self._exchange(call)
        except Exception as error:
            return HttpReply(detail=log_unexpected(error), blame=False)

    def finish_call(self, call: SearchCall, reply: HttpReply | None) -> None:
        """Read the answer and tell the breaker how the call ended; None if it was cancelled."""
        assert call.ticket is not None
        failed = False if reply is None else self._read(call, reply)
        if reply is None or not reply.blame:
            self.breaker.withdraw(call.ticket)
        else:
            self.breaker.record(call.ticket, failed, monotonic())

    def _read(self, call: SearchCall, reply: HttpReply) -> bool:
        """Make the result of an answer; return whether the service failed."""
        digest = reply.headers.get("x-catalog-digest", "")
        if not (digest.isalnum() and digest.isascii() and len(digest) <= MAX_DIGEST_CHARS):
            digest = ""
        # A reply may contain any id; only a plausible one may go into logs.
        request_id = reply.headers.get("x-request-id", "")
        plausible = request_id.isprintable() and 0 < len(request_id) <= MAX_ID_CHARS
        header = answer.read_selection_header(reply.headers.get("x-tool-selection", ""))
        degraded = header.get("degraded", "no")[:MAX_RANKER_CHARS]
        outcome = header.get("outcome")
        about = {
            "request_id": request_id if plausible else call.request_id,
            "attempts": call.attempts,
            "catalog": digest,
            "degraded": None if degraded == "no" else degraded,
            "outcome": outcome if outcome in _OUTCOMES else None,
        }
        call.result = _make_selection(call, reply, about)
        is_refused = not reply.is_success and 0 < reply.status < 500
        failed = call.result.reason is Reason.API_ERROR and not is_refused
        if self.digests and digest and reply.is_success and not failed:
            self.digests.learn(call.key, digest)
        return failed

    async def _exchange(self, call: SearchCall) -> HttpReply:
        digests = self.digests
        self.retries.deposit()
        digest = digests.get(call.key, monotonic()) if digests else None
        headers = {**self.headers, "x-request-id": call.request_id}
        full = catalog = b'"tools":' + call.tools
        if digest is not None:
            headers["x-catalog-digest"] = digest
            catalog = f'"catalog":"{digest}"'.encode()
        retried = False
        while True:
            call.attempts += 1
            body = _write_body(call, catalog)
            post = Post(headers, body, call.deadline, times=call.times)
            reply = await self.connections.post(post)
            if digests and catalog is not full and _is_refused(reply, digest):
                # The tools follow in the remaining time; this is not counted as a retry.
                catalog = full
                if reply.status == 404 and b"catalog_unknown" in reply.body:
                    digests.pause(call.key, monotonic())
                    digest = None
                continue
            if digests and digest is not None and catalog is full and reply.is_success:
                digests.pause(None, monotonic())  # it was the digest, and no other field
            pause = None if retried else _pause_before_retry(reply, call.deadline)
            if pause is None or not self.retries.withdraw():
                return reply
            retried = True
            await asyncio.sleep(pause)


def _make_selection(call: SearchCall, reply: HttpReply, about: dict[str, Any]) -> Selection[Any]:
    """Return what an answer selects; `about` are further fields of it."""

    def none(reason: Reason, detail: str) -> Selection[Any]:
        return Selection([], [], True, reason, detail, **about)

    if not reply.is_success:
        return none(Reason.API_ERROR, reply.detail or _explain(reply.status))
    try:
        names = answer.read_names(reply.body)
    except AnswerError as error:
        return none(Reason.API_ERROR, str(error))
    if not names or about["outcome"] == "no_match":
        return none(Reason.EMPTY_SELECTION, "the service found nothing")
    if usable := answer.choose_usable(names, call.offer.by_name, call.top_k, call.always_keep):
        return Selection(usable, [], **about)
    if usable := answer.choose_usable(names, call.offer.all_by_name, call.top_k, ()):
        return Selection(usable, [], **about)  # pins, which others name though nobody sent them
    return none(Reason.UNKNOWN_SELECTION_NAMES, f"{len(names)} names, none of them offered")


WRONG_PATH = ": give the service's address without a path, or the whole path of a search"

HINTS = {
    401: ": is api_key one of the service's keys?",
    403: ": has the api_key the scope search?",
    404: WRONG_PATH,
    405: WRONG_PATH,
}
"""What is said of statuses that a setting of the client explains."""


def _explain(status: int) -> str:
    return f"status {status}{HINTS.get(status, '')}"


def log_unexpected(error: Exception) -> str:
    """Log an error of this library or of a hook; the caller still gets its tools."""
    logger.error("a tool search failed unexpectedly", exc_info=error)
    return f"unexpected {type(error).__name__}"


def _write_body(call: SearchCall, catalog: bytes) -> bytes:
    fields: dict[str, Any] = {**call.fields, "top_k": call.top_k}
    if not fields.get("messages"):
        fields["pattern"] = make_sendable(call.pattern)
    pins = [pin for pin in dict.fromkeys(call.always_keep) if pin == make_sendable(pin)]
    if pins:
        fields["always_keep"] = pins
    within_ms = round(1_000 * (call.deadline - call.started))
    if within_ms < MIN_PATIENT_MS:
        fields.setdefault("latency_budget_ms", max(1, round(SERVICE_SHARE * within_ms)))
    return msgspec.json.encode(fields)[:-1] + b"," + catalog + b"}"


def cut_to_latest(messages: list[Any]) -> list[Any]:
    """Return as many of the latest messages as the service reads, with the user's last one."""
    kept = messages[-MAX_MESSAGES:]
    asked = next((one for one in reversed(messages) if one.get("role") == "user"), None)
    if asked is not None and not any(one is asked for one in kept):
        kept[0] = asked
    return kept


def make_sendable(pattern: str) -> str:
    """Return a pattern as the service takes it: in UTF-8, which has no lone surrogates."""
    return cut(pattern).encode("utf-8", "replace").decode()


def _is_refused(reply: HttpReply, digest: str | None) -> bool:
    """Whether a digest was not accepted: refused, or not returned in the answer."""
    if reply.is_success:
        return reply.headers.get("x-catalog-digest") != digest
    return 400 <= reply.status < 500 and reply.status not in (401, 403, 429)


def _pause_before_retry(reply: HttpReply, deadline: float) -> float | None:
    """Return the seconds to wait before a retry; None without one, or if it would be too late."""
    pause = random.uniform(0, RECONNECT_PAUSE_S) if reply.again else None  # noqa: S311
    if reply.status == 503:
        pause = _retry_after(reply.headers)
    return None if pause is None or monotonic() + pause >= deadline else pause


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of `Retry-After`; None if it is absent or malformed."""
    value = headers.get("retry-after", "").strip()
    if value.isdecimal():
        return float(value[:9])
    try:
        return max(parsedate_to_datetime(value).timestamp() - time(), 0.0)
    except (ValueError, OverflowError):
        return None
