"""Settings that all turns of a flow share."""

from collections.abc import Callable
from typing import Any

import msgspec

from toolscout.common.lru import Lru
from toolscout.discovery.config import DiscoveryConfig
from toolscout.discovery.left_out import LeftOut, Upstream
from toolscout.discovery.refusals import Form
from toolscout.discovery.session import SessionStore

MAX_ROUNDS = 5

MAX_MODELS = 1_000
"""Models in memory that have refused a form."""


class TurnSettings(msgspec.Struct, frozen=True):
    """What every turn of a flow is made with."""

    config: DiscoveryConfig
    store: SessionStore
    max_rounds: int
    native: bool
    """Whether the provider's own deferred loading is used where the model has it."""
    remember_tools: bool
    """Whether a session's deferred tools are kept for requests that leave theirs out."""
    on_end: Callable[[Any], None]
    """Called once with a turn that has ended."""
    left_out: LeftOut = msgspec.field(default_factory=LeftOut)
    """Tools that are not sent, because the provider would refuse the request for them."""
    refusing: Lru[tuple[Form, Upstream], bool] = msgspec.field(
        default_factory=lambda: Lru(MAX_MODELS)
    )
    """Forms, and the models that have refused them, for all callers."""
