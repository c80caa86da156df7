"""The parts before and after a request that both selectors share."""

import os
import ssl
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from inspect import signature
from time import monotonic, perf_counter
from typing import Any, Literal, TypeGuard, TypeVar, cast, get_args

import msgspec

from toolscout.client import endpoint as endpoints
from toolscout.client.breaker import BreakerPolicy, CircuitBreaker
from toolscout.client.call import Channel, SearchCall
from toolscout.client.connections import Connections
from toolscout.client.encoding import Definition, Redact, RequestEncoder
from toolscout.client.events import Observer, QueryLog, Telemetry, check_observers, log_event
from toolscout.client.log import logger
from toolscout.client.offer import Offer
from toolscout.client.rollout import Rollout, measure_overlap
from toolscout.client.selection import Reason, Selection
from toolscout.contract.fields import DEFAULT_TOP_K, MAX_TOP_K
from toolscout.errors import InvalidArgument, check_count, check_names, suggest
from toolscout.tools.shapes import read_texts

Fallback = Literal["all", "relevance"]

DEFAULT_TIMEOUT_S = 1.5

MAX_TIMEOUT_S = 86_400
"""Largest timeout, a day; timers do not accept arbitrarily large numbers."""

GIVE_UP_EARLY = 0.03
"""Share of the timeout reserved for giving up in time, at most `GIVE_UP_EARLY_S`."""

GIVE_UP_EARLY_S = 0.03

PICK_S = 50e-6
"""Time reserved per tool for the local ranking, at most `PICK_SHARE` of the timeout."""

PICK_SHARE = 0.3

OWN_FIELDS = frozenset({"pattern", "top_k", "always_keep", "tools", "catalog"})
"""Fields of a request that are arguments of a call."""

_KINDS: dict[str, tuple[Any, str]] = {
    "endpoint": (str | None, "a URL or None"),
    "api_key": (str | None, "a text or None"),
    "timeout": (int | float, "seconds"),
    "redact": (Callable | None, "a function or None"),
    "permit": (Callable | None, "a function or None"),
    "breaker": (BreakerPolicy | None, "a BreakerPolicy or None"),
    "pattern": (str, "a text or the parts of a message"),
    "session": (str | None, "a text or None"),
    "verify": (bool | ssl.SSLContext, "true, false or an SSLContext"),
    "fallback": (get_args(Fallback), "one of all, relevance"),
    "definition": (get_args(Definition), "one of full, minimal, none"),
    "log_query": (get_args(QueryLog), "one of off, hashed, full"),
}
"""The types or words that arguments may have, and how error messages name them."""


Function = TypeVar("Function", bound=Callable[..., Any])


def check_options(owner: object, names: Collection[str], *functions: Callable[..., Any]) -> None:
    """Check the names of arguments.

    Raises:
        InvalidArgument: one is no parameter of these functions; the message has the nearest.
    """
    if not names:
        return
    parameters = {name for function in functions for name in signature(function).parameters}
    for name in names:
        if name not in parameters:
            hint = suggest(name, parameters)
            raise InvalidArgument(f"{name}: is no argument of {type(owner).__name__}{hint}")


def naming_the_nearest(function: Function) -> Function:
    """Refuse a misspelt argument of a method as a misspelt setting is refused."""

    @wraps(function)
    def checked(self: object, *args: Any, **options: Any) -> Any:
        check_options(self, options, function)
        return function(self, *args, **options)

    return cast("Function", checked)


