"""How the files of hosts write what `mcp.json` says otherwise: where servers are, and their keys.

Keys that say which tools or servers there are, are read where a host is known to have them. Any
other of that kind stops the start, for the file would give a model more tools here than in its
host; so do permissions, of which there is only a warning.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from glob import escape
from math import inf
from typing import Annotated, Any, NamedTuple

import msgspec

from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp import json_file
from toolscout.gateway.mcp.servers import Count

AMP = "amp.mcpServers"

MCP = "mcp"
"""A section in which VS Code and Gemini CLI have settings, too."""

SECTIONS = ("mcpServers", "servers", "context_servers", MCP, AMP)
"""The keys under which hosts have their servers: most, VS Code, Zed, opencode and Crush, Amp."""

OPTIONS, INPUTS = "toolscout", "inputs"

ALLOWED = (f"{MCP}.allowed", "allowMCPServers")
"""Lists of the only servers in Gemini CLI."""

EXCLUDED = (f"{MCP}.excluded", "excludeMCPServers", "disabledMcpjsonServers")
"""Lists of servers that are left out, the last one in Claude Code."""

SETTINGS = (INPUTS, "allowed", "excluded")
"""The settings in `mcp` that are read."""

BESIDE = (OPTIONS, INPUTS, "$schema")
"""Keys beside the servers of a file that names them at its top, as plugins do."""

AT_TOP = (*BESIDE, *ALLOWED[1:], *EXCLUDED[1:])
"""Keys that are read at the top of other files, beside the sections."""

_STARTING = ("command", "url", "serverUrl", "httpUrl")
"""Keys of which every server has one."""

FOR_HOSTS_ALONE = (
    *("alwaysAllow", "autoApprove", "trust", "sandboxEnabled"),
    *("name", "displayName", "title", "description", "icon", "gallery", "version", "source"),
    *("$schema", "dev", "watchPaths"),
)
"""Keys that say which calls a host asks a person about, and how it shows a server."""

_KEY = re.compile(r"[\w.-]+")
"""Keys of settings; others are paths or patterns, as in VS Code's `files.exclude`."""

_OF_HOSTS_ALONE = re.compile(
    r"chat\.tools\..+"  # VS Code: which calls a person is asked about
    r"|projects\..+\.allowedTools"  # Claude Code: likewise
    r"|cached\w*\..+"  # Claude Code: what it was sent about itself
)

_BUILT_IN = re.compile(
    r"agent\.profiles\.[^.]+\.tools"  # Zed; tools of servers are below `context_servers`
    r"|options\.disabled_tools"  # Crush; a server has its own
    r"|coreTools"  # Gemini CLI
)
"""Lists of a host's own tools."""

DENY_HERE = "tools that it denies are offered here: write deny of their server"

Text = str | int | float | bool
"""A text for a server; numbers in a file are theirs, too."""

SHORT_TIMEOUT = 1_000
"""A `timeout` below is in seconds, as in Cline and Roo Code; other hosts mean milliseconds."""

_Texts = dict[str, Text]
_Names = list[str]
_Seconds = Annotated[float, msgspec.Meta(ge=0)]
"""0 stands for no limit of its own."""


class _Request(msgspec.Struct, frozen=True):
    """What is read of the options of requests."""

    headers: _Texts = {}


class Key(NamedTuple):
    """A key of a server's entry, and the field of the server that it stands for."""

    field: str
    kind: Any
    """The type of its value."""
    read: Callable[[Any], Any] = lambda value: value
    """Returns the value of the field; None for none."""


def _exact(names: Iterable[str]) -> list[str]:
    """Return patterns that match only these names."""
    return list(map(escape, names))


def _listed(names: Iterable[str]) -> list[str] | None:
    """Return the tools of a list in which `*` stands for all."""
    return None if "*" in names else _exact(names)


def _variables(named: Mapping[str, str]) -> dict[str, str]:
    return {name: f"${{{variable}}}" for name, variable in named.items()}


def _text(value: Text) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _by_name(values: Mapping[str, Text]) -> dict[str, str]:
    return {name: _text(value) for name, value in values.items()}


def _limit(amount: float, milliseconds_from: float = inf) -> float | None:
    return (amount / 1_000 if amount >= milliseconds_from else amount) or None


