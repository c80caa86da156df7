"""How the files of hosts write what `mcp.json` says otherwise: where servers are, and their keys.

Keys that say which tools or servers there are, are read where a host is known to have them; what
others may restrict is in `restrictions.py`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from glob import escape
from math import inf
from typing import Annotated, Any, NamedTuple

import msgspec

from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp import host_auth, json_file
from toolscout.gateway.mcp.servers import Count

AMP = "amp.mcpServers"
MCP = "mcp"
"""A section in which VS Code and Gemini CLI have settings, too."""

SECTIONS = ("mcpServers", "servers", "context_servers", MCP, AMP)
"""The keys under which hosts have their servers: most, VS Code, Zed, opencode and Crush, Amp."""

OPTIONS = "toolscout"
INPUTS = "inputs"

ALLOWED = (f"{MCP}.allowed", "allowMCPServers", "enabledMcpjsonServers")
"""Lists of the only servers, the last one in Claude Code, others in Gemini CLI."""

EXCLUDED = (
    f"{MCP}.excluded",
    "excludeMCPServers",
    "disabledMcpjsonServers",
    "disabledMcpServers",
)
"""Lists of servers that are left out, the last two in Claude Code."""

SETTINGS = (INPUTS, "allowed", "excluded")
"""The settings in `mcp` that are read."""

BESIDE = (OPTIONS, INPUTS, "$schema")
"""Keys beside the servers of a file that names them at its top, as plugins do."""

AT_TOP = (*BESIDE, *ALLOWED[1:], *EXCLUDED[1:])
"""Keys that are read at the top of other files, beside the sections."""

_STARTING = ("command", "url", "serverUrl", "httpUrl")
"""Keys of which every server has exactly one."""

FOR_HOSTS_ALONE = (
    "alwaysAllow",
    "autoApprove",
    "trust",
    "sandboxEnabled",
    "name",
    "displayName",
    "title",
    "description",
    "icon",
    "gallery",
    "version",
    "source",
    "$schema",
    "dev",
    "watchPaths",
)
"""Keys that say which calls a host asks a person about, and how it shows a server."""

PINNING: Mapping[str, object] = {"deferTools": "never", "alwaysLoad": True}
"""Keys by which GitHub Copilot and Claude Code list a server's tools as themselves, with values."""

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


class _Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What Anthropic's `mcp_toolset` says of one tool, or of all that it does not name."""

    enabled: bool | None = None
    defer_loading: bool | None = None


class _Toolset(msgspec.Struct, frozen=True):
    """Both, together."""

    default: _Config
    configs: dict[str, _Config]

    def allowed(self) -> list[str] | None:
        """Return the only tools that there are; None where all others are there, too."""
        if self.default.enabled is not False:
            return None
        return _match_exactly(name for name, one in self.configs.items() if one.enabled)


class Key(NamedTuple):
    """A key of a server's entry, and the field of the server that it stands for."""

    field: str
    kind: Any
    """The type of its value."""
    read: Callable[[Any], Any] = lambda value: value
    """Returns the value of the field; None for none."""


def _make_pin_reader(key: str) -> Callable[[Any], bool | None]:
    return lambda value: True if value == PINNING[key] else None


def _match_exactly(names: Iterable[str]) -> list[str]:
    """Return patterns that match only these names."""
    return list(map(escape, names))


def _find_disabled(configs: Mapping[str, _Config]) -> list[str]:
    return _match_exactly(name for name, one in configs.items() if one.enabled is False)


def _list_named(names: Iterable[str]) -> list[str] | None:
    """Return the tools of a list in which `*` stands for all."""
    return None if "*" in names else _match_exactly(names)


def _read_variables(named: Mapping[str, str]) -> dict[str, str]:
    return {name: f"${{{variable}}}" for name, variable in named.items()}


def _read_text(value: Text) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _group_by_name(values: Mapping[str, Text]) -> dict[str, str]:
    return {name: _read_text(value) for name, value in values.items()}


def _limit(amount: float, milliseconds_from: float = inf) -> float | None:
    return (amount / 1_000 if amount >= milliseconds_from else amount) or None


