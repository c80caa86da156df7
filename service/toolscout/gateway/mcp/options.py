"""What is offered of the servers, and how the whole configuration looks."""

from typing import Any

import msgspec

from toolscout.contract.fields import Risk
from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.json_file import converted, keys_of, unknown_keys
from toolscout.gateway.mcp.servers import Server

KEY = "TOOLSCOUT_MCP_KEY"
"""The variable with the key that hosts send over HTTP."""


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the gateway does with all servers."""

    max_risk: Risk = "destructive"
    """Tools of a higher risk are not offered."""
    pinned: tuple[str, ...] = ()
    """Tools to list as themselves, as `server__tool`."""
    all_meta_tools: bool = False
    """Whether to list the meta-tools that are rarely used, too."""


class Config(msgspec.Struct, frozen=True):
    """A whole file; servers are named by their prefixes."""

    servers: dict[str, Server]
    options: Options
    warnings: tuple[str, ...] = ()
    """What was ignored, or read otherwise than some host would, a line each."""


def read_options(value: Any, place: str) -> Options:
    """Read the options, of which every key has to be known.

    Raises:
        ConfigurationError: something is wrong; says where and what.
    """
    known = keys_of(Options)
    for key, hint in unknown_keys(value, known):
        hint = hint or f"; known are {', '.join(known)}"
        raise ConfigurationError(f"{place}.{key}: unknown key{hint}")
    return converted(value, Options, place)
