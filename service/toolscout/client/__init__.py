"""Ask the service which tools to show; fall open (show all of them) when there is no answer.

    from toolscout.client import Selector

    with Selector("http://127.0.0.1:8080") as selector:
        if tools := selector.select(query, request.pop("tools", None) or []).tools:
            request["tools"] = tools

Only mistakes in a constructor raise; every other failure falls open.

    ToolscoutError
    ├── InvalidArgument     an argument has the wrong type (also a TypeError)
    │   └── InvalidTool     something is no tool of any known shape (`risk`, `Engine`)
    └── ConfigurationError  a configuration file cannot be read, or a value in it is malformed

The rest is in the submodules: `agents.meta`, `agents.tracker`, `discovery.session`,
`observe.events`, `observe.jsonl`, `observe.metrics`, `risk`, `selector.breaker`,
`selector.rollout`.
"""

from typing import TYPE_CHECKING, Any

from toolscout.client.selector.selection import Reason, Selection
from toolscout.client.selector.selector import AsyncSelector, Selector
from toolscout.errors import ConfigurationError, InvalidArgument, InvalidTool, ToolscoutError

if TYPE_CHECKING:
    from toolscout.client.discovery.config import DiscoveryConfig, load
    from toolscout.client.discovery.flow import AsyncToolDiscovery, ToolDiscovery
    from toolscout.client.transport import AsyncTransport, Transport

__all__ = [
    "AsyncSelector",
    "AsyncToolDiscovery",
    "AsyncTransport",
    "ConfigurationError",
    "DiscoveryConfig",
    "InvalidArgument",
    "InvalidTool",
    "Reason",
    "Selection",
    "Selector",
    "ToolDiscovery",
    "ToolscoutError",
    "Transport",
    "load",
]


def __getattr__(name: str) -> Any:
    """Load flows and transports on first use: most callers only need a selector."""
    if name in ("DiscoveryConfig", "load"):
        from toolscout.client.discovery import config

        return getattr(config, name)
    if name in ("AsyncToolDiscovery", "ToolDiscovery"):
        from toolscout.client.discovery import flow

        return getattr(flow, name)
    if name in ("AsyncTransport", "Transport"):
        from toolscout.client import transport

        return getattr(transport, name)
    raise AttributeError(f"module 'toolscout.client' has no attribute {name!r}")
