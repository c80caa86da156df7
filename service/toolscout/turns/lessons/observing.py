"""Tell the observers and the service how tools were shown, and what became of a turn."""

import logging
from collections.abc import Callable
from typing import Any

from toolscout.client import events
from toolscout.client.log import logger
from toolscout.client.offer import Offer
from toolscout.tools.summary import estimate_definition_tokens
from toolscout.turns.lessons.reporter import Reporter
from toolscout.turns.state import TurnState

Whose = tuple[str, str]
"""The provider and the session."""


class TurnObservers:
    """Those who are told of requests and turns; where that fails, no answer changes.

    Args:
        strategy: that of the configuration.
        observers: called with each event.
        reporter: learns from turns that are over; None if nothing is to be reported.
    """

    def __init__(
        self, strategy: str, observers: tuple[events.TurnObserver, ...], reporter: Reporter | None
    ) -> None:
        self._strategy = strategy
        self._observers = observers
        self._reporter = reporter

    def filtered(self, provider: str, session: str, offer: Offer, shown: list[Any]) -> None:
        """Tell of a request that goes out with some of its tools."""
        if self._is_observed:
            _tell_safely(self._notify, "filtered", (provider, session), offer, shown)

    def tell_of(self, stage: events.Stage, turn: TurnState) -> None:
        """Tell of a turn before its first forward, or once it is over."""
        _tell_safely(self._tell_of, stage, turn)

    def _tell_of(self, stage: events.Stage, turn: TurnState) -> None:
        is_over = stage == "finished"
        if is_over and self._reporter is not None:
            self._reporter.observe(turn)
        if not self._is_observed:
            return
        visible = _find_visible(turn)
        calls = (0, 0, 0)
        if is_over:
            called = [call.name for call in turn.calls]
            seen = Offer(visible).names
            calls = turn.shown.places(called, seen)
        degraded = sum(made.selection.degraded is not None for made in turn.searched)
        counts = (turn.search_count, turn.rounds, *calls, degraded)
        whose = (turn.provider.name, turn.session)
        self._notify(stage, whose, turn.offer, visible, *counts)

    @property
    def _is_observed(self) -> bool:
        """Whether anybody gets the events: a log that leaves them out does not."""
        if not self._observers:
            return False
        is_logged = logger.isEnabledFor(logging.INFO)
        return is_logged or self._observers != (events.log_turn,)

    def _notify(
        self, stage: events.Stage, whose: Whose, offer: Offer, shown: list[Any], *counts: int
    ) -> None:
        offered = len(offer.names)
        tokens = (count_tokens(offer), estimate_definition_tokens(shown))
        about = (self._strategy, *whose, offered, len(shown), *tokens)
        event = events.TurnEvent(stage, *about, *counts)
        events.notify(self._observers, event, "turns")


def count_tokens(offer: Offer) -> int:
    """Return how many tokens the definitions of all tools have, by an estimate."""
    tools = offer.by_name.values()
    return offer.once("tokens", lambda: estimate_definition_tokens(tools))


def _find_visible(turn: TurnState) -> list[Any]:
    """Return the tools that the model sees in the current request, the search tool among them."""
    own = turn.offer.by_name
    if turn.is_whole:
        return [own[name] for name in turn.shown.every(turn.user_query)]
    return [turn.opening.search_tool, *(own[name] for name in turn.shown.names)]


def _tell_safely(tell: Callable[..., None], *about: Any) -> None:
    """Tell of a turn, and log in one line if that fails: a caller may cause it at each request."""
    try:
        tell(*about)
    except Exception as error:
        logger.warning("a turn could not be observed (%s)", type(error).__name__)
        logger.debug("it could not be observed", exc_info=True)
