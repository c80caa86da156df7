"""Sessions: which tools a conversation has deferred, and which it has found so far.

They are in memory, bounded in bytes, and end an hour after the last write. In the proxy two users
whose first messages are equal share a session; here the caller can add a scope (a user, a key) that
keeps them apart, and what a conversation has found is stored with its messages besides.
"""

import json
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import chain
from time import monotonic
from typing import Any

import msgspec

from toolscout.client.offer import MARKER
from toolscout.common.lru import Lru

TTL_S = 3_600.0
MAX_CATALOG_BYTES = 64 * 1024 * 1024
"""Maximum bytes of deferred definitions in memory, as JSON; equal lists are stored once."""

MAX_ADDED_BYTES = 64 * 1024 * 1024
"""Maximum bytes in memory of what turns have added to their conversations."""

ADDED_BYTES = 256
"""Bytes that one such entry takes beside its JSON, about."""

MAX_SESSION_BYTES = 32 * 1024 * 1024
"""Maximum bytes in memory of the names that sessions have found."""

NAME_BYTES = 64
"""Bytes that one name takes beside its characters, about."""

SESSION_BYTES = 1_000
"""Bytes that a session takes without names, about."""

MAX_RESPONSES = 10_000
"""Stored responses whose session is remembered, and as many hidden thoughts."""

MAX_CATALOGS = 8
"""Catalogs whose fitting tools are remembered for one first message."""

ID_CHARS = 16

_GO_ESCAPES = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def hash_conversation(message: Any, scope: str = "") -> str:
    """Return the id of a conversation: 16 hex digits of a hash over its first user message.

    Without a scope it is the proxy's own id, byte for byte; empty for a message that is no JSON.
    """
    try:
        text = json.dumps(message, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return ""
    canonical = scope + text.translate(_GO_ESCAPES)
    return sha256(canonical.encode("utf-8", "replace")).hexdigest()[:ID_CHARS]


def normalise(message: Any) -> Any:
    """Return a message as it is hashed: without cache markers, a lone text in place of its part.

    Callers move the marker from message to message as a conversation grows, and make a text a part
    to put the marker on it.
    """
    if isinstance(message, list):
        return [normalise(inner) for inner in message]
    if not isinstance(message, Mapping):
        return message
    kept = {key: normalise(inner) for key, inner in message.items() if key != MARKER}
    content = kept.get("content")
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], Mapping):
        [part] = content
        if part.keys() == {"type", "text"} and part["type"] == "text":
            kept["content"] = part["text"]
    return kept


class Added(msgspec.Struct, frozen=True):
    """What a turn has added to a conversation."""

    messages: list[Any] = []
    """Its searches and their results."""
    words: str = ""
    """What was found for its user's message, behind that as text."""
    names: list[str] = []
    """The tools that the model has seen since."""
    shown: list[str] = []
    """What tells those of its thoughts that the client has seen."""


