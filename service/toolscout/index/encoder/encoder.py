"""Cosines by the transformer, for the lists that were opened for it.

A library reads a list when it is searched first. In a service nobody waits for a list: a thread of
low priority reads it, some tools of each tenant in turn, and another thread reads the queries, for
which a search may wait.
"""

import logging
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from hashlib import blake2b
from typing import NamedTuple, Protocol
from weakref import WeakKeyDictionary, ref

import numpy as np

from toolscout.common.lru import Lru
from toolscout.common.threads import FairPool
from toolscout.contract.tools import Tool
from toolscout.errors import TooMuchWork
from toolscout.index.encoder import network
from toolscout.index.encoder.network import Floats
from toolscout.text.tokens import speak_name
from toolscout.tools.documents import read_tool
from toolscout.tools.filters import tenant_of

SHARE = 0.4
"""Share of the transformer's cosine beside the static model's. Of .2 to .5, .4 gains most for
vendors' tests; people's words gain more with more.
"""

MAX_TOOLS = 2_000
"""Maximum number of tools of a list that is read: half a minute of a core."""

DESCRIPTION_CHARS = 400
"""Characters of a tool's description that are read."""

TOOL_TOKENS = 96
"""Maximum number of tokens of a tool that are read."""

QUERY_TOKENS = 64
"""Maximum number of tokens of a query that are read."""

MAX_QUERY_WORDS = 48
"""Words of a query up to which it is read: a longer one takes more time than most have, and what it
asks is one sentence of several.
"""

TOOLS_AT_ONCE = 8
"""Tools that are read, some 0.1 s of a core, before it is another tenant's turn."""

LISTS_PER_TENANT = 16
"""Maximum number of lists of a tenant that wait to be read; others wait for a later search."""

QUERIES_WAITING = 32
"""Maximum number of queries that wait to be read; others are answered without."""

QUERIES_KEPT = 4_096
"""Queries whose vectors are remembered, 1.5 KiB each."""

TOOLS_BYTES = 32 << 20
"""Bytes of the vectors of single tools that are remembered: of a changed list, only what changed is
read anew."""

NICENESS = 10
"""How far the thread that reads tools stands back from all others."""

TOOLS_UNREAD = "encoder: the tools are not read yet"
QUERY_UNREAD = "encoder: the query was not read in time"
FAILED = "encoder: it failed"

_VECTOR_BYTES = 4 * network.DIMENSION
_NOT_READ = bytes(_VECTOR_BYTES)

_log = logging.getLogger("toolscout.encoder")


class ReadableSource(Protocol):
    """A list of tools."""

    def tool(self, row: int) -> Tool:
        """Return a tool as it was sent."""

    def __len__(self) -> int: ...


class Unread(NamedTuple):
    """Why the transformer had no say in a search of an open list."""

    note: str
    query: "Future[Floats | None] | None" = None
    """Ends when the query is read; None where that is not all."""


class _OpenList:
    """What is read of a list."""

    def __init__(self, space: str, *, in_background: bool) -> None:
        self.space = space
        self.in_background = in_background
        self.is_queued = False
        self.vectors: Floats | None = None
        """Of its tools, shape (tools, 384); zeros where a tool is not read."""
        self.has_failed = False


