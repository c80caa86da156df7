"""A compiled tool list: everything a ranker needs, immutable, in name order."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolscout.common.pauses import Breathe, at_once
from toolscout.contract import Tool
from toolscout.index.bm25 import Postings
from toolscout.index.expand import Synonyms
from toolscout.index.facets import Facets
from toolscout.index.lines import TextLines
from toolscout.index.names import NameIndex
from toolscout.index.vectors import VectorIndex
from toolscout.text.domains import Taxonomy

_decode = msgspec.json.Decoder(Tool).decode


class Catalog(msgspec.Struct, frozen=True, eq=False):
    """Tools sorted by name, so that equal scores and row order agree.

    `vectors` is None while the embeddings of a new catalog are still being made; such a
    catalog answers by words.
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
