"""Register the tools of MCP servers as a catalog of a running service."""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from typing import Any

import httpx2

from toolscout.common.spelling import matching
from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.cache import ListCache
from toolscout.gateway.mcp.connection import Connection, ended
from toolscout.gateway.mcp.listing import Listing, missing_pins, named, refused_pins
from toolscout.gateway.mcp.pins import Pins, SeenTools
from toolscout.gateway.mcp.servers import Config
from toolscout.searching import service_at

PAGE = 1_000
"""Tools of one page of the catalog that is there already."""

Tools = Mapping[str, Mapping[str, Any]]
"""What a catalog has of each tool, by name, as far as it is compared."""


def run(config: Config, catalog: str, url: str) -> str:
    """Register all tools of the servers, and return what has changed, a line for each kind.

    Raises:
        ConfigurationError: a server or the service cannot be reached, or refuses.
    """
    with service_at(url) as client:
        tools = asyncio.run(_listed(config)).shown
        before = _registered(client, catalog)
        client.put(f"/v1/catalogs/{catalog}", json={"tools": tools}).raise_for_status()
        after = _registered(client, catalog)
    return "\n".join(_report(catalog, before, after))


def accept(config: Config, pins: Pins, cache: ListCache) -> str:
    """Accept definitions as the servers list them now, and return what has changed.

    These lists are what the next gateway begins with.

    Raises:
        ConfigurationError: a server cannot be reached, a name means no tool, or the file cannot be
            written.
    """
    listing = asyncio.run(_listed(config, SeenTools(pins), cache))
    if pins.unmet:
        unmet = ", ".join(sorted(pins.unmet))
        raise ConfigurationError(f"accept: no tool is named {unmet}; names are SERVER__TOOL")
    lines = pins.save() or ["nothing to accept"]
    return "\n".join([*lines, *_left_out(listing)])


def check(config: Config) -> str:
    """Return how many tools there are, and what is left out, a line each.

    Raises:
        ConfigurationError: a server cannot be reached, or a pinned tool is not there.
    """
    listing = asyncio.run(_listed(config))
    tools, pinned = listing.tools, config.options.pinned
    listed = matching(pinned, tools)
    refused = [name for name, one in tools.items() if name not in listed and one.refusals()]
    notes = [*_left_out(listing), *refused_pins(pinned, tools)]
    notes += named("that providers refuse where they are listed as themselves", refused)
    if missing := missing_pins(pinned, listing):
        raise ConfigurationError("; ".join([*(f"pinned: {why}" for why in missing), *notes]))
    return "\n".join([f"{len(tools)} tools of {', '.join(config.servers)}", *notes])


def _left_out(listing: Listing) -> list[str]:
    return [f"{name}: left out: {why}" for name, why in listing.left_out.items()]


async def _listed(
    config: Config, seen: SeenTools | None = None, cache: ListCache | None = None
) -> Listing:
    """Return the tools of all servers, connected side by side.

    Raises:
        ConfigurationError: a server cannot be reached.
    """
    connections = [
        Connection(name, one, lambda: asyncio.sleep(0)) for name, one in config.servers.items()
    ]
    async with AsyncExitStack() as stack:
        for connection in connections:
            stack.push_async_callback(ended, asyncio.create_task(connection.run()))
        await asyncio.gather(*(connection.tried.wait() for connection in connections))
        for connection in connections:
            if connection.reason is not None:
                raise ConfigurationError(f"{connection.name} is unavailable: {connection.reason}")
            if cache is not None:
                cache.save(connection.server, connection.listed)
    return Listing(connections, config.options.max_risk, seen)


def _registered(client: httpx2.Client, catalog: str) -> Tools | None:
    """Return the tools of a catalog; None if there is none of this name.

    Raises:
        httpx2.HTTPStatusError: the service refuses.
    """
    tools: dict[str, Mapping[str, Any]] = {}
    query: dict[str, Any] = {"detail": "full", "page_size": PAGE}
    while True:
        response = client.get(f"/v1/catalogs/{catalog}/tools", params=query)
        if response.status_code == httpx2.codes.NOT_FOUND:
            return None
        page = response.raise_for_status().json()
        tools.update((tool["name"], _content(tool)) for tool in page["tools"])
        if "next_cursor" not in page:
            return tools
        query["cursor"] = page["next_cursor"]


def _content(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what belongs to a tool itself, not to how it was used."""
    used = ("uses", "success_rate", "typical_duration_ms")
    return {key: value for key, value in tool.items() if key not in used}


def _report(catalog: str, before: Tools | None, after: Tools | None) -> Iterable[str]:
    old, new = before or {}, after or {}
    yield f"{catalog}: {len(new)} tools"
    changes = {
        "added": [name for name in new if name not in old],
        "removed": [name for name in old if name not in new],
        "changed": [name for name in new if name in old and new[name] != old[name]],
    }
    for change, names in changes.items():
        if names:
            yield f"{change}: {', '.join(names)}"
    if not any(changes.values()):
        yield "nothing has changed"
