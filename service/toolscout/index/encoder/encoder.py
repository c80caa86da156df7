"""Cosines by the transformer: lists are read in a thread of low priority, queries in another.

Nobody waits here: who asks for what is not read yet is told so, and may wait for it.
"""

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from hashlib import blake2b
from typing import NamedTuple, Protocol

import numpy as np

from toolscout.common.lru import Lru
from toolscout.common.threads import FairPool
from toolscout.contract.tools import Tool
from toolscout.errors import TooMuchWork
from toolscout.index.encoder import network
from toolscout.index.encoder.network import Floats
from toolscout.text.tokens import spoken_name
from toolscout.tools.documents import read_tool

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
"""Tools that are read, some 0.1 s of a core, before it is another list's turn."""

LISTS_WAITING = 64
"""Maximum number of lists that are being read; others are when they are searched later."""

QUERIES_WAITING = 4
"""Maximum number of queries that wait for the thread; others are answered without."""

QUERIES_KEPT = 4_096
"""Queries whose vectors are remembered, 1.5 KiB each."""

LISTS_BYTES = 64 << 20
"""Bytes of the vectors of lists that are remembered: 140 lists of 300 tools."""

TOOLS_BYTES = 32 << 20
"""Bytes of the vectors of single tools that are remembered: of a changed list, only what changed is
read anew."""

NICENESS = 10
"""How far the thread that reads tools stands back from all others."""

_VECTOR_BYTES = 4 * network.DIMENSION
_NOT_READ = bytes(_VECTOR_BYTES)


class Source(Protocol):
    """A list of tools."""

    @property
    def digest(self) -> str:
        """The name of its content; empty for a part of a list."""

    def tool(self, row: int) -> Tool:
        """Return a tool as it was sent."""

    def __len__(self) -> int: ...


class Unread(NamedTuple):
    """What has to be read before the transformer has a say."""

    note: str
    reading: "Future[Floats] | None"
    """Ends when it is read; None where too many others wait."""
    is_list: bool
    """Whether it is a list of tools, which takes seconds."""


class Encoder:
    """What the transformer says of queries and tools; any thread may ask it.

    Args:
        is_foreign: whether a text is in another language than English, the only one that the
            transformer knows.

    Raises:
        ConfigurationError: a package of the extra `encoder` is missing.
    """

    def __init__(self, is_foreign: Callable[[str], bool]) -> None:
        network.model_file()
        self._is_foreign = is_foreign
        self._vectors: Lru[str, Floats] = Lru(LISTS_BYTES)
        """The vectors of lists by their digests, shape (tools, 384)."""
        self._tools: Lru[bytes, bytes] = Lru(TOOLS_BYTES)
        """The vectors of tools by the digests of their texts."""
        self._queries: Lru[str, Future[Floats]] = Lru(QUERIES_KEPT)
        self._reading: dict[str, Future[Floats]] = {}
        """The lists that are being read, by their digests."""
        self._lock = threading.Lock()
        self._query_thread = FairPool(1, "encode-query", most_waiting=QUERIES_WAITING)
        self._tool_thread = FairPool(1, "encode-tools")

    @staticmethod
    def prepare() -> None:
        """Load the network, which takes half a second."""
        network.load()

    def blend(self, cosine: Floats, source: Source, query: str) -> tuple[Floats, Unread | None]:
        """Blend the cosines of a list with the transformer's, shape (tools,).

        Tools in other languages keep their own, as do all where something is not read yet.

        Returns:
            The cosines, and what is to be read before the transformer has a say in them.
        """
        if not self._is_read(source, query):
            return cosine, None
        vectors = self._vectors.get(source.digest)
        if vectors is None:
            return cosine, self._read_list(source)
        reading = self._read_query(query)
        if reading is None or not reading.done():
            return cosine, Unread("encoder: the query was not read in time", reading, is_list=False)
        if reading.exception() is not None:
            return cosine, None
        read = vectors @ reading.result()
        share = np.float32(SHARE) * (read != 0)
        return (1 - share) * cosine + share * read, None

    def _is_read(self, source: Source, query: str) -> bool:
        """Whether the transformer reads a list (not a part of one, without digest), and a query."""
        is_short = query.count(" ") < MAX_QUERY_WORDS
        is_whole = bool(source.digest) and len(source) <= MAX_TOOLS
        return is_short and is_whole and not self._is_foreign(query)

    def _read_query(self, text: str) -> "Future[Floats] | None":
        """Return the vector of a query, or when it is there; None while too many wait."""
        known = self._queries.get(text)
        if known is None:
            with suppress(TooMuchWork):
                known = self._query_thread.submit("", _encode_query, text)
                self._queries.put(text, known)
        return known

    def _read_list(self, source: Source) -> Unread | None:
        with self._lock:
            reading = self._reading.get(source.digest)
            if reading is None:
                if len(self._reading) >= LISTS_WAITING:
                    return Unread("encoder: many lists wait to be read", None, is_list=True)
                reading = self._reading[source.digest] = Future()
                self._tool_thread.submit(source.digest, self._read_tools, source, [], reading)
        return Unread("encoder: the tools are being read", reading, is_list=True)

    def _read_tools(self, source: Source, read: list[bytes], reading: "Future[Floats]") -> None:
        """Read the next tools of a list; then it is another list's turn."""
        try:
            _stand_back()
            rows = range(len(read), min(len(read) + TOOLS_AT_ONCE, len(source)))
            read += [self._read_tool(source, row) for row in rows]
            if len(read) < len(source):
                self._tool_thread.submit(source.digest, self._read_tools, source, read, reading)
                return
            vectors = np.frombuffer(b"".join(read), np.float32).reshape(len(source), -1)
            self._vectors.put(source.digest, vectors, vectors.nbytes)
            reading.set_result(vectors)
        except Exception as error:
            reading.set_exception(error)
        with self._lock:
            del self._reading[source.digest]

    def _read_tool(self, source: Source, row: int) -> bytes:
        tool = read_tool(source.tool(row))
        text = f"{spoken_name(tool.name)}. {tool.plain_description[:DESCRIPTION_CHARS]}"
        key = blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
        vector = self._tools.get(key)
        if vector is None:
            vector = _NOT_READ
            if not self._is_foreign(text):
                vector = network.load().encode(text, TOOL_TOKENS).tobytes()
            self._tools.put(key, vector, _VECTOR_BYTES)
        return vector


def _encode_query(text: str) -> Floats:
    return network.load().encode(text, QUERY_TOKENS)


def _stand_back() -> None:
    """Lower the priority of this thread, where threads have one of their own."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
