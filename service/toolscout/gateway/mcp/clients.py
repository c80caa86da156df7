"""Connect to a server as a client, with all that takes long to import.

It is loaded when the first server starts, so that a gateway whose lists are in the cache is ready
without it.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Literal

import mcp_types
from fastmcp.client.transports import ClientTransport
from fastmcp.server.providers.proxy import ProxyClient
from mcp import MCPError

from toolscout.gateway.mcp.tool_pages import read_pages, read_texts
from toolscout.gateway.mcp.transports import transport_to

__all__ = ["connect", "read_pages", "read_texts", "transport_to"]

Log = Callable[[mcp_types.LoggingMessageNotificationParams], Awaitable[None]]

CHANGES = (
    mcp_types.ToolListChangedNotification,
    mcp_types.ResourceListChangedNotification,
    mcp_types.PromptListChangedNotification,
)


async def connect(
    transport: ClientTransport, list_changed: Callable[[], Awaitable[None]], log: Log
) -> ProxyClient:
    """Return a connected client.

    A proxy's client also relays results that do not fit the tool's own output schema. Nothing of a
    host's request is forwarded, and the server is offered no sampling, elicitation or roots, for
    one connection serves many hosts.

    Raises:
        Exception: the server cannot be reached, or speaks no known version.
    """
    own = {"roots": None, "sampling_handler": None, "elicitation_handler": None}

    async def note(message: object) -> None:
        if isinstance(message, CHANGES):
            await list_changed()

    def client(mode: Literal["legacy", "auto"]) -> ProxyClient:
        return ProxyClient(
            transport,
            forward_incoming_headers=False,
            mode=mode,
            log_handler=log,
            progress_handler=_no_progress,
            message_handler=note,
            **own,
        )

    with suppress(MCPError):  # this era has notifications on every transport
        return await client("legacy").__aenter__()
    return await client("auto").__aenter__()


async def _no_progress(_: float, __: float | None, ___: str | None) -> None:
    """Drop the progress of what no host asked for."""
