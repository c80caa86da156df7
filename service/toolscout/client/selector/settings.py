"""What both selectors do before and after a conversation: settings, checks, the selection."""

import logging
import os
import ssl
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from math import isfinite
from time import monotonic, perf_counter
from typing import Any, Literal, get_args

import msgspec

from toolscout import __version__
from toolscout.client.discovery.strategies import relevance
from toolscout.client.errors import InvalidArgument
from toolscout.client.observe.telemetry import Observer, QueryLog, event_of, log_event, notify
from toolscout.client.offer import Offer
from toolscout.client.selector import endpoint as endpoints
from toolscout.client.selector.breaker import BreakerPolicy, CircuitBreaker
from toolscout.client.selector.encoding import Definition, Encoder, Redact
from toolscout.client.selector.request import Ask, Conversations, Result, Step, Verdict
from toolscout.client.selector.rollout import Rollout, overlap
from toolscout.client.selector.selection import Reason, Selection, Shadow
from toolscout.client.selector.transport import Transport
from toolscout.contract import DEFAULT_TOP_K, MAX_TOP_K

Fallback = Literal["all", "relevance"]

logger = logging.getLogger("toolscout.client")

DEFAULT_TIMEOUT_S = 1.5

MAX_TIMEOUT_S = 86_400
"""No proxy waits a day; the clocks below take no number of any size."""

GIVE_UP_EARLY = 0.03
"""Share of the timeout kept back for giving up, at most `GIVE_UP_EARLY_S`: the cap is a promise."""

GIVE_UP_EARLY_S = 0.03

PICK_S = 50e-6
"""Kept back for each tool where a local pick may follow, at most `PICK_SHARE` of the timeout."""

PICK_SHARE = 0.3

OWN_FIELDS = frozenset({"pattern", "top_k", "always_keep", "tools", "catalog"})
"""Fields of a request that a call has arguments for."""


class Call(msgspec.Struct, frozen=True):
    """One call of `select`, checked."""

    ask: Ask
    session: str | None
    loop: int
    started: float
    until: float
    """When it must be over, on the monotonic clock."""
    unread: str = ""
    """The kind of error that the tools raised when they were read; empty when they were read."""

    @property
    def side(self) -> str:
        """What decides on which side of a rollout the call is; without a session, its pattern."""
        return self.ask.pattern if self.session is None else self.session


