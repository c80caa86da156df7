"""Tell the observers and the service how tools were shown, and what became of a turn."""

import logging
from collections.abc import Callable
from typing import Any

from toolscout.client import events
from toolscout.client.log import logger
from toolscout.client.offer import Offer
from toolscout.discovery.reporter import Reporter
from toolscout.discovery.turn import Turn
from toolscout.tools.summary import estimate_definition_tokens

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
            _safely(self._notify, "filtered", (provider, session), offer, shown)

    def tell_of(self, stage: events.Stage, turn: Turn) -> None:
        """Tell of a turn before its first forward, or once it is over."""
        _safely(self._tell_of, stage, turn)

    def _tell_of(self, stage: events.Stage, turn: Turn) -> None:
        called = [call.name for call in turn.calls]
        is_over = stage == "finished"
        if is_over and self._reporter is not None:
            self._reporter.observe(turn)
        if not self._is_observed:
            return
        visible = _visible(turn)
        calls = turn.shown.places(called, Offer(visible).names) if is_over else (0, 0, 0)
        degraded = sum(selection.degraded is not None for _, _, selection in turn.searched)
        counts = (turn.search_count, turn.rounds, *calls, degraded)
        whose = turn.provider.name, turn.session
        self._notify(stage, whose, turn.offer, visible, *counts)

    @property
    def _is_observed(self) -> bool:
        """Whether anybody gets the events: a log that leaves them out does not."""
        silent = () if logger.isEnabledFor(logging.INFO) else (events.log_turn,)
        return self._observers not in ((), silent)

    def _notify(
        self, stage: events.Stage, whose: Whose, offer: Offer, shown: list[Any], *counts: int
    ) -> None:
        tokens = tokens_of(offer), estimate_definition_tokens(shown)
        about = (self._strategy, *whose, len(offer.names), len(shown), *tokens)
        event = events.TurnEvent(stage, *about, *counts)
        events.notify(self._observers, event, "turns")


def tokens_of(offer: Offer) -> int:
    """Return how many tokens the definitions of all tools have, by an estimate."""
    return offer.once("tokens", lambda: estimate_definition_tokens(offer.by_name.values()))


def _visible(turn: Turn) -> list[Any]:
    """Return the tools that the model sees in the current request, the search tool among them."""
    names = turn.shown.every(turn.user_query) if turn.is_whole else turn.shown.names
    tools = [turn.offer.by_name[name] for name in names]
    return tools if turn.is_whole else [turn.search_tool, *tools]


def _safely(tell: Callable[..., None], *about: Any) -> None:
    """Tell of a turn, and log in one line if that fails: a caller may cause it at each request."""
    try:
        tell(*about)
    except Exception as error:
        logger.warning("a turn could not be observed (%s)", type(error).__name__)
        logger.debug("it could not be observed", exc_info=True)