class Session(msgspec.Struct):
    """The state of one conversation."""

    catalog: tuple[str, bytes] | None = None
    """The provider whose shape their definitions have, and the key of the definitions."""
    expanded: dict[str, None] = msgspec.field(default_factory=dict)
    """Names it has found, oldest first."""
    visible: dict[bytes, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Names of the tools that fitted its first message, by a digest of those that were offered."""
    written: float = 0.0

    def measured(self) -> int:
        """Return its bytes in memory, about."""
        names = chain(self.expanded, *self.visible.values())
        return SESSION_BYTES + sum(NAME_BYTES + len(name) for name in names)


class SessionStore:
    """Sessions by id; thread-safe. The one used longest ago is dropped first."""

    def __init__(
        self,
        ttl_s: float = TTL_S,
        clock: Callable[[], float] = monotonic,
        session_bytes: int = MAX_SESSION_BYTES,
        catalog_bytes: int = MAX_CATALOG_BYTES,
    ) -> None:
        self._ttl_s = ttl_s
        self._clock = clock
        self._lock = threading.Lock()
        self._sessions: Lru[str, Session] = Lru(session_bytes)
        self._catalogs: Lru[bytes, bytes] = Lru(catalog_bytes)
        self._added: Lru[bytes, bytes] = Lru(MAX_ADDED_BYTES)
        self._responses: Lru[bytes, str] = Lru(MAX_RESPONSES)
        self._hidden: Lru[bytes, bool] = Lru(MAX_RESPONSES)

    @property
    def size(self) -> int:
        """Bytes in memory of the sessions, about."""
        return self._sessions.size

    def expanded(self, session: str) -> tuple[str, ...]:
        """Return the names found so far, oldest first."""
        with self._lock:
            return tuple(self._get_session(session).expanded)

    def deferred_tools(self, session: str, provider: str) -> list[Any]:
        """Return the tools deferred last, by name and definition.

        They are empty if they had another provider's shape, or were dropped for others.
        """
        with self._lock:
            of, key = self._get_session(session).catalog or ("", b"")
        written = self._catalogs.get(key) if of == provider else None
        return [] if written is None else msgspec.json.decode(written, type=list[Any])

    def mark_deferred(self, session: str, tools: Sequence[Any] = (), provider: str = "") -> None:
        """Store that tools are deferred in a session, and which, in a provider's shape."""
        catalog = None
        if tools:
            with suppress(Exception):  # not JSON, so it cannot be stored
                written = msgspec.json.encode(tools)
                catalog = (provider, sha256(written).digest())
                self._catalogs.put(catalog[1], written, len(written))
        with self._writing(session) as state:
            state.catalog = catalog

    def mark_expanded(self, session: str, names: Iterable[str]) -> None:
        """Add found names."""
        with self._writing(session) as state:
            state.expanded.update(dict.fromkeys(map(_share, names)))

    def visible(
        self, session: str, catalog: bytes, or_latest: bool = False
    ) -> tuple[str, ...] | None:
        """Return the names that fitted its first message; None before `mark_visible`.

        Args:
            session: its id.
            catalog: the digest of the catalog.
            or_latest: whether to return those of the latest catalog if this one has none.
        """
        with self._lock:
            of_catalogs = self._get_session(session).visible
            latest = next(reversed(of_catalogs.values()), None) if or_latest else None
            return of_catalogs.get(catalog, latest)

    def mark_visible(self, session: str, catalog: bytes, names: Iterable[str]) -> None:
        """Store the names that fitted its first message, of a catalog with this digest."""
        with self._writing(session) as state:
            state.visible[catalog] = tuple(map(_share, names))
            if len(state.visible) > MAX_CATALOGS:
                del state.visible[next(iter(state.visible))]

    def session_of(self, response: str, scope: str = "") -> str:
        """Return the session of a response that the provider stores; empty if unknown."""
        return self._responses.get(_make_key(response, scope)) or ""

    def keep_response(self, response: str, session: str, scope: str = "") -> None:
        """Remember the session of a caller's response by its id."""
        self._responses.put(_make_key(response, scope), session)

    def added(self, place: bytes) -> Added | None:
        """Return what a turn has added at a place of a conversation; None if none ended there."""
        written = self._added.get(place)
        return None if written is None else msgspec.json.decode(written, type=Added)

    def keep_added(self, place: bytes, added: Added) -> None:
        """Store it; messages that are no JSON are not stored."""
        with suppress(Exception):
            written = msgspec.json.encode(added)
            self._added.put(place, written, len(written) + ADDED_BYTES)

    def hide(self, session: str, marks: Iterable[str]) -> None:
        """Remember thoughts before searches that the caller of a conversation never saw."""
        for mark in marks if session else ():
            self._hidden.put(_make_key(mark, session), True)

    def has_hidden(self, session: str, marks: Iterable[str]) -> bool:
        """Return whether any of them is one."""
        return any(self._hidden.get(_make_key(mark, session)) for mark in marks)

    def __len__(self) -> int:
        return len(self._sessions)

    def _get_session(self, session: str) -> Session:
        """Return a session; a new one where there is none, or where it has ended."""
        state = self._sessions.get(session)
        if state is not None and self._clock() - state.written <= self._ttl_s:
            return state
        self._sessions.pop(session)
        return Session()

    @contextmanager
    def _writing(self, session: str) -> Iterator[Session]:
        """Change a session; those used longest ago make room for it."""
        with self._lock:
            state = self._get_session(session)
            yield state
            state.written = self._clock()
            self._sessions.put(session, state, state.measured())


def _make_key(response: str, scope: str) -> bytes:
    return sha256(f"{scope}\n{response}".encode("utf-8", "replace")).digest()


def _share(name: str) -> str:
    """Share equal strings, because thousands of sessions have the same tools."""
    return sys.intern(str(name))
