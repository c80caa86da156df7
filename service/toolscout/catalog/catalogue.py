"""A compiled tool list: everything a ranker needs, immutable, in name order."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolscout.contract import Tool
from toolscout.pauses import Breathe, at_once
from toolscout.ranking.bm25 import Postings
from toolscout.ranking.domains import Taxonomy
from toolscout.ranking.expand import Synonyms
from toolscout.ranking.filters import Facets
from toolscout.ranking.names import NameIndex
from toolscout.ranking.regex import TextLines
from toolscout.ranking.semantic import VectorIndex

_decode = msgspec.json.Decoder(Tool).decode


class Catalogue(msgspec.Struct, frozen=True, eq=False):
    """Tools sorted by name, so that equal scores and row order agree.

    `vectors` is None while the embeddings of a new catalogue are still being made; such a
    catalogue answers by words.
    """

    digest: str
    names: tuple[str, ...]
    rows: dict[str, int]
    postings: Postings
    spellings: NameIndex
    lines: TextLines
    vectors: VectorIndex | None
    tokens: NDArray[np.int64]
    """Estimated prompt tokens of each tool, shape (tools,)."""
    facets: Facets
    """What filters look at."""
    wires: tuple[bytes, ...]
    """Each tool as it was sent, in JSON."""
    taxonomy: Taxonomy
    synonyms: Synonyms | None
    """What stands for what in queries; None for the bundled list."""
    nbytes: int

    def tool(self, row: int) -> Tool:
        """A tool as it was sent."""
        return _decode(self.wires[row])

    def prepare(self, breathe: Breathe = at_once) -> None:
        """Make what only some questions need, and would otherwise make when they first do."""
        self.postings.prepare(breathe)
        self.lines.prepare()

    def __len__(self) -> int:
        return len(self.names)
