"""The configuration of the gateway: the `mcpServers` file that hosts have.

{
  "mcpServers": {
    "git": {"command": "uvx", "args": ["mcp-server-git"], "deny": ["git_reset"]},
    "docs": {"url": "https://docs.example/mcp", "headers": {"Authorization": "Bearer ${KEY}"}}
  },
  "toolscout": {"max_risk": "write_remote", "pinned": ["git__git_status"]}
}
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

from toolscout.client.selector.endpoint import is_web_address
from toolscout.errors import ConfigurationError, wrong_field
from toolscout.gateway.mcp.json_file import read_object
from toolscout.gateway.mcp.servers import (
    Config,
    HttpServer,
    Options,
    Server,
    StdioServer,
    prefix_of,
)
from toolscout.gateway.mcp.variables import expand

SERVERS, OPTIONS = "mcpServers", "toolscout"

T = TypeVar("T", bound=msgspec.Struct)


def _keys(*kinds: type[msgspec.Struct]) -> list[str]:
    """The names of the fields of some structs, each once."""
    return list(dict.fromkeys(f.name for kind in kinds for f in msgspec.structs.fields(kind)))


_SERVER_KEYS = _keys(StdioServer, HttpServer)


def read_config(path: Path, environ: Mapping[str, str]) -> Config:
    """Read a file.

    Raises:
        ConfigurationError: it cannot be read, or has an error; says where and which.
    """
    content = read_object(path)
    try:
        return _config(content, environ)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error.detail}") from None


def _config(content: dict[str, Any], environ: Mapping[str, str]) -> Config:
    _check_keys(content, (SERVERS, OPTIONS), "")
    given = content.get(SERVERS)
    if not isinstance(given, dict) or not given:
        raise ConfigurationError(f"{SERVERS}: expected an object with at least one server")
    servers: dict[str, Server] = {}
    named: dict[str, str] = {}
    for name, value in given.items():
        prefix = prefix_of(name)
        if not prefix:
            raise ConfigurationError(f"{SERVERS}: {name!r} is no name: it has no letter or digit")
        if prefix in named:
            both = f"{named[prefix]!r} and {name!r}"
            raise ConfigurationError(f"{SERVERS}: {both} have the same prefix, {prefix}__")
        named[prefix] = name
        server = _server(expand(value, environ, f"{SERVERS}.{name}"), f"{SERVERS}.{name}")
        if not server.disabled:
            servers[prefix] = server
    if not servers:
        raise ConfigurationError(f"{SERVERS}: every server is disabled")
    return Config(servers, _converted(content.get(OPTIONS, {}), Options, OPTIONS))


def _server(value: Any, place: str) -> Server:
    if not isinstance(value, dict):
        raise ConfigurationError(f"{place}: expected an object")
    _check_keys(value, _SERVER_KEYS, place)
    if ("command" in value) == ("url" in value):
        many = "both" if "command" in value else "neither"
        raise ConfigurationError(f"{place}: expected either command or url, got {many}")
    if "command" in value:
        return _converted(value, StdioServer, place)
    server = _converted(value, HttpServer, place)
    if not is_web_address(server.url):
        raise ConfigurationError(f"{place}.url: expected an http:// or https:// URL")
    return server


def _converted(value: Any, kind: type[T], place: str) -> T:
    if isinstance(value, dict):
        _check_keys(value, _keys(kind), place)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        wrong = wrong_field(place, error)
        of_field = {field.name: field.type for field in msgspec.structs.fields(kind)}
        choices = _choices(of_field.get(wrong.path.rpartition(".")[2]))
        is_choice = wrong.message == "Invalid enum value" and choices
        message = f"expected one of {', '.join(choices)}" if is_choice else wrong.message
        raise ConfigurationError(f"{wrong.path}: {message}") from None


def _choices(kind: Any) -> list[str]:
    """The texts that a `Literal` permits, on its own or in a union."""
    parts = get_args(kind)
    return [one for part in parts for one in ([part] if isinstance(part, str) else _choices(part))]


def _check_keys(value: dict[str, Any], known: Sequence[str], place: str) -> None:
    for key in value:
        if key not in known:
            near = get_close_matches(key, known, 1, 0.5)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            raise ConfigurationError(f"{place}{'.' if place else ''}{key}: unknown key; {hint}")