ACTIVE = ("enabled", "isActive")
"""Keys by which hosts switch a server on; the latter is Cherry Studio's."""

_OURS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (str, ("command", "cwd", "envFile", "url", "type", "transport", "default_risk", "start")),
    (_Names, ("allow", "deny", "folders")),
    (dict[str, _Names], ("keywords", "examples")),
    (bool, ("disabled", *ACTIVE)),
)
"""Keys that are read under their own names, by the type of their values."""

KEYS = (
    {key: Key(key, kind) for kind, keys in _OURS for key in keys}
    | {
        "args": Key("args", list[Text], lambda values: list(map(_read_text, values))),
        "env": Key("env", _Texts, _group_by_name),
        "headers": Key("headers", _Texts, _group_by_name),
        "idle_timeout": Key("idle_timeout_s", _Seconds, _limit),
        "startup_timeout_sec": Key("start_s", _Seconds, _limit),  # Codex
        "max_result_chars": Key("max_result_chars", Count),
        "timeout_ms": Key("timeout_s", _Seconds, lambda amount: _limit(amount / 1_000)),
        "timeout": Key("timeout_s", _Seconds, lambda amount: _limit(amount, SHORT_TIMEOUT)),
        "tool_timeout_sec": Key("timeout_s", _Seconds, _limit),  # Codex
        "serverUrl": Key("url", str),  # Windsurf
        "httpUrl": Key("url", str),  # Gemini CLI
        "environment": Key("env", _Texts, _group_by_name),  # opencode
        "http_headers": Key("headers", _Texts, _group_by_name),  # Codex
        "requestOptions": Key(
            "headers", _Request, lambda one: _group_by_name(one.headers)
        ),  # Continue
        "requestInit": Key("headers", _Request, lambda one: _group_by_name(one.headers)),
        "bearer_token_env_var": Key(  # Codex
            "headers", str, lambda name: {"Authorization": f"Bearer ${{{name}}}"}
        ),
        "env_http_headers": Key("headers", dict[str, str], _read_variables),  # Codex
        "tools": Key("allow", _Names, _list_named),  # GitHub Copilot
        "includeTools": Key("allow", _Names, _match_exactly),  # Gemini CLI
        "enabled_tools": Key("allow", _Names, _match_exactly),  # Codex, Crush
        # Where a host has a pattern, it is one here; where it has a name, that name is denied, too.
        "excludeTools": Key("deny", _Names),  # Gemini CLI
        "disabledTools": Key("deny", _Names),  # Roo Code, Windsurf, deepagents
        "disabled_tools": Key("deny", _Names),  # Codex, Crush
        "configs": Key("deny", dict[str, _Config], _find_disabled),  # Anthropic's mcp_toolset
        "default_config": Key("allow", _Toolset, _Toolset.allowed),
    }
    | {key: Key("pinned", Any, _make_pin_reader(key)) for key in PINNING}
    | {key: Key("auth", Any, read) for key, read in host_auth.READERS.items()}
)
"""Of headers and variables, the earlier row counts: ours, before those of hosts."""

_OF_AMP = KEYS | {"includeTools": Key("allow", _Names)}
"""There they are patterns."""


