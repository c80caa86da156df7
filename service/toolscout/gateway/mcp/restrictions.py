"""Find what a host's file says of which tools it offers, and what is not read here.

Such a key stops the start, for the file would give a model more tools here than in its host; so do
permissions, of which there is only a warning. A key without `tool` in its name is no sign.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from toolscout.errors import ConfigurationError

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
    return _below(key, value, place, _has_tool if of_server else _ends_in_tools)


def _below(key: str, value: Any, place: str, names_tools: Callable[[str], bool]) -> Iterator[str]:
    if is_permission(key):
        yield place
        return
    if _KEY.fullmatch(key) and names_tools(key) and not _is_of_host(place, value):
        what = "it may say which tools not to offer: write allow or deny of a server instead"
        raise ConfigurationError(f"{place}: unknown key; {what}")
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _below(name, one, f"{place}.{name}", names_tools)
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from _below("", one, f"{place}[{number}]", names_tools)


def is_permission(key: str) -> bool:
    """Return whether a key has permissions, as those of opencode and Claude Code."""
    return key.lower().endswith(("permission", "permissions"))


def _has_tool(key: str) -> bool:
    return "tool" in key.lower()


def _ends_in_tools(key: str) -> bool:
    return any(part.lower().endswith("tools") for part in key.split("."))


def _is_of_host(place: str, value: Any) -> bool:
    """Return whether a key is about a host's own tools, or about which calls a person is asked."""
    if _OF_HOSTS_ALONE.fullmatch(place):
        return True
    return _BUILT_IN.fullmatch(place) is not None and "mcp" not in str(value)
