"""The result of a call: the tools to show, and how they were selected."""

from enum import StrEnum
from typing import Generic, NoReturn, TypeVar

import msgspec

T = TypeVar("T")
"""The caller's type of a tool."""


class Reason(StrEnum):
    """Why a selection fell open, or was not asked for; all but one are in the proxies' logs."""

    EMPTY_QUERY = "empty_query"
    """The pattern is blank or no text; nothing was asked."""
    MISSING_API_ENDPOINT = "missing_api_endpoint"
    """No endpoint is configured; nothing was asked."""
    API_ERROR = "api_error"
    """No usable answer: unreachable, too slow, an error status, malformed; or a wrong argument."""
    EMPTY_SELECTION = "empty_selection"
    """The service found nothing that fits."""
    UNKNOWN_SELECTION_NAMES = "unknown_selection_names"
    """The answer names only tools that were not offered."""
    CIRCUIT_OPEN = "circuit_open"
    """The service has just failed too often; nothing was asked."""
    FEW_TOOLS = "few_tools"
    """There are no more tools than were asked for, so all are selected; nothing was asked."""


class Selection(msgspec.Struct, Generic[T], frozen=True):
    """The tools to show, most relevant first. Never empty unless no tool was given."""

    names: list[str]
    tools: list[T]
    """The caller's own objects, in the order of `names`; tools without a name come last."""
    fell_open: bool = False
    """Whether all tools are returned because there was no usable selection."""
    reason: Reason | None = None
    """Why it fell open; `few_tools` where it did not, and nothing was asked."""
    detail: str = ""
    """The reason in words for a log; holds no tool text, no query and no key."""
    latency_ms: float = 0.0
    """Wall-clock time of the whole call."""
    request_id: str = ""
    """The id under which the service logged the call; empty when nothing was asked."""
    degraded: str | None = None
    """The cheaper ranker that the service stepped down to, if it did."""
    outcome: str | None = None
    """`match`, `weak` or `no_match`, where the service says so."""
    attempts: int = 0
    """Requests sent for this call: 0 when nothing was asked, rarely more than 1."""
    catalog: str = ""
    """The digest under which the service knows the tools; empty where it did not say."""
    rollout: str | None = None
    """The rollout mode that kept every tool: `off`, `dark`, `shadow` or `percent`."""
    chosen: list[str] | None = None
    """What the service chose in a dark or shadow rollout; empty when it gave no choice."""
    overlap: float | None = None
    """In a shadow rollout, the names in both this and the local relevance ranking as a share of
    the names in either, 0 to 1; None when nothing was compared."""

    def __iter__(self) -> NoReturn:
        """Refuse to act as a list: a selection has two."""
        raise TypeError("a Selection is not iterable; use its .names or its .tools")