class Encoder:
    """What the transformer says of queries and tools; any thread may ask it.

    Args:
        is_foreign: whether a text is in another language than English, the only one that the
            transformer knows.

    Raises:
        ConfigurationError: a package of the extra `encoder` is missing, or the wrong one.
    """

    def __init__(self, is_foreign: Callable[[str], bool]) -> None:
        network.check_model()
        self._is_foreign = is_foreign
        self._lists: WeakKeyDictionary[ReadableSource, _OpenList] = WeakKeyDictionary()
        self._tools: Lru[tuple[str, bytes], bytes] = Lru(TOOLS_BYTES)
        """The vectors of tools, by space and digest of the text."""
        self._queries: Lru[tuple[str, str], Future[Floats | None]] = Lru(QUERIES_KEPT)
        """The vectors of queries, by space and text: no tenant sees what another asked."""
        self._waiting = Counter[str]()
        """Lists that wait to be read, by tenant."""
        self._lock = threading.Lock()
        self._query_thread = FairPool(1, "encode-query", most_waiting=QUERIES_WAITING)
        self._tool_thread = FairPool(1, "encode-tools")

    def open(self, source: ReadableSource, space: str = "", *, in_background: bool = False) -> None:
        """Let the transformer have a say in searches of a list; in others it has none.

        Args:
            source: the list, of up to `MAX_TOOLS` tools.
            space: the tenant, and the part of its tools that a key sees.
            in_background: whether it is read by and by, and queries while a search waits.
        """
        if len(source) > MAX_TOOLS:
            return
        opened = self._lists.get(source)
        if opened is None:
            opened = _OpenList(space, in_background=in_background)
            self._lists[source] = opened
        if in_background and not opened.is_queued:
            self._enqueue(source, opened)

    def blend(
        self, cosine: Floats, source: ReadableSource, query: str
    ) -> tuple[Floats, Unread | None]:
        """Blend the cosines of a list with the transformer's, shape (tools,).

        Tools in other languages keep their own, as do all where something is not read.

        Returns:
            The cosines, and why the transformer had no say in them.
        """
        opened = self._lists.get(source)
        if opened is None or query.count(" ") >= MAX_QUERY_WORDS or self._is_foreign(query):
            return cosine, None
        if opened.vectors is None and not (opened.in_background or opened.has_failed):
            vectors = self._read_tools(source, opened, range(len(source)))
            opened.vectors = None if opened.has_failed else _stack(vectors)
        if opened.vectors is None:
            return cosine, Unread(FAILED if opened.has_failed else TOOLS_UNREAD)
        query_vector = self._find_query(opened, query)
        if query_vector is None or not query_vector.done():
            return cosine, Unread(QUERY_UNREAD, query_vector)
        vector = query_vector.result()
        if vector is None:
            self._queries.pop((opened.space, query))
            return cosine, Unread(FAILED)
        of_encoder = opened.vectors @ vector
        share = np.float32(SHARE) * (of_encoder != 0)
        return (1 - share) * cosine + share * of_encoder, None

    def _find_query(self, opened: _OpenList, query: str) -> "Future[Floats | None] | None":
        """Return the vector of a query, or when it is there; None while too many wait."""
        key = (opened.space, query)
        known = self._queries.get(key)
        if known is not None:
            return known
        if opened.in_background:
            try:
                known = self._query_thread.submit(tenant_of(opened.space), _encode_query, query)
            except TooMuchWork:
                return None
        else:
            known = Future()
            known.set_result(_encode_query(query))
        self._queries.put(key, known)
        return known

    def _enqueue(self, source: ReadableSource, opened: _OpenList) -> None:
        """Have a list read in the background, unless many of its tenant wait."""
        tenant = tenant_of(opened.space)
        with self._lock:
            if self._waiting[tenant] >= LISTS_PER_TENANT:
                return
            self._waiting[tenant] += 1
        opened.is_queued = True
        self._tool_thread.submit(tenant, self._read_some, ref(source), opened, [])

    def _read_some(
        self, source: "Callable[[], ReadableSource | None]", opened: _OpenList, vectors: list[bytes]
    ) -> None:
        """Read the next tools of a list; then it is another tenant's turn."""
        tenant = tenant_of(opened.space)
        _lower_priority()
        tools = source()
        if tools is not None:  # nobody has dropped it meanwhile
            rows = range(len(vectors), min(len(vectors) + TOOLS_AT_ONCE, len(tools)))
            vectors += self._read_tools(tools, opened, rows)
            if len(vectors) < len(tools) and not opened.has_failed:
                self._tool_thread.submit(tenant, self._read_some, source, opened, vectors)
                return
            if not opened.has_failed:
                opened.vectors = _stack(vectors)
        with self._lock:
            self._waiting[tenant] -= 1
            if not self._waiting[tenant]:
                del self._waiting[tenant]

    def _read_tools(self, source: ReadableSource, opened: _OpenList, rows: range) -> list[bytes]:
        """Return the vectors of some tools; none where one fails, which is noted."""
        try:
            return [self._encode_tool(source, row, opened.space) for row in rows]
        except Exception:
            opened.has_failed = True
            _log.exception("the encoder could not read the tools of a list")
            return []

    def _encode_tool(self, source: ReadableSource, row: int, space: str) -> bytes:
        """Return the vector of a tool, as bytes; zeros if it is in another language."""
        tool = read_tool(source.tool(row))
        text = f"{speak_name(tool.name)}. {tool.plain_description[:DESCRIPTION_CHARS]}"
        key = (space, blake2b(text.encode("utf-8", "replace"), digest_size=16).digest())
        vector = self._tools.get(key)
        if vector is None:
            vector = _NOT_READ
            if not self._is_foreign(text):
                vector = network.load().encode(text, TOOL_TOKENS).tobytes()
            self._tools.put(key, vector, _VECTOR_BYTES)
        return vector


def _stack(vectors: list[bytes]) -> Floats:
    return np.frombuffer(b"".join(vectors), np.float32).reshape(-1, network.DIMENSION)


def _encode_query(query: str) -> Floats | None:
    """Return the vector of a query; None if that fails."""
    try:
        return network.load().encode(query, QUERY_TOKENS)
    except Exception:
        _log.exception("the encoder could not read a query")
        return None


def _lower_priority() -> None:
    """Lower the priority of this thread, where threads have one of their own."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        with suppress(OSError):
            before = os.getpriority(os.PRIO_PROCESS, thread)
            os.setpriority(os.PRIO_PROCESS, thread, max(before, NICENESS))