class SelectorBase:
    """Everything but the input and output of a selector.

    Args:
        endpoint: the URL of the search, as in the proxy's configuration; without a path,
            `/v1/tool-discovery/search` is added. Without one every call falls open, which is logged
            once, as a warning.
        api_key: sent as a bearer token.
        timeout: seconds of wall-clock time that a call may take in all.
        rollout: `off`, `dark`, `shadow`, `percent:N` or `on`.
        fallback: what a call that falls open returns: `all` tools, or the local `relevance` pick.
        definition: how much of each definition is sent: `full`, `minimal` or `none`.
        redact: takes what would be sent of one tool, returns what may be sent, or None.
        permit: says of a name whether this caller may have the tool. One that is refused, or of
            which this fails to say, is neither sent nor returned, also when a call falls open.
        use_digests: send the digest of a known catalog instead of its tools.
        breaker: when the circuit opens, and for how long.
        max_connections: connections at a time; kept open and used again.
        verify: True, or a context with certificates of one's own.
        trust_env: use the proxies of the environment, never for this machine itself.
        log_query: what of a query goes into events: `off`, `hashed` or `full`.
        observers: called with the event of every search; None is nobody.

    Raises:
        InvalidArgument: an argument has the wrong type or is out of bounds, or the endpoint is no
            http(s) URL.
    """

    def __init__(
        self,
        endpoint: str | None = None,
        api_key: str | None = None,
        timeout: float = DEFAULT_TIMEOUT_S,
        *,
        rollout: str | Rollout = "on",
        fallback: Fallback = "all",
        definition: Definition = "full",
        redact: Redact | None = None,
        permit: Callable[[str], bool] | None = None,
        use_digests: bool = True,
        breaker: BreakerPolicy | None = None,
        max_connections: int = 100,
        verify: ssl.SSLContext | bool = True,
        trust_env: bool = True,
        log_query: QueryLog = "hashed",
        observers: Sequence[Observer] | None = (log_event,),
    ) -> None:
        if endpoint is not None and not isinstance(endpoint, str):
            raise InvalidArgument.of("endpoint", "a URL or None", endpoint)
        if isinstance(timeout, bool) or not isinstance(timeout, int | float):
            raise InvalidArgument.of("timeout", "seconds", timeout)
        if not isfinite(timeout) or not 0 < timeout <= MAX_TIMEOUT_S:
            raise InvalidArgument(
                f"timeout: expected more than 0 and at most {MAX_TIMEOUT_S} seconds, got {timeout}"
            )
        _one_of("fallback", fallback, get_args(Fallback))
        _one_of("definition", definition, get_args(Definition))
        _one_of("log_query", log_query, get_args(QueryLog))
        for name, hook in (("redact", redact), ("permit", permit)):
            if hook is not None and not callable(hook):
                raise InvalidArgument.of(name, "a function or None", hook)
        self.rollout = Rollout.parse(rollout)
        self.timeout = float(timeout)
        self._fallback = fallback
        self._permit = permit
        self._log_query = log_query
        self._observers: tuple[Observer, ...] = checked_observers("observers", observers)
        if breaker is not None and not isinstance(breaker, BreakerPolicy):
            raise InvalidArgument.of("breaker", "a BreakerPolicy or None", breaker)
        if isinstance(max_connections, bool) or not isinstance(max_connections, int):
            raise InvalidArgument.of("max_connections", "a whole number", max_connections)
        if max_connections < 1:
            raise InvalidArgument(f"max_connections: expected 1 or more, got {max_connections}")
        if not isinstance(verify, bool | ssl.SSLContext):
            raise InvalidArgument.of("verify", "true, false or an SSLContext", verify)
        self.breaker = CircuitBreaker(breaker)
        self._conversations = Conversations(
            _header_text("api_key", api_key),
            f"toolscout-client/{__version__}",
            Encoder(definition, redact),
            self.breaker,
            use_digests,
        )
        url = endpoints.read(endpoint)
        self._endpoint = endpoints.without_secrets(str(url)) if url else ""
        if url is None and self.rollout.mode != "off":
            logger.warning("no endpoint is set: every search falls open and shows all tools")
        self._transport = Transport(url, max_connections, verify, trust_env) if url else None
        self._prepare()

    def _prepare(self) -> None:
        """What one kind of selector needs beside all this."""

    def _begin(
        self,
        pattern: str,
        tools: Sequence[Any],
        top_k: int | None,
        always_keep: Collection[str] | None,
        session: str | None,
        loop: int,
        fields: Mapping[str, Any] | None,
    ) -> Call:
        started, until = perf_counter(), monotonic() + self.timeout
        if not isinstance(pattern, str):
            raise InvalidArgument.of("pattern", "a text", pattern)
        top_k = DEFAULT_TOP_K if top_k is None else top_k
        if isinstance(top_k, bool) or not isinstance(top_k, int):
            raise InvalidArgument.of("top_k", "a whole number", top_k)
        pins = () if always_keep is None else always_keep
        if (
            isinstance(pins, str)
            or not isinstance(pins, Collection)
            or not all(isinstance(name, str) for name in pins)
        ):
            raise InvalidArgument.of("always_keep", "a sequence of names", always_keep)
        if session is not None and not isinstance(session, str):
            raise InvalidArgument.of("session", "a text or None", session)
        if fields:
            _check_fields(fields)
        unread = ""
        try:
            offer = Offer(tools)
        except InvalidArgument:
            raise
        except Exception as error:
            logger.exception("tools cannot be read; the search falls open")
            offer, unread = Offer.unread(tools), type(error).__name__
        if self._permit is not None:
            offer.keep(self._is_permitted)
        early = min(self.timeout * GIVE_UP_EARLY, GIVE_UP_EARLY_S)
        if self._fallback == "relevance" or self.rollout.mode == "shadow":
            early += min(self.timeout * PICK_SHARE, len(offer.names) * PICK_S)
        ask = Ask(
            pattern=pattern,
            offer=offer,
            # As the proxies do it: no count, or none that makes sense, is the default.
            top_k=min(top_k, MAX_TOP_K) if top_k >= 1 else DEFAULT_TOP_K,
            always_keep=tuple(pins),
            request_id=os.urandom(8).hex(),
            deadline=until - early,
            fields=dict(fields or {}),
        )
        return Call(ask, session, loop, started, until, unread)

    def _conversation(self, call: Call) -> Generator[Step, Result, Verdict] | Verdict:
        """What to do for a call: hold this conversation, or nothing because this is the end."""
        mode = self.rollout.mode
        if mode == "off" or (mode == "percent" and not self.rollout.includes(call.side)):
            return Verdict([])
        if call.unread:
            return Verdict([], Reason.API_ERROR, f"the tools cannot be read ({call.unread})")
        if self._transport is None:
            return Verdict([], Reason.MISSING_API_ENDPOINT, "no endpoint")
        return self._conversations.hold(call.ask)

    def _finish(self, call: Call, verdict: Verdict) -> Selection:
        ask, mode = call.ask, self.rollout.mode
        offer = ask.offer
        names = verdict.names
        kept_by: str | None = None
        shadow: Shadow | None = None
        if mode in ("off", "dark", "shadow") or not self.rollout.includes(call.side):
            kept_by = mode
            if mode in ("dark", "shadow"):
                shadow = self._shadow(call, names)
        open_ = verdict.reason is not None and kept_by is None
        if open_ and self._fallback == "relevance":
            names = self._picked(call)
        if not names or kept_by is not None:
            names, tools = list(offer.names), list(offer.everything)
        else:
            tools = list(offer.pick(names))
        selection = Selection(
            names=names,
            tools=tools,
            fell_open=open_,
            reason=verdict.reason,
            detail=verdict.detail,
            latency_ms=(perf_counter() - call.started) * 1_000,
            request_id=verdict.request_id,
            degraded=verdict.degraded,
            outcome=verdict.outcome,
            attempts=verdict.attempts,
            rollout=kept_by,
            shadow=shadow,
        )
        self.report(selection, ask.pattern, call.session or "", len(offer.names), call.loop)
        return selection

    def report(
        self, selection: Selection, pattern: str, session: str, offered: int, loop: int
    ) -> None:
        """Tell the observers of a search, also of one that was made elsewhere.

        Args:
            selection: what came of it.
            pattern: what was searched for.
            session: whose conversation it was; empty when unknown.
            offered: number of tools that were searched.
            loop: which search of one model turn it was, from 1; 0 outside of a loop.
        """
        if self._observers:
            event = event_of(
                selection, pattern, session, offered, loop, self._log_query, self._endpoint
            )
            notify(self._observers, event)

    def _is_permitted(self, name: str) -> bool:
        assert self._permit is not None
        try:
            return bool(self._permit(name))
        except Exception:
            logger.exception("permit failed; the tool is left out")
            return False

    def _shadow(self, call: Call, names: list[str]) -> Shadow:
        if self.rollout.mode == "dark":
            return Shadow(names)
        local = self._picked(call)
        return Shadow(names, local, overlap(names, local))

    def _picked(self, call: Call) -> list[str]:
        """The local pick; empty when there is no time for it, or a tool cannot be read."""
        ask = call.ask
        try:
            return relevance.pick(ask.pattern, ask.offer, ask.top_k, ask.always_keep, call.until)
        except Exception:
            logger.exception("a tool cannot be read; there is no local pick")
            return []


