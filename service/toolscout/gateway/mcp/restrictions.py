"""Find what a host's file says of which tools it offers, and what is not read here.

Such a key stops the start, for the file would give a model more tools here than in its host; so do
permissions, of which there is only a warning. A key without `tool` in its name is no sign.
"""

import re
from collections.abc import Iterator
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
