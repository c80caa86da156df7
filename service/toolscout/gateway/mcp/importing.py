"""Register the tools of MCP servers as a catalog of a running service, or accept them."""

from toolscout.commands.registering import register
from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.cache import ListCache
from toolscout.gateway.mcp.checking import list_left_out
from toolscout.gateway.mcp.listing import Listing
from toolscout.gateway.mcp.pins import DefinitionPins, SeenTools
from toolscout.gateway.mcp.servers import Config
from toolscout.gateway.mcp.trying import connect_all


def run(config: Config, catalog: str, url: str) -> str:
    """Register all tools of the servers, and return what has changed, a line for each kind.

    Raises:
        ConfigurationError: a server or the service cannot be reached, or refuses.
    """
    listing = Listing(connect_all(config), config)
    return register(listing.shown, catalog, url)


def accept(config: Config, pins: DefinitionPins, cache: ListCache) -> str:
    """Accept definitions as the servers list them now, and return what has changed.

    These lists are what the next gateway begins with.

    Raises:
        ConfigurationError: a server cannot be reached, a name means no tool, or the file cannot be
            written.
    """
    listing = Listing(connect_all(config, cache), config, SeenTools(pins))
    if pins.unmet:
        unmet = ", ".join(sorted(pins.unmet))
        raise ConfigurationError(f"accept: no tool is named {unmet}; names are SERVER__TOOL")
    lines = pins.save() or ["nothing to accept"]
    return "\n".join([*lines, *list_left_out(listing)])
