"""The tools of all servers under one set of names, and which of them are offered at all."""

import logging
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import mcp_types

from toolscout.client.offer import Offer
from toolscout.contract import Risk
from toolscout.errors import InvalidRequest
from toolscout.gateway.mcp.connection import Connection
from toolscout.gateway.mcp.servers import Server
from toolscout.tools.conversion import read_tools
from toolscout.tools.risk import LEVELS, risk

logger = logging.getLogger("toolscout.mcp")

SEPARATOR = "__"
"""Between a server and its tool. No prefix contains it, so no two tools have one name."""


class Offered(NamedTuple):
    """One tool of one server."""

    connection: Connection
    tool: mcp_types.Tool
    """As the server lists it."""
    shown: Mapping[str, Any]
    """As it is searched and shown: under its whole name, with `risk`, `namespace` and `status`."""


class Listing:
    """A state of all lists; it never changes."""

    def __init__(self, offered: Iterable[Offered]) -> None:
        self.tools = {one.shown["name"]: one for one in offered}
        self.offer = Offer([one.shown for one in self.tools.values()])


def offered_by(connection: Connection, max_risk: Risk) -> Iterable[Offered]:
    """Yield the tools of a server's latest list that its patterns and the risk permit."""
    highest = LEVELS.index(max_risk)
    for tool in connection.tools:
        if not permits(connection.server, tool.name) or _needs_task(tool):
            continue
        whole = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
        # By its own name: that of the server may be a verb.
        level = risk(tool.name, tool.description or "", whole.get("annotations"), is_elsewhere=True)
        if LEVELS.index(level) > highest:
            continue
        name = f"{connection.name}{SEPARATOR}{tool.name}"
        whole |= {"name": name, "risk": level, "namespace": connection.name}
        if connection.reason is not None:
            whole["status"] = "unavailable"
        try:
            read_tools([whole])
        except InvalidRequest as error:
            logger.warning("%s: a tool is left out: %s", connection.name, error.detail)
        else:
            yield Offered(connection, tool, whole)


def permits(server: Server, tool: str) -> bool:
    """Whether the configuration of a server lets a tool be offered."""
    if any(fnmatchcase(tool, pattern) for pattern in server.deny):
        return False
    return server.allow is None or any(fnmatchcase(tool, pattern) for pattern in server.allow)


def _needs_task(tool: mcp_types.Tool) -> bool:
    """Return whether a tool can only be called as a task, which the gateway does not do."""
    return tool.execution is not None and tool.execution.task_support == "required"