def entries(content: Mapping[str, Any]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield (section, path, name, entry) for every server in a file.

    Raises:
        ConfigurationError: something there is no server; says where.
    """
    if is_unwrapped(content):
        yield from (("", name, name, one) for name, one in content.items() if name not in BESIDE)
    for section in filter(content.__contains__, SECTIONS):
        place = section
        servers = content[section]
        if section == MCP:
            place, servers, _ = _split(servers)
        yield from ((section, *entry) for entry in _name_servers(place, servers))


def is_unwrapped(content: Mapping[str, Any]) -> bool:
    """Return whether a file has its servers at its top, each with a command or an address."""
    values = [value for key, value in content.items() if key not in BESIDE]
    is_wrapped = not values or not content.keys().isdisjoint(SECTIONS)
    return not is_wrapped and all(isinstance(one, dict) and is_startable(one) for one in values)


def is_startable(value: Mapping[str, Any]) -> bool:
    """Return whether the entry of a server has a command or an address."""
    return not value.keys().isdisjoint(_STARTING)


def _split(section: Any) -> tuple[str, Any, dict[str, Any]]:
    """Return where the section `mcp` has its servers, these, and the settings beside them."""
    if not isinstance(section, dict):
        return MCP, section, {}
    inner = section.get("servers")  # VS Code's settings, opencode from 2 on
    if isinstance(inner, dict) and not is_startable(inner):
        return f"{MCP}.servers", inner, {key: section[key] for key in section if key != "servers"}
    servers = {key: one for key, one in section.items() if isinstance(one, dict)}
    return MCP, servers, {key: section[key] for key in section if key not in servers}


def find_settings(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what stands in the section `mcp` and is no server."""
    return _split(content.get(MCP))[2]


def find_server_lists(content: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """Return the names in the lists by which a file allows servers, or leaves them out.

    Raises:
        ConfigurationError: one of these is no list of names.
    """
    written = {key: content.get(key) for key in AT_TOP}
    written |= {f"{MCP}.{key}": value for key, value in find_settings(content).items()}
    return {
        key: frozenset(json_file.convert_checked(written[key], _Names, key))
        for key in (*ALLOWED, *EXCLUDED)
        if written.get(key) is not None
    }


def is_off(entry: Mapping[str, Any]) -> bool:
    """Return whether the entry of a server switches it off."""
    return entry.get("disabled") is True or False in map(entry.get, ACTIVE)


def is_left_out(name: str, lists: Mapping[str, Collection[str]]) -> bool:
    """Return whether a file leaves a server out by one of its lists."""
    return any((name in names) == (key in EXCLUDED) for key, names in lists.items())


def explain_missing(names: Collection[str], lists: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Yield what to say of servers that a file leaves out and does not have."""
    for key, listed in lists.items():
        if key in EXCLUDED:
            missing = sorted(set(listed) - set(names))
            yield from (f"{key}: there is no server {name}" for name in missing)


def _name_servers(place: str, servers: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (path, name, entry) for every server."""
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


def translate(section: str, value: dict[str, Any], place: str) -> dict[str, Any]:
    """Translate the keys of a server's entry into our fields.

    Raises:
        ConfigurationError: a value is of the wrong type, or two keys contradict each other.
    """
    value = _flatten(value)
    fields: dict[str, Any] = {}
    spelled: dict[str, str] = {}
    for key, (field, kind, read) in (_OF_AMP if section == AMP else KEYS).items():
        one = (
            read(json_file.convert_checked(value[key], kind, f"{place}.{key}"))
            if key in value
            else None
        )
        before = fields.get(field)
        if one is None:
            continue
        if before is None:
            fields[field] = one
            spelled[field] = key
        elif isinstance(before, dict):
            fields[field] = one | before
        elif field == "deny":
            fields[field] = [*before, *one]
        elif before != one and field != "timeout_s":  # of which the first counts
            both = f"{spelled[field]} and {key}"
            raise ConfigurationError(f"{place}: {both} mean the same: give one")
    return fields


def _flatten(value: dict[str, Any]) -> dict[str, Any]:
    """Return an entry whose command, if it has one, is a text."""
    if "httpUrl" in value:  # Gemini CLI: never SSE, whatever its path
        value = {"transport": "http"} | value
    default = value.get("default_config")
    if isinstance(default, dict):  # which means the tools that `configs` does not name
        named = value.get("configs", {})
        value = value | {"default_config": {"default": default, "configs": named}}
        if default.get("defer_loading") is False:
            value = {"alwaysLoad": True} | value
    command = value.get("command")
    if isinstance(command, dict):  # an older Zed: command, args and env in one
        return value | command | {"command": command.get("path")}
    if isinstance(command, list):  # opencode: command and args in one
        first, *rest = command or [None]
        args = value.get("args") or []
        arguments = [*rest, *args] if isinstance(args, list) else args
        return value | {"command": first, "args": arguments}
    return value
