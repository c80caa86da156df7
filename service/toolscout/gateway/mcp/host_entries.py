"""One entry of a server in a host's file: what it is, and what it is in another file."""

import sys
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from shutil import which
from typing import Any, TypeGuard
from urllib.parse import urlsplit

from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.failures import find_program, make_printable

OURS = "toolscout"
"""The name of the gateway in a host's file, and of its program."""

ADDRESSES = ("url", "serverUrl", "httpUrl")


def is_gateway(entry: Any) -> bool:
    """Return whether an entry runs the gateway, by whatever starts programs."""
    return (OURS, "mcp") in pairwise(split_command(entry))


def split_command(entry: Any) -> list[str]:
    """Return the name of an entry's program, and its arguments."""
    if not isinstance(entry, dict):
        return []
    args = entry.get("args")
    command = entry.get("command")
    words = [*(command if isinstance(command, list) else [command])]
    words += args if isinstance(args, list) else []
    return [Path(str(words[0])).stem, *map(str, words[1:])] if words else []


def move_entry(entry: dict[str, Any], folder: Path, project: Path | None) -> dict[str, Any]:
    """Return an entry of a file in a folder that means the same in a file of another folder.

    Raises:
        ConfigurationError: it needs the folder of a project, and its file is of none.
    """
    moved: dict[str, Any] = _resolve_in_project(entry, project)
    file = moved.get("envFile")
    if file and _is_relative(file):
        moved["envFile"] = str(folder / file)
    cwd = moved.get("cwd") or ""
    if "command" in moved and _is_relative(cwd):
        if project is not None:
            moved["cwd"] = str(project / cwd)
        elif cwd:
            raise ConfigurationError("its cwd is relative, and its file is of no project")
    return moved


def _is_relative(path: object) -> TypeGuard[str]:
    is_named = isinstance(path, str) and path.startswith(("${", "~"))
    return isinstance(path, str) and not (is_named or Path(path).is_absolute())


def _resolve_in_project(value: Any, project: Path | None) -> Any:
    if isinstance(value, dict):
        return {key: _resolve_in_project(one, project) for key, one in value.items()}
    if isinstance(value, list):
        return [_resolve_in_project(one, project) for one in value]
    if not isinstance(value, str) or "${workspaceFolder" not in value:
        return value
    if project is None:
        raise ConfigurationError("it names ${workspaceFolder}, and its file is of no project")
    named = value.replace("${workspaceFolder}", str(project))
    return named.replace("${workspaceFolderBasename}", project.name)


def program_of(entry: Mapping[str, Any]) -> str:
    """Return what runs or answers, without arguments, paths and keys, which may be secret."""
    command = entry.get("command")
    first = command[0] if isinstance(command, list) and command else command
    if isinstance(first, str) and first.strip():
        return make_printable(Path(find_program(first)).name)
    addresses = (entry[key] for key in ADDRESSES if isinstance(entry.get(key), str))
    return make_printable(urlsplit(next(addresses, "")).hostname or "")


def find_gateway() -> str:
    """Return the path of this program, for hosts may have another PATH."""
    beside = which(OURS, path=str(Path(sys.executable).parent))
    return beside or which(OURS) or OURS