def _check_fields(fields: Mapping[str, Any]) -> None:
    if not isinstance(fields, Mapping) or not all(isinstance(key, str) for key in fields):
        raise InvalidArgument.of("fields", "a mapping of names", fields)
    for name in sorted(OWN_FIELDS & set(fields)):
        raise InvalidArgument(f"fields: {name} has an argument of its own")
    try:
        msgspec.json.encode(dict(fields))
    except Exception as error:
        raise InvalidArgument(f"fields: cannot be written as JSON ({error})") from error


def checked_observers(name: str, given: object) -> tuple[Any, ...]:
    """Check an argument that lists observers; None is nobody.

    Raises:
        InvalidArgument: it is no sequence of functions.
    """
    if given is None:
        return ()
    if not isinstance(given, Sequence) or not all(map(callable, given)):
        raise InvalidArgument.of(name, "a sequence of functions", given)
    return tuple(given)


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise InvalidArgument(f"{name}: expected one of {', '.join(allowed)}, got {value!r}")


def _header_text(name: str, value: str | None) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidArgument.of(name, "a text or None", value)
    text = value.strip()  # keys are often read from files that end in a newline
    if not text.isascii() or not text.isprintable():
        raise InvalidArgument(f"{name}: holds characters that no header can carry")
    return text
