"""What is offered of the servers: to all hosts, and by profiles to those with a key of their own.

{"max_risk": "write_remote", "profiles": {
  "finance": {"key": "${FINANCE_KEY}", "servers": ["ledger"], "max_risk": "read_only"}
}}
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from toolscout.contract.fields import Risk
from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.json_file import converted, expand, keys_of, unknown_keys
from toolscout.gateway.mcp.servers import SEPARATOR, Server, permits
from toolscout.serving.callers import MIN_KEY_CHARS
from toolscout.tools.risk import LEVELS

KEY = "TOOLSCOUT_MCP_KEY"
"""The variable with the key of hosts that see everything."""

S = TypeVar("S", bound=msgspec.Struct)


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What hosts with a key of their own may see of all that the gateway has."""

    key: str | tuple[str, ...] = ()
    """What hosts send over HTTP; a second one lets them change from the first."""
    servers: tuple[str, ...] = ()
    """The only servers, by the prefixes of their tools."""
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    """Patterns of whole names: `git__git_*`, and of resources `toolscout://git/*`."""
    max_risk: Risk | None = None
    pinned: tuple[str, ...] | None = None
    skills: tuple[str, ...] | None = None
    """In place of those of all options, of which by default it has what it may see."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Return all keys."""
        return (self.key,) if isinstance(self.key, str) else self.key

    def permits(self, tool: str) -> bool:
        """Return whether it has a tool, by its whole name."""
        has_server = tool.partition(SEPARATOR)[0] in self.servers
        return has_server and permits(tool, self.allow, self.deny)


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the gateway does with all servers."""

    max_risk: Risk = "destructive"
    """Tools of a higher risk are not offered."""
    pinned: tuple[str, ...] = ()
    """Tools to list as themselves, as `server__tool`."""
    skills: tuple[str, ...] = ()
    """Folders with skills, which are found beside tools."""
    all_meta_tools: bool = False
    """Whether to list the meta-tools that are rarely used, too."""
    profiles: dict[str, Profile] = {}


class Config(msgspec.Struct, frozen=True):
    """A whole file, or as much of it as a profile has; servers are named by their prefixes."""

    servers: dict[str, Server]
    options: Options
    warnings: tuple[str, ...] = ()
    """What was ignored, or read otherwise than some host would, a line each."""
    profile: Profile | None = None
    """What narrows it further than servers and options; None for the whole file."""

    def of(self, name: str) -> "Config":
        """Return what a profile has of it."""
        options, profile = self.options, self.options.profiles[name]
        pinned = options.pinned if profile.pinned is None else profile.pinned
        narrowed = msgspec.structs.replace(
            options,
            max_risk=min(options.max_risk, profile.max_risk or "destructive", key=LEVELS.index),
            pinned=tuple(filter(profile.permits, pinned)),
            skills=options.skills if profile.skills is None else profile.skills,
            profiles={},
        )
        servers = {key: one for key, one in self.servers.items() if key in profile.servers}
        return Config(servers, narrowed, self.warnings, profile)


def read_options(
    value: Any, place: str, environ: Mapping[str, str], named: Mapping[str, str], *, has_keys: bool
) -> Options:
    """Read the options with the profiles in them, whose keys only hosts over HTTP need.

    Args:
        value: what the file has.
        place: where it has it.
        environ: variables that the profiles may name.
        named: the names of all servers by their prefixes.
        has_keys: whether the keys are read.

    Raises:
        ConfigurationError: something is wrong; says where and what.
    """
    written = value.pop("profiles", {}) if isinstance(value, dict) else {}
    place_of = f"{place}.profiles"
    if not isinstance(written, dict):
        raise ConfigurationError(f"{place_of}: expected an object")
    profiles: dict[str, Profile] = {}
    owners = {environ.get(KEY, ""): KEY}
    for name, one in written.items():
        profiles[name] = _profile(one, f"{place_of}.{name}", environ, named, has_keys)
        for key in profiles[name].keys:
            if owners.setdefault(key, name) != name:
                raise ConfigurationError(f"{place_of}.{name}.key: it is that of {owners[key]}, too")
    return msgspec.structs.replace(_strict(value, Options, place), profiles=profiles)


def _profile(
    value: Any, place: str, environ: Mapping[str, str], named: Mapping[str, str], has_keys: bool
) -> Profile:
    if isinstance(value, dict) and not has_keys:
        value.pop("key", None)
    written = expand(value, environ, place)
    profile = _strict(written, Profile, place)
    for key in profile.keys:
        if len(key) < MIN_KEY_CHARS or key.split() != [key]:
            least = f"at least {MIN_KEY_CHARS} characters, and no spaces"
            raise ConfigurationError(f"{place}.key: expected {least}")
    prefixes = {name: prefix for prefix, name in named.items()} | {one: one for one in named}
    servers = tuple(prefixes.get(name, "") for name in written.get("servers", named))
    if not all(servers) or not servers:
        there = ", ".join(named.values())
        raise ConfigurationError(f"{place}.servers: expected names of servers; there are {there}")
    profile = msgspec.structs.replace(profile, servers=servers)
    for pin in profile.pinned or ():
        if not profile.permits(pin):
            raise ConfigurationError(f"{place}.pinned: {pin} is not among the profile's tools")
    return profile


def _strict(value: Any, kind: type[S], place: str) -> S:
    """Convert an object of which every key has to be known."""
    known = keys_of(kind)
    for key, hint in unknown_keys(value, known):
        hint = hint or f"; known are {', '.join(known)}"
        raise ConfigurationError(f"{place}.{key}: unknown key{hint}")
    return converted(value, kind, place)
