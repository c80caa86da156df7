"""The lists of tools of servers on disk, so that they are searched before a server has started.

One file for each way to start or reach a server, under `$XDG_CACHE_HOME/toolscout/mcp`, readable
by its owner alone. Its name is a digest, so nothing of the configuration is in it. A file that is
missing, too large or damaged is as good as none; one that cannot be written is left unwritten.
"""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import mkstemp
from typing import Any, NamedTuple

import mcp_types
import msgspec
from pydantic import BaseModel, TypeAdapter

from toolscout.gateway.mcp.log import logger
from toolscout.gateway.mcp.served_skills import ListSkillsResult, Skill
from toolscout.gateway.mcp.servers import FolderServer, Server, StdioServer

MAX_LIST_BYTES = 16 * 1024 * 1024
"""Bytes of one list; what comes after them is not read."""

MAX_BYTES = 4 * MAX_LIST_BYTES
"""Bytes of all files; the ones written longest ago go first."""

MAX_AGE_S = 86_400.0
"""Seconds after which a list is read again, even if nobody calls a tool of its server."""


class Kind(NamedTuple):
    """A kind of what servers list beside tools."""

    field: str
    """Of `ToolPages`, and of what a server answers."""
    key: str
    """The field that names an entry."""
    capability: str
    """What a server has to be capable of."""
    result: type[BaseModel]
    """The answer to who asks for a list."""


RESOURCES = Kind("resources", "uri", "resources", mcp_types.ListResourcesResult)
TEMPLATES = Kind(
    "resource_templates", "uri_template", "resources", mcp_types.ListResourceTemplatesResult
)
PROMPTS = Kind("prompts", "name", "prompts", mcp_types.ListPromptsResult)
SKILLS = Kind("skills", "uri", "extensions", ListSkillsResult)
KINDS = (RESOURCES, TEMPLATES, PROMPTS, SKILLS)


class ToolPages(NamedTuple):
    """A whole list, as much of it as can be offered."""

    tools: tuple[mcp_types.Tool, ...] = ()
    is_cut: bool = False
    """Whether the server has more tools than were read."""
    unreadable: tuple[tuple[str, str], ...] = ()
    """Of each entry that is no tool the name, or the place as `#3`, and what is wrong with it."""
    resources: tuple[mcp_types.Resource, ...] = ()
    resource_templates: tuple[mcp_types.ResourceTemplate, ...] = ()
    prompts: tuple[mcp_types.Prompt, ...] = ()
    skills: tuple[Skill, ...] = ()
    unreadable_skills: tuple[tuple[str, str], ...] = ()
    """As `unreadable`, by URIs."""
    ttl_s: float | None = None
    """Seconds for which the server says that its list of tools is as it is."""


_JSON = TypeAdapter(ToolPages)


class ListCache:
    """The cached lists.

    Args:
        folder: where they are; None keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def load(self, server: Server) -> tuple[ToolPages, float] | None:
        """Return the last list of a server, and its age in seconds."""
        if self._folder is None:
            return None
        path = self._path(server, self._folder)
        try:
            status = path.stat()
            if status.st_size > 2 * MAX_LIST_BYTES or not _is_ours(self._folder):
                return None
            pages = _JSON.validate_json(path.read_bytes(), by_name=False)
        except (OSError, ValueError, RecursionError):
            return None
        return pages, max(0.0, time.time() - status.st_mtime)

    def save(self, server: Server, pages: ToolPages) -> None:
        """Keep the list of a server, and remove the oldest ones if they are too large together."""
        if self._folder is None:
            return
        with suppress(OSError):
            if self._folder.exists() and not _is_ours(self._folder):
                return
            content = _JSON.dump_json(pages, by_alias=True, exclude_none=True)
            write_private(self._path(server, self._folder), content)
            self._make_room(self._folder)

    @staticmethod
    def _make_room(folder: Path) -> None:
        files = [(path, path.stat()) for path in folder.glob("*.json")]
        total = sum(status.st_size for _, status in files)
        for path, status in sorted(files, key=lambda file: file[1].st_mtime):
            if total <= MAX_BYTES:
                return
            path.unlink(missing_ok=True)
            total -= status.st_size

    @staticmethod
    def _path(server: Server, folder: Path) -> Path:
        if isinstance(server, StdioServer):
            how: list[Any] = [server.command, server.args, server.cwd, server.env]
        elif isinstance(server, FolderServer):
            how = list(server.folders)
        else:
            how = [server.url, server.transport, server.headers]
        digest = sha256(msgspec.json.encode(how, order="sorted")).hexdigest()
        return folder / f"{digest[:32]}.json"


NO_CACHE = ListCache(None)


def _is_ours(folder: Path) -> bool:
    """Whether a folder is this user's; another's lists could have tools of any text in them."""
    is_ours = not hasattr(os, "geteuid") or folder.stat().st_uid == os.geteuid()
    if not is_ours:
        logger.warning("the lists in %s are left alone: another user owns that folder", folder)
    return is_ours


def write_private(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Replace a file in one step by one that its owner alone can read, or by another mode."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, written = mkstemp(dir=path.parent)  # which others cannot read
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
        Path(written).replace(path)
    finally:
        Path(written).unlink(missing_ok=True)


def find_user_folder(environ: Mapping[str, str], variable: str, default: str) -> Path | None:
    """Return a folder of the user for the gateway; None without a home folder."""
    base = environ.get(variable) or ""
    if not Path(base).is_absolute():  # as the specification of these folders says
        home = environ.get("HOME")
        if not home:
            return None
        base = f"{home}/{default}"
    return Path(base) / "toolscout" / "mcp"