_OURS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (str, ("command", "cwd", "envFile", "url", "type", "transport", "default_risk", "start")),
    (_Names, ("allow", "deny")),
    (dict[str, _Names], ("keywords", "examples")),
    (bool, ("disabled", "enabled")),
    (Any, ("auth",)),
)
"""Keys that are read under their own names, by the type of their values."""

KEYS = {key: Key(key, kind) for kind, keys in _OURS for key in keys} | {
    "args": Key("args", list[Text], lambda values: list(map(_text, values))),
    "env": Key("env", _Texts, _by_name),
    "headers": Key("headers", _Texts, _by_name),
    "idle_timeout": Key("idle_timeout_s", _Seconds, _limit),
    "startup_timeout_sec": Key("start_s", _Seconds, _limit),  # Codex
    "max_result_chars": Key("max_result_chars", Count),
    "timeout_ms": Key("timeout_s", _Seconds, lambda amount: _limit(amount / 1_000)),
    "timeout": Key("timeout_s", _Seconds, lambda amount: _limit(amount, SHORT_TIMEOUT)),
    "tool_timeout_sec": Key("timeout_s", _Seconds, _limit),  # Codex
    "serverUrl": Key("url", str),  # Windsurf
    "httpUrl": Key("url", str),  # Gemini CLI
    "environment": Key("env", _Texts, _by_name),  # opencode
    "http_headers": Key("headers", _Texts, _by_name),  # Codex
    "requestOptions": Key("headers", _Request, lambda one: _by_name(one.headers)),  # Continue
    "requestInit": Key("headers", _Request, lambda one: _by_name(one.headers)),
    "bearer_token_env_var": Key(  # Codex
        "headers", str, lambda name: {"Authorization": f"Bearer ${{{name}}}"}
    ),
    "env_http_headers": Key("headers", dict[str, str], _variables),  # Codex
    "tools": Key("allow", _Names, _listed),  # GitHub Copilot
    "includeTools": Key("allow", _Names, _exact),  # Gemini CLI
    "enabled_tools": Key("allow", _Names, _exact),  # Codex, Crush
    "excludeTools": Key("deny", _Names, _exact),  # Gemini CLI
    "disabledTools": Key("deny", _Names, _exact),  # Roo Code, Windsurf
    "disabled_tools": Key("deny", _Names, _exact),  # Codex, Crush
}
"""Of headers and variables, the earlier row counts: ours, before those of hosts."""

_OF_AMP = KEYS | {"includeTools": Key("allow", _Names)}
"""There they are patterns."""


