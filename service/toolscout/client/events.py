"""Structured events of searches and of whole turns, for logs and the caller's observers."""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import msgspec

from toolscout.client.log import logger
from toolscout.client.selection import Reason, Selection
from toolscout.common.hashing import hash_text
from toolscout.errors import InvalidArgument

E = TypeVar("E")

QueryLog = Literal["off", "hashed", "full"]
"""Form of the query in events; equal queries have equal hashes."""

MAX_LOGGED_NAMES = 20
"""Names in the message of a log record; its fields have all of them."""

Status = Literal["selected", "no_match", "fell_open", "kept"]
"""How a search ended. `no_match`: the service found that nothing fits. `kept`: a rollout kept every
tool.
"""


class SearchEvent(msgspec.Struct, frozen=True):
    """What one search did. Holds names, never tool texts."""

    request_id: str
    query: str
    """Empty, the first 16 hex digits of its SHA-256, or the query itself."""
    session: str
    deferred_count: int
    """Tools that were searched."""
    status: Status
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
    """URL of the service without user, password and query; empty without a service."""
    is_repeated: bool = False
    """Whether an earlier event has told of the same opening of the circuit."""


Observer = Callable[[SearchEvent], None]


_OF_THE_SELECTION = (
    "request_id",
    "reason",
    "detail",
    "outcome",
    "degraded",
    "attempts",
    "rollout",
    "overlap",
)
"""Fields of an event that a selection has too."""


class Telemetry(msgspec.Struct, frozen=True):
    """Makes the events of one selector and hands them to its observers."""

    observers: tuple[Observer, ...]
    """Called with every event."""
    log_query: QueryLog
    """What of a query goes into an event."""
    endpoint: str = ""
    """URL of the service without anything secret."""

    def report(
        self,
        selection: Selection[Any],
        query: str,
        session: str,
        offered: int,
        loop: int,
        is_repeated: bool = False,
    ) -> None:
        """Describe a finished search to the observers.

        Args:
            selection: its result.
            query: what was searched for.
            session: id of the conversation; empty when unknown.
            offered: number of tools that were searched.
            loop: which search of one model turn it was, from 1; 0 outside of a loop.
            is_repeated: whether the circuit is open since an earlier report.
        """
        if not self.observers:
            return
        if self.log_query == "hashed":
            query = hash_text(query)
        status: Status = "selected"
        if selection.rollout:
            status = "kept"
        elif selection.reason is Reason.EMPTY_SELECTION:
            status = "no_match"
        elif selection.fell_open:
            status = "fell_open"
        selected = selection.names if status == "selected" else selection.chosen or []
        event = SearchEvent(
            query="" if self.log_query == "off" else query,
            session=session,
            deferred_count=offered,
            status=status,
            selected=selected,
            latency_ms=round(selection.latency_ms, 3),
            loop_count=loop,
            endpoint=self.endpoint,
            is_repeated=is_repeated,
            **{name: getattr(selection, name) for name in _OF_THE_SELECTION},
        )
        notify(self.observers, event, "tool searches")


def log_event(event: SearchEvent) -> None:
    """Log an event with its fields on the record: falling open as WARNING, all else as INFO.

    An open circuit is a warning once per opening.
    """
    is_new = event.status == "fell_open" and not event.is_repeated
    level = logging.WARNING if is_new else logging.INFO
    if logger.isEnabledFor(level):
        fields: dict[str, Any] = {"tool_search": msgspec.structs.asdict(event)}
        logger.log(level, "tool search %s", _sum_up(event), extra=fields)


def _sum_up(event: SearchEvent) -> str:
    """Describe an event in one line; many log formats drop the fields of a record."""
    count = len(event.selected)
    names = msgspec.json.encode(event.selected[:MAX_LOGGED_NAMES]).decode()
    selected = f"{count} of {event.deferred_count} tools in {event.latency_ms:.0f} ms: {names}"
    why = f"{event.reason} ({event.detail or 'no detail'})"
    if event.endpoint:
        why += f", endpoint {event.endpoint}"
    if event.status == "fell_open":
        return f"fell open: {why}"
    if event.status == "no_match":
        return f"found none of {event.deferred_count} tools in {event.latency_ms:.0f} ms"
    if event.status == "selected":
        kept = f"kept all {event.deferred_count} tools: {event.detail}"
        return kept if event.reason is Reason.FEW_TOOLS else f"selected {selected}"
    if event.rollout not in ("dark", "shadow"):
        return f"kept every tool (rollout {event.rollout})"
    would = f"have fallen open: {why}"
    if event.reason is Reason.EMPTY_SELECTION:
        would = f"have found none of {event.deferred_count} tools"
    if event.reason not in (None, Reason.FEW_TOOLS):
        return f"({event.rollout}) would {would}"
    overlap = "" if event.overlap is None else f", overlap {event.overlap:.2f}"
    return f"({event.rollout}) would have selected {selected}{overlap}"


Stage = Literal["filtered", "deferred", "finished"]


class TurnEvent(msgspec.Struct, frozen=True):
    """How the tools of one request were shown. Holds counts, neither names nor texts."""

    stage: Stage
    """`filtered` (strategy `relevance`) or `deferred` before the first forward, `finished` after
    the last one of a turn that was deferred."""
    strategy: str
    provider: str
    session: str
    offered: int
    """Tools of the request that have a name."""
    shown: int
    """How many of them the model got, the search tool included; for `finished`: at the end."""
    tokens_offered: int = 0
    """Estimated prompt tokens of the definitions of the offered tools, as the next."""
    tokens_shown: int = 0
    """Of those that the model got."""
    searches: int = 0
    """Searches that the model made; 0 in `finished` if it never searched."""
    rounds: int = 0
    """Forwards after a search."""
    called_visible: int = 0
    """Calls that the client got of tools visible from the first request on, as the next two."""
    called_found: int = 0
    """Of tools that a search had found."""
    called_hidden: int = 0
    """Of others: the model called a tool that it could not see, or one that does not exist."""
    degraded: int = 0
    """Searches that the service answered by a cheaper ranker, that before the first forward too."""


TurnObserver = Callable[[TurnEvent], None]


def log_turn(event: TurnEvent) -> None:
    """Log an event with its fields on the record, as INFO."""
    if not logger.isEnabledFor(logging.INFO):
        return
    message = f"tools {event.stage}: {event.offered} -> {event.shown} ({event.strategy})"
    if event.stage == "finished":
        times = f"{event.searches} searches" if event.searches != 1 else "1 search"
        message = f"turn finished: {times if event.searches else 'the model never searched'}"
    logger.info("%s", message, extra={"turn": msgspec.structs.asdict(event)})


def notify(observers: tuple[Callable[[E], None], ...], event: E, kind: str) -> None:
    """Call every observer; log one that fails, and never raise."""
    for observer in observers:
        try:
            observer(event)
        except Exception:
            logger.exception("an observer of %s failed", kind)


def check_observers(name: str, observers: object) -> tuple[Any, ...]:
    """Check an argument that lists observers; None for no observers.

    Raises:
        InvalidArgument: it is no sequence of functions.
    """
    if observers is None:
        return ()
    if not isinstance(observers, Sequence) or not all(map(callable, observers)):
        raise InvalidArgument.of(name, "a sequence of functions", observers)
    return tuple(observers)
