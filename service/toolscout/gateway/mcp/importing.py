"""Register the tools of MCP servers as a catalog of a running service."""

import asyncio
from contextlib import AsyncExitStack

from toolscout.common.spelling import matching
from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.cache import NO_CACHE, ListCache
from toolscout.gateway.mcp.connection import Connection
from toolscout.gateway.mcp.listing import Listing, always_loaded, missing_pins, named, refused_pins
from toolscout.gateway.mcp.pins import Pins, SeenTools
from toolscout.gateway.mcp.servers import Config
from toolscout.registering import register
from toolscout.serving.connections import cancel_until_done
from toolscout.tools.risk import describe_inferred

ABOUT_POISON = "with texts that order the model about, or hide something"


def run(config: Config, catalog: str, url: str) -> str:
    """Register all tools of the servers, and return what has changed, a line for each kind.

    Raises:
        ConfigurationError: a server or the service cannot be reached, or refuses.
    """
    return register(asyncio.run(_listed(config)).shown, catalog, url)


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
    loaded = [name for name in always_loaded(tools) if name not in matching(pinned, tools)]
    listed = {*matching(pinned, tools), *loaded}
    refused = [name for name, one in tools.items() if name not in listed and one.refusals()]
    notes = [*_left_out(listing), *refused_pins([*pinned, *loaded], tools)]
    notes += named("listed as themselves, as their host or server says", loaded)
    notes += named("that providers refuse where they are listed as themselves", refused)
    poisoned = {name: poison for name, one in tools.items() if (poison := one.poison())}
    told = [f"{name} ({', '.join(poison)})" for name, poison in poisoned.items()]
    notes += named(ABOUT_POISON, told)
    inferred = [one.shown["risk"] for one in tools.values() if not one.is_annotated()]
    if inferred:
        notes.append(describe_inferred(inferred))
    notes += named("disabled in the configuration", config.disabled)
    if missing := missing_pins(pinned, listing):
        raise ConfigurationError("; ".join([*missing, *notes]))
    return "\n".join([f"{len(tools)} tools of {', '.join(config.servers)}", *notes])


def _left_out(listing: Listing) -> list[str]:
    return [f"{name}: left out: {why}" for name, why in listing.left_out.items()]


async def _listed(
    config: Config, seen: SeenTools | None = None, cache: ListCache = NO_CACHE
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
            stack.push_async_callback(cancel_until_done, asyncio.create_task(connection.run()))
        await asyncio.gather(*(connection.tried.wait() for connection in connections))
        for connection in connections:
            if connection.reason is not None:
                raise ConfigurationError(f"{connection.name} is unavailable: {connection.reason}")
            cache.save(connection.server, connection.listed)
    return Listing(connections, config.options.max_risk, seen)
