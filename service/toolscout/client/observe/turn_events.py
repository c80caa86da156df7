"""Events of whole turns: how many tools were kept from the model, and whether it searched."""

import logging
from collections.abc import Callable
from typing import Literal

import msgspec

logger = logging.getLogger("toolscout.client")

Stage = Literal["filtered", "deferred", "finished"]


class TurnEvent(msgspec.Struct, frozen=True):
    """What became of the tools of one request. Holds counts, neither names nor texts."""

    stage: Stage
    """`filtered` (strategy `relevance`) or `deferred` before the first forward, `finished` after
    the last one of a turn that was deferred."""
    strategy: str
    provider: str
    session: str
    offered: int
    """Tools of the request that have a name."""
    shown: int
    """How many of them went to the model, the search tool counted; `finished`: in the end."""
    searches: int = 0
    """Searches that the model made; 0 in `finished`: it never searched."""
    rounds: int = 0
    """Forwards that a search made necessary."""


TurnObserver = Callable[[TurnEvent], None]


def log_turn(event: TurnEvent) -> None:
    """Log an event, its fields on the record: INFO."""
    if not logger.isEnabledFor(logging.INFO):
        return
    message = f"tools {event.stage}: {event.offered} -> {event.shown} ({event.strategy})"
    if event.stage == "finished":
        times = f"{event.searches} searches" if event.searches != 1 else "1 search"
        message = f"turn finished: {times if event.searches else 'the model never searched'}"
    logger.info("%s", message, extra={"turn": msgspec.structs.asdict(event)})


def notify_turn(observers: tuple[TurnObserver, ...], event: TurnEvent) -> None:
    """Tell every observer; one that fails is logged and harms no request."""
    for observer in observers:
        try:
            observer(event)
        except Exception:
            logger.exception("an observer of turns failed")