class SelectorBase:
    """Everything but the input and output of a selector.

    Args:
        endpoint: the URL of the search, as in the proxy's configuration; without a path,
            `/v1/tool-discovery/search` is added. Without one every call falls open, which is logged
            once, as a warning.
        api_key: sent as a bearer token.
        timeout: seconds of wall-clock time for the whole call.
        rollout: `off`, `dark`, `shadow`, `percent:N` or `on`.
        fallback: what a call that falls open returns: `all` tools, or the local `relevance` pick.
        definition: how much of each definition is sent: `full`, `minimal` or `none`.
        redact: takes what would be sent of one tool, returns what may be sent, or None.
        permit: whether this caller may have the tool of a name. One that is refused, or for which
            this raises, is neither sent nor returned, also when a call falls open.
        use_digests: send the digest of a known catalog instead of its tools.
        breaker: when the circuit opens, and for how long.
        max_connections: open at a time; they are reused.
        verify: True, or an `ssl.SSLContext`.
        trust_env: use the proxies of the environment, but never for loopback addresses.
        log_query: form of the query in events: `off`, `hashed` or `full`.
        observers: called with the event of every search; None for no observers.

    Raises:
        InvalidArgument: an argument has the wrong type or is out of bounds, or the endpoint is no
            http(s) URL.
    """

    @naming_the_nearest
    def __init__(  # noqa: PLR0913  # options of the public class
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
        _check(endpoint=endpoint, timeout=timeout, redact=redact, permit=permit)
        _check(breaker=breaker, verify=verify)
        _check(fallback=fallback, definition=definition, log_query=log_query)
        if isinstance(timeout, bool) or not 0 < timeout <= MAX_TIMEOUT_S:
            raise InvalidArgument(
                f"timeout: expected more than 0 and at most {MAX_TIMEOUT_S} seconds, got {timeout}"
            )
        check_count("max_connections", max_connections, 1)
        self.rollout = Rollout.parse(rollout)
        self.timeout = float(timeout)
        self.reserve = min(self.timeout * GIVE_UP_EARLY, GIVE_UP_EARLY_S)
        """Seconds at the end of a call for giving up in time."""
        self._fallback = fallback
        self._permit = permit
        self.breaker = CircuitBreaker(breaker)
        key = _write_header(api_key)
        url = endpoints.read(endpoint)
        shown = endpoints.hide_secrets(str(url)) if url else ""
        self.telemetry = Telemetry(check_observers("observers", observers), log_query, shown)
        if url is None and self.rollout.mode != "off":
            logger.warning("no endpoint is set: every search falls open and shows all tools")
        self._opening = -1
        """Of the circuit, as it was reported last."""
        self.channel: Channel | None = None
        if url is not None:
            connections = Connections(url, max_connections, verify, trust_env)
            encoder = RequestEncoder(definition, redact)
            self.channel = Channel(
                connections, self.breaker, encoder, api_key=key, use_digests=use_digests
            )
        self._prepare()

    def _prepare(self) -> None:
        """Prepare what one kind of selector needs."""

    def _begin(  # noqa: PLR0913  # the arguments of `select`
        self,
        pattern: Any,
        tools: Sequence[Any],
        top_k: int | None,
        always_keep: Collection[str] | None,
        session: str | None,
        loop: int,
        fields: Mapping[str, Any] | None,
    ) -> SearchCall:
        """Read a call and ask the breaker; without a ticket the service is not called."""
        if isinstance(tools, str) and not isinstance(pattern, str):
            raise InvalidArgument("select(pattern, tools): the arguments are swapped")
        started = perf_counter()
        until = monotonic() + self.timeout
        wrong: tuple[Reason, str] | None = None
        pattern = _text_of(pattern)
        try:
            _check_arguments(pattern, always_keep, session, fields)
        except Exception as error:
            is_query = isinstance(pattern, str)
            wrong = Reason.API_ERROR if is_query else Reason.EMPTY_QUERY, str(error)
            pattern = ""
            always_keep = ()
            session = None
            fields = None
        try:
            offer = Offer.of(tools)
        except Exception as error:
            offer = Offer(())
            wrong = Reason.API_ERROR, f"the tools cannot be read ({type(error).__name__})"
        if offer.odd:
            logger.warning("tools%s: no object with a name, and not searched", [*offer.odd])
        if self._permit is not None:
            refused = {name for name in offer.all_by_name if not self._is_permitted(name)}
            offer = offer.without(refused)
        early = self.reserve
        if self._fallback == "relevance" or self.rollout.mode == "shadow":
            early += min(self.timeout * PICK_SHARE, len(offer.names) * PICK_S)
        call = SearchCall(
            pattern=str.__str__(pattern),  # a subclass may raise
            offer=offer,
            # As in the proxies, a missing or senseless count is the default.
            top_k=min(top_k, MAX_TOP_K) if _is_count(top_k) else DEFAULT_TOP_K,
            always_keep=tuple(offer.matching(tuple(always_keep or ()))),
            fields=dict(fields or {}),
            session=session,
            loop=loop,
            started=started,
            deadline=until - early,
            until=until,
            request_id=os.urandom(8).hex(),
        )
        is_used = self.rollout.includes(call.session, call.request_id)
        if not is_used and self.rollout.mode not in ("dark", "shadow"):
            return call
        if wrong is not None:
            call.fall_open(*wrong)
        elif self.channel is None:
            call.fall_open(Reason.MISSING_API_ENDPOINT, "no endpoint")
        else:
            self.channel.admit(call)
        return call

    def _finish(self, call: SearchCall) -> Selection[Any]:
        """Return the tools to show, and report the call."""
        mode = self.rollout.mode
        offer = call.offer
        result = call.result
        names = result.names
        changes: dict[str, Any] = {}
        if not self.rollout.includes(call.session, call.request_id):
            changes = {"rollout": mode, "fell_open": False}
            if mode in ("dark", "shadow"):
                # Of so few that all of them are shown, all are chosen.
                chosen = names if names or result.fell_open else list(offer.names)
                agrees = measure_overlap(chosen, self._picked(call)) if mode == "shadow" else None
                changes |= {"chosen": chosen, "overlap": agrees}
            names = []
        elif result.fell_open and self._fallback == "relevance":
            names = self._picked(call)
        selection = msgspec.structs.replace(
            result,
            names=names or list(offer.names),
            tools=list(offer.pick(names) if names else offer.everything),
            latency_ms=(perf_counter() - call.started) * 1_000,
            **changes,
        )
        is_open = result.reason is Reason.CIRCUIT_OPEN
        opening = self._opening
        if is_open:
            self._opening = self.breaker.generation
        is_repeated = is_open and opening == self._opening
        self.telemetry.report(
            selection, call.pattern, call.session or "", len(offer.names), call.loop, is_repeated
        )
        return selection

    def _is_permitted(self, name: str) -> bool:
        assert self._permit is not None
        try:
            return bool(self._permit(name))
        except Exception:
            logger.exception("permit failed; the tool is left out")
            return False

    def _picked(self, call: SearchCall) -> list[str]:
        """Rank locally; empty if there is no time for it, or a tool cannot be read."""
        from toolscout.text.relevance import Candidate, pick  # most callers need no local ranking

        tools = call.offer.by_name.items()
        try:
            candidates = (Candidate(name, read_texts(tool)[1]) for name, tool in tools)
            return pick(call.pattern, candidates, call.top_k, call.always_keep, call.until)
        except Exception:
            logger.exception("a tool cannot be read; there is no local pick")
            return []


def _text_of(pattern: Any) -> Any:
    """Return the text of content parts, or of the last user's message; anything else as it is."""
    if not isinstance(pattern, list | tuple) or not all(isinstance(p, Mapping) for p in pattern):
        return pattern
    if pattern and all("role" in message for message in pattern):
        asked = [message.get("content") for message in pattern if message["role"] == "user"]
        return _text_of(asked[-1]) if asked else ""
    texts = (p.get("text") for p in pattern if p.get("type", "text") in ("text", "input_text"))
    return "\n".join(text for text in texts if isinstance(text, str))


def _check(**arguments: object) -> None:
    for name, value in arguments.items():
        kind, expected = _KINDS[name]
        if isinstance(kind, tuple):
            if value not in kind:
                raise InvalidArgument(f"{name}: expected {expected}, got {value!r}")
        elif not isinstance(value, kind):
            raise InvalidArgument.of(name, expected, value)


def _is_count(top_k: object) -> TypeGuard[int]:
    return isinstance(top_k, int) and not isinstance(top_k, bool) and top_k >= 1


def _check_arguments(pattern: object, always_keep: object, session: object, fields: Any) -> None:
    """Refuse arguments of a call that cannot be used."""
    _check(pattern=pattern, session=session)
    if always_keep is not None:
        check_names("always_keep", always_keep)
    if fields is None:
        return
    if not isinstance(fields, Mapping) or not all(isinstance(key, str) for key in fields):
        raise InvalidArgument.of("fields", "a mapping of names", fields)
    for name in sorted(OWN_FIELDS & set(fields)):
        raise InvalidArgument(f"fields: {name} has an argument of its own")
    try:
        msgspec.json.encode(dict(fields))
    except Exception as error:
        raise InvalidArgument(f"fields: cannot be written as JSON ({error})") from error


def _write_header(api_key: str | None) -> str | None:
    _check(api_key=api_key)
    text = (api_key or "").strip()  # keys are often read from files that end in a newline
    if not text.isascii() or not text.isprintable():
        raise InvalidArgument("api_key: holds characters that no header can carry")
    return text or None
