"""One structured event per search, for logs and for hooks of the caller's own."""

import logging
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Literal

import msgspec

from toolscout.client.selector.selection import Reason, Selection

QueryLog = Literal["off", "hashed", "full"]
"""What of a query goes into events; a hash still shows which queries repeat."""

MAX_LOGGED_NAMES = 20
"""Names in the message of a log record; its fields have all of them."""

logger = logging.getLogger("toolscout.client")


class SearchEvent(msgspec.Struct, frozen=True):
    """What one search did. Holds names, never tool texts."""

    request_id: str
    query: str
    """Empty, the first 16 hex digits of its SHA-256, or the query itself."""
    session: str
    deferred_count: int
    """Tools that were searched."""
    status: Literal["selected", "fell_open", "kept"]
    """`kept`: a rollout kept every tool."""
    selected: list[str]
    reason: Reason | None
    detail: str
    outcome: str | None
    degraded: str | None
    latency_ms: float
    attempts: int
    loop_count: int
    """Which search of one model turn this was, from 1; 0 outside of a loop."""
    rollout: str | None = None
    overlap: float | None = None
    endpoint: str = ""
    """URL of the service without user, password and query; empty if there is none."""


Observer = Callable[[SearchEvent], None]


def event_of(
    selection: Selection,
    query: str,
    session: str,
    offered: int,
    loop: int,
    log: QueryLog,
    endpoint: str = "",
) -> SearchEvent:
    """Describe a finished search."""
    shadow = selection.shadow
    if log == "hashed":
        query = sha256(query.encode("utf-8", "replace")).hexdigest()[:16]
    status: Literal["selected", "fell_open", "kept"] = "selected"
    if selection.rollout:
        status = "kept"
    elif selection.fell_open:
        status = "fell_open"
    return SearchEvent(
        request_id=selection.request_id,
        query="" if log == "off" else query,
        session=session,
        deferred_count=offered,
        status=status,
        selected=shadow.names if shadow else selection.names if status == "selected" else [],
        reason=selection.reason,
        detail=selection.detail,
        outcome=selection.outcome,
        degraded=selection.degraded,
        latency_ms=round(selection.latency_ms, 3),
        attempts=selection.attempts,
        loop_count=loop,
        rollout=selection.rollout,
        overlap=shadow.overlap if shadow else None,
        endpoint=endpoint,
    )


def log_event(event: SearchEvent) -> None:
    """Log an event, its fields on the record: falling open is a WARNING, all else INFO.

    An open circuit is INFO too: the failures that opened it were warned of.
    """
    quiet = event.status != "fell_open" or event.reason is Reason.CIRCUIT_OPEN
    level = logging.INFO if quiet else logging.WARNING
    if logger.isEnabledFor(level):
        fields: dict[str, Any] = {"tool_search": msgspec.structs.asdict(event)}
        logger.log(level, "tool search %s", _summary(event), extra=fields)


def _summary(event: SearchEvent) -> str:
    """Describe an event in one line; many log formats drop the fields of a record."""
    count = len(event.selected)
    names = msgspec.json.encode(event.selected[:MAX_LOGGED_NAMES]).decode()
    selected = f"{count} of {event.deferred_count} tools in {event.latency_ms:.0f} ms: {names}"
    why = f"{event.reason} ({event.detail or 'no detail'})"
    if event.endpoint:
        why += f", endpoint {event.endpoint}"
    if event.status == "fell_open":
        return f"fell open: {why}"
    if event.status == "selected":
        return f"selected {selected}"
    if event.rollout not in ("dark", "shadow"):
        return f"kept every tool (rollout {event.rollout})"
    if event.reason is not None:
        return f"({event.rollout}) would have fallen open: {why}"
    overlap = "" if event.overlap is None else f", overlap {event.overlap:.2f}"
    return f"({event.rollout}) would have selected {selected}{overlap}"


def notify(observers: tuple[Observer, ...], event: SearchEvent) -> None:
    """Tell everyone; an observer that fails is logged and never the caller's problem."""
    for observer in observers:
        try:
            observer(event)
        except Exception:
            logger.exception("an observer of tool searches failed")
