"""One entry of a server in a host's file: what it is, and what it is in another file."""

import sys
from collections.abc import Mapping
from pathlib import Path
from shutil import which
from typing import Any
from urllib.parse import urlsplit

from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.failures import printable

OURS = "toolscout"
"""The name of the gateway in a host's file, and of its program."""

ADDRESSES = ("url", "serverUrl", "httpUrl")


def is_gateway(name: str, entry: Any) -> bool:
    """Return whether an entry is the gateway itself."""
    return name.casefold() == OURS or OURS in words_of(entry)


def words_of(entry: Any) -> list[str]:
    """Return the name of an entry's program, and its arguments."""
    if not isinstance(entry, dict):
        return []
    args = entry.get("args")
    words = args if isinstance(args, list) else []
    return [Path(str(entry.get("command", ""))).stem, *map(str, words)]


def elsewhere(value: Any, folder: Path) -> Any:
    """Return an entry that means the same in a file of another folder.

    Raises:
        ConfigurationError: it names the folder of a project, which a file in the home folder does
            not say.
    """
    project = folder.parent if folder.name.startswith(".") else folder
    if isinstance(value, dict):
        entry = {key: elsewhere(one, folder) for key, one in value.items()}
        file = entry.get("envFile")
        if isinstance(file, str) and file and not file.startswith("${"):
            entry["envFile"] = str(folder / file)
        return entry
    if isinstance(value, list):
        return [elsewhere(one, folder) for one in value]
    if not isinstance(value, str) or "${workspaceFolder" not in value:
        return value
    if project == Path.home():
        raise ConfigurationError("it names ${workspaceFolder}, and its file is of no project")
    named = value.replace("${workspaceFolder}", str(project))
    return named.replace("${workspaceFolderBasename}", project.name)


def program_of(entry: Mapping[str, Any]) -> str:
    """Return what runs or answers, without arguments, paths and keys, which may be secret."""
    command = entry.get("command")
    first = command[0] if isinstance(command, list) and command else command
    if isinstance(first, str) and first.strip():
        program = first if Path(first).is_file() else first.split()[0]
        return printable(Path(program).name)
    addresses = (entry[key] for key in ADDRESSES if isinstance(entry.get(key), str))
    return printable(urlsplit(next(addresses, "")).hostname or "")


def gateway_program() -> str:
    """Return the path of this program, for hosts may have another PATH."""
    beside = which(OURS, path=str(Path(sys.executable).parent))
    return beside or which(OURS) or OURS
