"""Move the servers of hosts' own files into the gateway's, and back.

    host's file   {"mcpServers": {"git": {…}, "docs": {…}}, …}
    becomes       {"mcpServers": {"toolscout": {runs `toolscout mcp --config mcp.json`}}, …}

The servers go into `mcp.json` as they are written. What cannot be moved without giving a model more
than its host does stays where it is, and is told: servers of one project in a file of all, too.
"""

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp import dialects, json_file, json_text, restrictions
from toolscout.gateway.mcp.config import config_of
from toolscout.gateway.mcp.failures import make_printable
from toolscout.gateway.mcp.host_entries import (
    OURS,
    find_gateway,
    is_gateway,
    move_entry,
    program_of,
    split_command,
)
from toolscout.gateway.mcp.host_files import find_project
from toolscout.gateway.mcp.servers import find_prefix

SECTION = "mcpServers"
"""Where servers are added."""

SECTIONS = (SECTION, "servers", "context_servers")
"""Where the servers are that are moved; elsewhere keys mean something else."""

PROJECTS = "projects"
"""The section of Claude Code's file with what holds in one project."""

OFF_IN_PROJECT = "disabledMcpServers"


class Target:
    """The gateway's file, which may not be there yet, and the servers that come into it.

    Raises:
        ConfigurationError: it is at fault, or has its servers in a form that is not added to.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.added: dict[str, Any] = {}
        """The servers that were not in it before."""
        self._servers: dict[str, Any] = {}
        self._text = "{}\n"
        self._has_section = False
        if not self.path.exists():
            return
        content = json_file.read_object(self.path)
        self._has_section = SECTION in content
        if dialects.is_unwrapped(content) or not isinstance(content.get(SECTION, {}), dict):
            raise ConfigurationError(f"{self.path}: expected an object {SECTION}")
        self._servers = {name: one for _, _, name, one in dialects.entries(content)}
        self._text = self.path.read_bytes().decode()

    def take(self, name: str, entry: dict[str, Any]) -> None:
        """Add a server, unless it is there already.

        Raises:
            ConfigurationError: another one has its name.
        """
        every = self._servers | self.added
        same = {find_prefix(one): one for one in every}.get(find_prefix(name))
        if same is None:
            self.added[name] = entry
        elif every[same] != entry:
            raise ConfigurationError(f"{self.path.name} has another server {same}: rename one")

    def after(self) -> bytes:
        """Return the content of the file with the servers in it."""
        plain = json_file.strip_comments(self._text)
        added = self.added if self._has_section else {SECTION: self.added}
        place = json_text.find_object(plain, [SECTION] if self._has_section else [])
        return json_text.add_members(self._text, plain, place, added).encode()


class HostFile:
    """A host's file, and what is moved out of it.

    Raises:
        ConfigurationError: it is at fault, or says which tools not to offer in a way that is not
            understood.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[str] = []
        """What changes in it, and what stays there and why."""
        self.real = path.resolve()
        """The file itself where the path is a link."""
        if path.suffix == ".toml":
            raise ConfigurationError("TOML, as of Codex, is not moved: copy its servers")
        self.before = self.real.read_bytes()
        self.after = self.before
        self._content = json_file.read_object(self.real)
        self._project = find_project(path, os.environ, Path.home())
        self._off = {
            name
            for _, scope in self._scopes()
            for name in json_file.convert_checked(
                scope.get(OFF_IN_PROJECT, []), list[str], OFF_IN_PROJECT
            )
        }
        for keys, scope in self._scopes():
            self._note_restrictions(keys, scope)

    def move(self, target: Target) -> None:
        """Move what can be moved, and put the gateway in its place.

        Raises:
            ConfigurationError: the gateway is there with another file, another server has its name,
                or servers are where they are not moved from.
        """
        self._check_form()
        self._check_gateways(target)
        self._note_projects()
        text = self.before.decode()
        for section, servers in self._sections():
            moved = [name for name in servers if self._is_moved(name, servers[name], target)]
            if moved:
                plain = json_file.strip_comments(text)
                place = json_text.find_object(plain, [section])
                is_there = any(map(is_gateway, servers.values()))
                added = {} if is_there else self._gateway(section, target)
                text = json_text.replace_members(text, plain, place, moved, added)
        self.after = text.encode()

    def backup(self) -> Path:
        """Return where the file is kept as it was."""
        return find_backup(self.real, self._content_after())

    def _content_after(self) -> dict[str, Any]:
        after = json_file.strip_comments(self.after.decode("utf-8-sig"))
        content: dict[str, Any] = json.loads(after)
        return content

    def _scopes(self) -> Iterator[tuple[list[str], dict[str, Any]]]:
        """Yield the file itself and each of its projects, with the keys that lead there."""
        yield [], self._content
        projects = self._content.get(PROJECTS)
        for name, one in projects.items() if isinstance(projects, dict) else ():
            if isinstance(one, dict):
                yield [PROJECTS, name], one

    def _sections(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for section in SECTIONS:
            if isinstance(self._content.get(section), dict):
                yield section, self._content[section]

    def _check_form(self) -> None:
        """Raise an error if there are servers where they are not moved from."""
        others = self._content | {section: {} for section, _ in self._sections()}
        places = [
            place for _, place, _, one in dialects.entries(others) if dialects.is_startable(one)
        ]
        if places:
            known = " or ".join(SECTIONS)
            raise ConfigurationError(f"{places[0]} is not in an object {known}: copy it")

    def _note_projects(self) -> None:
        for keys, scope in self._scopes():
            servers = scope.get(SECTION)
            for name, entry in servers.items() if keys and isinstance(servers, dict) else ():
                if not is_gateway(entry):
                    shown = make_printable(f"{name}, of {keys[-1]},")
                    self.lines.append(f"  ! {shown} stays: other projects would have it, too")

    def _check_gateways(self, target: Target) -> None:
        every = [pair for _, servers in self._sections() for pair in servers.items()]
        for name, entry in every:
            if not is_gateway(entry):
                if name.casefold() == OURS:
                    raise ConfigurationError(f"a server is already named {name}: rename it")
            elif str(target.path) not in split_command(entry):
                raise ConfigurationError(f"{name} is the gateway, with another --config")

    def _note_restrictions(self, keys: list[str], scope: Mapping[str, Any]) -> None:
        known = {*dialects.SECTIONS, *dialects.AT_TOP, PROJECTS, OFF_IN_PROJECT}
        for key, value in scope.items():
            place = ".".join([*keys, key])
            if key not in known:
                for one in restrictions.find_tool_rules(key, value, place, of_server=False):
                    self.lines.append(f"  ! {make_printable(one)}: {restrictions.DENY_HERE}")

    def _is_moved(self, name: str, entry: Any, target: Target) -> bool:
        """Move a server, or note why it stays."""
        if is_gateway(entry):
            return False
        shown = make_printable(name)
        try:
            if not isinstance(entry, dict):
                raise ConfigurationError("it is no object")
            lists = dialects.find_server_lists(self._content)
            is_left_out = name in self._off or dialects.is_left_out(name, lists)
            if is_left_out or dialects.is_off(entry):
                raise ConfigurationError("it is switched off in this file")
            moved = move_entry(entry, self.real.parent, self._project)
            config = config_of({"mcpServers": {name: moved}}, target.path.parent, os.environ)
            target.take(name, moved)
        except ConfigurationError as error:
            self.lines.append(f"  = {shown} stays: {make_printable(error.detail)}")
            return False
        self.lines.append(f"  - {shown} ({program_of(moved)})")
        (server,) = config.servers.values()
        for note in filter(None, (*config.warnings, server.fault)):
            self.lines.append(f"  ! {make_printable(note)}")
        return True

    def _gateway(self, section: str, target: Target) -> dict[str, Any]:
        """Return the gateway as a server of the host."""
        args = ["mcp", "--config", str(target.path)]
        entry: dict[str, Any] = {"command": find_gateway(), "args": args}
        self.lines.append(f"  + {OURS} ({shlex.join([OURS, *args])})")
        return {OURS: {"type": "stdio"} | entry if section == "servers" else entry}


def find_backup(real: Path, content: Mapping[str, Any]) -> Path:
    """Return where a file is kept as it was before its servers became those of some content."""
    servers = {section: content[section] for section in SECTIONS if section in content}
    written = json.dumps(servers, sort_keys=True).encode()
    return real.with_name(f"{real.name}.{OURS}-{sha256(written).hexdigest()[:12]}")


def put_back(now: bytes, before: bytes) -> bytes:
    """Return the content of a file with its servers as they were before; all else stays."""
    text = now.decode()
    older = before.decode()
    plain = json_file.strip_comments(older)
    for one in json_text.list_members(plain, json_text.find_object(plain, [])):
        if one.key in SECTIONS:
            changed = json_file.strip_comments(text)
            every = json_text.list_members(changed, json_text.find_object(changed, []))
            place = next(member for member in every if member.key == one.key)
            text = text[: place.begin] + older[one.begin : one.end] + text[place.end :]
    return text.encode()
