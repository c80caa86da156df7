"""Move the servers of hosts' own files into the gateway's, and back.

    host's file   {"mcpServers": {"git": {…}, "docs": {…}}, …}
    becomes       {"mcpServers": {"toolscout": {runs `toolscout mcp --config mcp.json`}}, …}

The servers go into `mcp.json` as they are written. What cannot be moved without giving a model more
than its host does stays where it is, and is told.
"""

import os
import shlex
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp import dialects, json_file, json_text, restrictions
from toolscout.gateway.mcp.config import config_of
from toolscout.gateway.mcp.failures import printable
from toolscout.gateway.mcp.host_entries import (
    OURS,
    elsewhere,
    gateway_program,
    is_gateway,
    program_of,
    words_of,
)
from toolscout.gateway.mcp.servers import prefix_of

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
        same = {prefix_of(one): one for one in every}.get(prefix_of(name))
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
        self.before = self.real.read_bytes()
        self.after = self.before
        self._content = json_file.read_object(self.real)
        self._off = {
            name
            for _, scope in self._scopes()
            for name in json_file.checked(scope.get(OFF_IN_PROJECT, []), list[str], OFF_IN_PROJECT)
        }
        for keys, scope in self._scopes():
            self._note_restrictions(keys, scope)

    def move(self, target: Target) -> None:
        """Move what can be moved, and put the gateway in its place.

        Raises:
            ConfigurationError: the gateway is there with another file.
        """
        self._check_gateways(target)
        text = self.before.decode()
        for keys, scope, section in self._sections():
            names = list(scope[section])
            moved = [one for one in names if self._is_moved(keys, scope, section, one, target)]
            if moved:
                plain = json_file.strip_comments(text)
                place = json_text.find_object(plain, [*keys, section])
                kept = {name: scope[section][name] for name in names if name not in moved}
                added = {} if _gateways(kept) else self._gateway(section, target)
                text = json_text.replace_members(text, plain, place, moved, added)
        self.after = text.encode()

    def backup(self) -> Path:
        """Return where the file is kept as it was."""
        return backup_of(self.real, self.after)

    def _scopes(self) -> Iterator[tuple[list[str], dict[str, Any]]]:
        """Yield the file itself and each of its projects, with the keys that lead there."""
        yield [], self._content
        projects = self._content.get(PROJECTS)
        for name, one in projects.items() if isinstance(projects, dict) else ():
            if isinstance(one, dict):
                yield [PROJECTS, name], one

    def _sections(self) -> Iterator[tuple[list[str], dict[str, Any], str]]:
        for keys, scope in self._scopes():
            for section in SECTIONS:
                if isinstance(scope.get(section), dict):
                    yield keys, scope, section

    def _check_gateways(self, target: Target) -> None:
        for _, scope, section in self._sections():
            for name in _gateways(scope[section]):
                if str(target.path) not in words_of(scope[section][name]):
                    raise ConfigurationError(f"{name} is the gateway, with another --config")

    def _note_restrictions(self, keys: list[str], scope: Mapping[str, Any]) -> None:
        known = {*dialects.SECTIONS, *dialects.AT_TOP, PROJECTS, OFF_IN_PROJECT}
        for key, value in scope.items():
            place = ".".join([*keys, key])
            if key not in known:
                for one in restrictions.about_tools(key, value, place, of_server=False):
                    self.lines.append(f"  ! {printable(one)}: {restrictions.DENY_HERE}")

    def _is_moved(
        self, keys: list[str], scope: dict[str, Any], section: str, name: str, target: Target
    ) -> bool:
        """Move a server, or note why it stays."""
        entry = scope[section][name]
        if is_gateway(name, entry):
            return False
        shown = printable(f"{name}, of {keys[-1]}" if keys else name)
        try:
            if not isinstance(entry, dict):
                raise ConfigurationError("it is no object")
            lists = {} if keys else dialects.lists_of_servers(scope)
            is_left_out = name in self._off or dialects.is_left_out(name, lists)
            if is_left_out or dialects.is_off(entry):
                raise ConfigurationError("it is switched off in this file")
            moved = elsewhere(entry, self.real.parent)
            config = config_of({"mcpServers": {name: moved}}, target.path.parent, os.environ)
            target.take(name, moved)
        except ConfigurationError as error:
            self.lines.append(f"  = {shown} stays: {printable(error.detail)}")
            return False
        self.lines.append(f"  - {shown} ({program_of(moved)})")
        (server,) = config.servers.values()
        for note in filter(None, (*config.warnings, server.fault)):
            self.lines.append(f"  ! {printable(note)}")
        return True

    def _gateway(self, section: str, target: Target) -> dict[str, Any]:
        """Return the gateway as a server of the host."""
        args = ["mcp", "--config", str(target.path)]
        entry: dict[str, Any] = {"command": gateway_program(), "args": args}
        self.lines.append(f"  + {OURS} ({shlex.join([OURS, *args])})")
        return {OURS: {"type": "stdio"} | entry if section == "servers" else entry}


def _gateways(servers: Mapping[str, Any]) -> list[str]:
    return [name for name, entry in servers.items() if is_gateway(name, entry)]


def backup_of(real: Path, after: bytes) -> Path:
    """Return where a file that has become something is kept as it was."""
    return real.with_name(f"{real.name}.{OURS}-{sha256(after).hexdigest()[:12]}")
