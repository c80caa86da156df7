"""The tools of a catalog as the encoder sees them, remembered tool by tool."""

from collections.abc import Iterable
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from toolscout.common.lru import Lru
from toolscout.contract.tools import Tool
from toolscout.index.encoder import DIMENSION, SentenceEncoder, tool_text
from toolscout.index.languages import has_letters
from toolscout.index.vectors import Embedder, Floats, inner_products
from toolscout.text.tokens import words

MAX_ENCODED = 2_000
"""Tools of a catalog up to which it is encoded: a minute of one processor core at most."""

REMEMBERED_BYTES = 32 * 1024 * 1024
"""Of the vectors of single tools, so that a changed list costs its changed tools: some 20,000."""

_ROW_BYTES = 4 * DIMENSION
_ENTRY_BYTES = _ROW_BYTES + 200
_NO_OPINION = bytes(_ROW_BYTES)


class EncodedTools:
    """The encoder's vectors of a catalog's tools, shape (tools, 384).

    A tool in another language than English has the zero vector, which says nothing.
    """

    __slots__ = ("_vectors", "is_known")

    def __init__(self, vectors: Floats) -> None:
        self._vectors = np.ascontiguousarray(vectors, np.float32)
        is_known: NDArray[np.bool_] = np.any(vectors != 0, axis=1)
        self.is_known = None if is_known.all() else is_known
        """Which tools have a vector; None when all have."""

    def similarities(self, query: Floats) -> Floats:
        """Return the cosine of every tool with a query, shape (tools,)."""
        return inner_products(self._vectors, query)

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors."""
        return self._vectors.nbytes


class ToolEncodings:
    """Encodes tools, each text of a tenant once."""

    def __init__(self, encoder: SentenceEncoder, embedder: Embedder) -> None:
        """`embedder` tells which texts are English."""
        self.encoder = encoder
        self._embedder = embedder
        self._known: Lru[tuple[str, bytes], bytes] = Lru(REMEMBERED_BYTES)

    def of(self, tenant: str, tools: Iterable[Tool]) -> Floats:
        """Return the vectors of tools, shape (tools, 384)."""
        packed = b"".join([self._of(tenant, tool_text(tool)) for tool in tools])
        return np.frombuffer(packed, np.float32).reshape(-1, DIMENSION)

    def _of(self, tenant: str, text: str) -> bytes:
        key = tenant, sha256(text.encode("utf-8", "replace")).digest()
        found = self._known.get(key)
        if found is None:
            is_read = is_english(text, self._embedder)
            found = self.encoder.tool(text).tobytes() if is_read else _NO_OPINION
            self._known.put(key, found, _ENTRY_BYTES)
        return found


def is_english(text: str, embedder: Embedder) -> bool:
    """Whether the encoder can read a text, as far as it can be told: it knows English alone."""
    return (text.isascii() or not has_letters(text)) and not embedder.is_foreign(words(text))
