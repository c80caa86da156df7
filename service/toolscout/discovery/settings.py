"""Settings that all turns of a flow share."""

import logging
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from toolscout.common.lru import Lru
from toolscout.discovery.config import DiscoveryConfig
from toolscout.discovery.left_out import LeftOut, Upstream
from toolscout.discovery.providers import Json, Provider, native_of
from toolscout.discovery.session import SessionStore

Order = Literal["rank", "catalog", "append"]
"""Position of found tools: best first before earlier finds (`rank`), in the request's order
(`catalog`), or last (`append`). Only the last leaves the tools before them as they were.
"""

MAX_ROUNDS = 5

logger = logging.getLogger("toolscout.client")


class TurnSettings(msgspec.Struct, frozen=True):
    """What every turn of a flow is made with."""

    config: DiscoveryConfig
    store: SessionStore
    order: Order
    max_rounds: int
    native: bool
    """Whether the provider's own deferred loading is used where the model has it."""
    dispatch: bool
    """Whether found tools are called through one constant tool where that is not so."""
    remember_tools: bool
    """Whether a session's deferred tools are kept for requests that leave theirs out."""
    refusing: Lru[Upstream, bool]
    """Models, of all callers, that have refused the native form."""
    left_out: LeftOut
    """Tools that are not sent, because the provider would refuse the request for them."""
    on_end: Callable[[Any], None]
    """Called once with a turn that has ended."""

    def native_form(self, provider: Provider, request: Json, upstream: Upstream) -> Provider | None:
        """Return the native form of an interface, unless it is off or the model has refused it."""
        found = native_of(provider, request) if self.native else None
        return None if found and self.refusing.get(upstream.of_anyone) else found

    def emulate(self, upstream: Upstream) -> None:
        """Use the native form no more for a model, as long as the process lives."""
        self.refusing.put(upstream.of_anyone, True)
        logger.warning("model %s takes no deferred tools; they are emulated", upstream.model)

    def kept(self, session: str, scope: str) -> tuple[str, ...]:
        """Return the names that are visible in a conversation from its beginning."""
        config, store = self.config, self.store
        most_called = store.most_called(session, scope) if config.keeps_most_called else ()
        return (*config.pins, *most_called)
