"""What tools were when they were first listed, and which definitions are accepted.

A server can show a harmless definition, be trusted, and change it. So the highest risk of a tool
holds for the life of the process, a changed tool must be read again, and with pins nothing else
than what somebody has accepted is offered.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from toolscout.contract.fields import Risk
from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.json_file import read_object
from toolscout.index.tool_list import MAX_TOOLS
from toolscout.tools.risk import LEVELS

FIELDS = ("title", "description", "inputSchema", "outputSchema", "annotations", "execution")
"""What a definition consists of, beside its name. Icons and `_meta` are not for the model."""

MAX_NAMES = 2 * MAX_TOOLS
"""Names of one server that are remembered; others of it are not offered."""

DIGEST = "sha256:"


class DefinitionPins:
    """The digests of the accepted definitions.

    Args:
        path: a JSON file; if it is not there, all tools are accepted that are listed first.
        accepted: patterns of the names that are accepted as they are now.

    Raises:
        ConfigurationError: they cannot be read, or are something else.
    """

    def __init__(self, path: Path, accepted: tuple[str, ...] = ()) -> None:
        self._path = path
        self._news: dict[str, str] = {}
        self._accepted = accepted
        self.unmet = set(accepted)
        """Patterns of `accepted` that no name has matched so far."""
        self._digests: dict[str, str] = {}
        self._listed: set[str] = set()
        """Servers whose first list was accepted: what they add later is new."""
        self._is_first = not self.reload()

    def reload(self) -> bool:
        """Read them again, for another process may have accepted more; return whether any are.

        Raises:
            ConfigurationError: they cannot be read, or are something else.
        """
        content = self._read()
        for name, digest in (content or {}).items():
            if not isinstance(digest, str) or not digest.startswith(DIGEST):
                raise ConfigurationError(f"{self._path}: {name}: expected {DIGEST}…")
        if content is not None:
            self._digests = content
            self._listed.update(map(_find_server, content))
        return content is not None

    def accept(self, name: str, digest: str) -> bool:
        """Return whether a definition is the accepted one."""
        pinned = self._digests.get(name)
        meant = [pattern for pattern in self._accepted if fnmatchcase(name, pattern)]
        self.unmet.difference_update(meant)
        is_open = self._is_first and not self._accepted and _find_server(name) not in self._listed
        takes_all = is_open and pinned is None
        if pinned != digest and (meant or takes_all):
            self._news[name] = "new" if pinned is None else "changed"
            self._digests = {**self._digests, name: digest}
            return True
        return pinned == digest

    def save(self) -> list[str]:
        """Write what was accepted since the last time, and return it, a line for each tool.

        Raises:
            ConfigurationError: they cannot be written.
        """
        news = self._news
        self._news = {}
        self._listed.update(map(_find_server, self._digests))
        if news:
            self._write({name: self._digests[name] for name in news})
            self.reload()
        return [f"{name}: {what}" for name, what in news.items()]

    def _read(self) -> dict[str, Any] | None:
        return read_object(self._path) if self._path.exists() else None

    def _write(self, news: Mapping[str, str]) -> None:
        """Add digests to those of the file, which is replaced in one step.

        Of a name that another gateway has accepted too, the first counts, unless somebody has
        chosen to accept this one.
        """
        before = self._read() or {}
        merged = {**before, **news} if self._accepted else {**news, **before}
        text = msgspec.json.format(msgspec.json.encode(merged, order="sorted"), indent=2)
        written = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            written.write_bytes(text + b"\n")
            written.replace(self._path)
        except OSError as error:
            why = f"{self._path}: cannot be written: {error.strerror}"
            raise ConfigurationError(why) from None


def _find_server(name: str) -> str:
    return name.partition("__")[0]


@dataclass
class _Seen:
    first: dict[str, bytes]
    """A digest of each field that the definition has."""
    latest: dict[str, bytes]
    risk: Risk


class PinVerdict(NamedTuple):
    """What is to be done with a tool."""

    risk: Risk
    is_changed: bool
    is_accepted: bool
    news: tuple[str, ...]
    """The fields that have changed since the tool was listed last."""


class SeenTools:
    """Remembers tools by their whole names; used by one thread at a time."""

    def __init__(self, pins: DefinitionPins | None = None) -> None:
        self.pins = pins
        self._seen: dict[str, dict[str, _Seen]] = {}

    def judge(
        self, server: str, name: str, definition: Mapping[str, Any], risk: Risk
    ) -> PinVerdict | None:
        """Compare a tool with what it was; None for a name too many."""
        seen = self._seen.setdefault(server, {})
        content = {field: definition[field] for field in FIELDS if field in definition}
        now = {field: _hash_tool(value)[:8] for field, value in content.items()}
        entry = seen.get(name)
        if entry is None:
            if len(seen) >= MAX_NAMES:
                return None
            entry = seen[name] = _Seen(now, now, risk)
        news = tuple(field for field in FIELDS if now.get(field) != entry.latest.get(field))
        entry.latest = now
        is_accepted = True
        if self.pins is not None:
            is_accepted = self.pins.accept(name, DIGEST + _hash_tool(content).hex())
            if is_accepted:
                entry.first = now
                entry.risk = risk
        entry.risk = max(entry.risk, risk, key=LEVELS.index)
        return PinVerdict(entry.risk, now != entry.first, is_accepted, news)


def _hash_tool(value: Any) -> bytes:
    return sha256(msgspec.json.encode(value, order="sorted")).digest()