def entries(content: Mapping[str, Any]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield of each server in a file its section, its place, its name, and what is said of it.

    Raises:
        ConfigurationError: something there is no server; says where.
    """
    if is_unwrapped(content):
        yield from (("", name, name, one) for name, one in content.items() if name not in BESIDE)
    for section in filter(content.__contains__, SECTIONS):
        place, servers = section, content[section]
        if section == MCP:
            place, servers, _ = _split(servers)
        yield from ((section, *entry) for entry in _named(place, servers))


def is_unwrapped(content: Mapping[str, Any]) -> bool:
    """Return whether a file has its servers at its top, each with a command or an address."""
    values = [value for key, value in content.items() if key not in BESIDE]
    is_wrapped = not values or not content.keys().isdisjoint(SECTIONS)
    return not is_wrapped and all(isinstance(one, dict) and _starts(one) for one in values)


def _starts(value: Mapping[str, Any]) -> bool:
    return not value.keys().isdisjoint(_STARTING)


def _split(section: Any) -> tuple[str, Any, dict[str, Any]]:
    """Return where the section `mcp` has its servers, these, and the settings beside them."""
    if not isinstance(section, dict):
        return MCP, section, {}
    inner = section.get("servers")  # VS Code's settings, opencode from 2 on
    if isinstance(inner, dict) and not _starts(inner):
        return f"{MCP}.servers", inner, {key: section[key] for key in section if key != "servers"}
    servers = {key: one for key, one in section.items() if isinstance(one, dict)}
    return MCP, servers, {key: section[key] for key in section if key not in servers}


def settings_of(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what stands in the section `mcp` and is no server."""
    return _split(content.get(MCP))[2]


def left_out(content: Mapping[str, Any]) -> Callable[[str], bool]:
    """Return what says of a server's name whether the file leaves the server out by a list.

    Raises:
        ConfigurationError: one of these is no list of names.
    """
    written = {key: content.get(key) for key in AT_TOP}
    written |= {f"{MCP}.{key}": value for key, value in settings_of(content).items()}
    lists = {
        key: frozenset(json_file.checked(written[key], _Names, key))
        for key in (*ALLOWED, *EXCLUDED)
        if written.get(key) is not None
    }
    return lambda name: any((name in names) == (key in EXCLUDED) for key, names in lists.items())


def _named(place: str, servers: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield of each server its place, its name, and what is said of it."""
    is_list = isinstance(servers, list)  # Continue
    if not is_list and not isinstance(servers, dict):
        raise ConfigurationError(f"{place}: expected an object with at least one server")
    for key, value in enumerate(servers) if is_list else servers.items():
        where = f"{place}[{key}]" if is_list else f"{place}.{key}"
        if not isinstance(value, dict):
            raise ConfigurationError(f"{where}: expected an object")
        name = value.get("name") if is_list else key
        if not isinstance(name, str):
            raise ConfigurationError(f"{where}: expected a name")
        yield where, name, value


def in_our_words(section: str, value: dict[str, Any], place: str) -> dict[str, Any]:
    """Return the fields of a server by what is said of it.

    Raises:
        ConfigurationError: a value is of the wrong type, or two keys contradict each other.
    """
    value = _flat(value)
    fields: dict[str, Any] = {}
    spelled: dict[str, str] = {}
    for key, (field, kind, read) in (_OF_AMP if section == AMP else KEYS).items():
        one = read(json_file.checked(value[key], kind, f"{place}.{key}")) if key in value else None
        before = fields.get(field)
        if one is None:
            continue
        if before is None:
            fields[field], spelled[field] = one, key
        elif isinstance(before, dict):
            fields[field] = one | before
        elif field == "deny":
            fields[field] = [*before, *one]
        elif before != one and field != "timeout_s":  # of which the first counts
            both = f"{spelled[field]} and {key}"
            raise ConfigurationError(f"{place}: {both} mean the same: give one")
    return fields


def _flat(value: dict[str, Any]) -> dict[str, Any]:
    """Return an entry whose command, if it has one, is a text."""
    if "httpUrl" in value:  # Gemini CLI: never SSE, whatever its path
        value = {"transport": "http"} | value
    command = value.get("command")
    if isinstance(command, dict):  # an older Zed: command, args and env in one
        return value | command | {"command": command.get("path")}
    if isinstance(command, list):  # opencode: command and args in one
        first, *rest = command or [None]
        args = value.get("args") or []
        arguments = [*rest, *args] if isinstance(args, list) else args
        return value | {"command": first, "args": arguments}
    return value


def about_tools(key: str, value: Any, place: str, *, of_server: bool) -> Iterator[str]:
    """Yield the places of permissions in an unknown key, at whatever depth.

    Args:
        key: the unknown key.
        value: what it has.
        place: where it is, as errors say it.
        of_server: whether it is a key of a server, where each `tool` in a name counts; elsewhere
            only the ending `tools` does.

    Raises:
        ConfigurationError: a key may say which tools are not to be offered.
    """
    lower = key.lower()
    if lower.endswith(("permission", "permissions")):  # such as those of opencode and Claude Code
        yield place
        return
    ends_in_tools = any(part.endswith("tools") for part in lower.split("."))
    is_about_tools = _KEY.fullmatch(key) and ("tool" in lower if of_server else ends_in_tools)
    is_built_in = _BUILT_IN.fullmatch(place) and "mcp" not in str(value)
    if is_about_tools and not is_built_in and not _OF_HOSTS_ALONE.fullmatch(place):
        what = "it may say which tools not to offer: write allow or deny of a server instead"
        raise ConfigurationError(f"{place}: unknown key; {what}")
    if isinstance(value, dict):
        for name, one in value.items():
            yield from about_tools(name, one, f"{place}.{name}", of_server=of_server)
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from about_tools("", one, f"{place}[{number}]", of_server=of_server)
