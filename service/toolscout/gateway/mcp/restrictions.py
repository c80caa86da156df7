"""Keys of hosts' files that are not understood and may restrict what a model is given.

They stop the start, for the file would give a model more tools here than in its host. Of
permissions there is only a warning, and what only adds comfort never stops anything.
"""

import re
from collections.abc import Iterator
from typing import Any

from toolscout.errors import ConfigurationError

_FOR_COMFORT = frozenset(
    (
        "cachetoolslist",
        "supportsparalleltoolcalls",
        "toolcalltimeout",
        "toolnameprefix",
        "toolprefix",
        "tooltimeout",
    )
)
"""Keys about tools that leave none out, in small letters without `_` and `-`."""

_RESTRICTING = re.compile(
    r"allow(?:ed)?|den(?:y|ied)|(?:allow|deny|block)_?list|block(?:ed)?|exclu(?:de|ded|sions?)"
    r"|inclu(?:de|ded|sions?)|(?:is_?)?(?:dis|en)able|(?:is_?)?enabled|(?:is_?)?active"
    r"|(?:is_?)?disabled\w*|read_?only|restrict\w*|filters?",
    re.IGNORECASE,
)
"""Keys of a server that say which of its tools there are, or whether it is there at all."""

_ABOUT_SERVERS = re.compile(
    r"(?:(?P<allow>allow)|den(?:y|ied)|block|exclu|inclu|enable|disable|permit|restrict)"
    r".*servers?$|^disabled$",
    re.IGNORECASE,
)
"""Keys that say which servers there are; an empty list of allowed ones leaves all out."""

_KEY = re.compile(r"[\w.-]+")
"""Keys of settings; others are paths or patterns, as in VS Code's `files.exclude`."""

_OF_HOSTS_ALONE = re.compile(
    r"chat\.tools\..+"  # VS Code: which calls a person is asked about
    r"|projects\..+\.allowedTools"  # Claude Code: likewise
    r"|projects\..+\.(?:en|dis)abledMcpjsonServers"  # Claude Code: servers of another file
    r"|cached\w*\..+"  # Claude Code: what it was sent about itself
)

_BUILT_IN = re.compile(
    r"agent\.profiles\.[^.]+\.tools"  # Zed; tools of servers are below `context_servers`
    r"|options\.disabled_tools"  # Crush; a server has its own
    r"|coreTools"  # Gemini CLI
)
"""Lists of a host's own tools."""

DENY_HERE = "tools that it denies are offered here: write deny of their server"


def find_tool_rules(key: str, value: Any, place: str, *, of_server: bool) -> Iterator[str]:
    """Yield the places of permissions in an unknown key, at whatever depth.

    Args:
        key: the unknown key.
        value: what it has.
        place: where it is, as errors say it.
        of_server: whether it is a key of a server, where each `tool` in a name counts; elsewhere
            only the ending `tools` does.

    Raises:
        ConfigurationError: a key may say which tools or servers are not to be offered.
    """
    lower = key.lower()
    if lower.endswith(("permission", "permissions")):  # such as those of opencode and Claude Code
        yield place
        return
    ends_in_tools = any(part.endswith("tools") for part in lower.split("."))
    is_about_tools = _KEY.fullmatch(key) and ("tool" in lower if of_server else ends_in_tools)
    is_for_comfort = re.sub("[-_]", "", lower) in _FOR_COMFORT
    is_built_in = _BUILT_IN.fullmatch(place) and "mcp" not in str(value)
    is_harmless = is_for_comfort or is_built_in or _OF_HOSTS_ALONE.fullmatch(place)
    if is_about_tools and not is_harmless:
        what = "it may say which tools not to offer: write allow or deny of a server instead"
        raise ConfigurationError(f"{place}: unknown key; {what}")
    if not is_harmless and _is_leaving_out_servers(key, value):
        what = "it may say which servers not to offer: write disabled of a server instead"
        raise ConfigurationError(f"{place}: unknown key; {what}")
    if isinstance(value, dict):
        for name, one in value.items():
            yield from find_tool_rules(name, one, f"{place}.{name}", of_server=of_server)
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from find_tool_rules("", one, f"{place}[{number}]", of_server=of_server)


def check_key_of_server(key: str, hint: str, place: str) -> None:
    """Refuse an unknown key of a server that restricts, or is a slip of one that does.

    Raises:
        ConfigurationError: it does.
    """
    meant = hint.removeprefix("; did you mean ").removesuffix("?")
    if _RESTRICTING.fullmatch(key) or _RESTRICTING.fullmatch(meant):
        what = "; it may restrict the server: write its allow, deny or disabled instead"
        raise ConfigurationError(f"{place}: unknown key{hint or what}")


def _is_leaving_out_servers(key: str, value: Any) -> bool:
    """Return whether a key may leave out servers: a list that does, not a switch."""
    matched = _ABOUT_SERVERS.search(key)
    if matched is None or not isinstance(value, list | dict):
        return False
    return bool(value) or matched["allow"] is not None
