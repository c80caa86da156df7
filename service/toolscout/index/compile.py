"""Compiling: each tool on its own, then all of them into one index.

A tool's own part (terms, spellings, vector) depends on nothing but its content, so it is kept
and reused: changing one tool of three hundred compiles one tool.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from toolscout.errors import InvalidJson
from toolscout.index.adjusted import UNADJUSTED, Adjusted
from toolscout.index.bm25 import Postings
from toolscout.index.catalog import Catalog, Embedded, Example
from toolscout.index.compiled_tool import CompiledTool, compile_tool, read_to_compile
from toolscout.index.counts import Corpus
from toolscout.index.embedder import Embedder
from toolscout.index.expand import Synonyms
from toolscout.index.facets import Allowed, Facets
from toolscout.index.lines import TextLines
from toolscout.index.names import NameIndex
from toolscout.index.okapi import Okapi
from toolscout.index.pattern_vectors import pack_text
from toolscout.index.prerequisites import Prerequisites
from toolscout.index.tool_list import ToolList
from toolscout.index.vector_index import index_vectors
from toolscout.index.weighing import Bm25Weights
from toolscout.text import domains
from toolscout.text.domains import Taxonomy
from toolscout.tools.overlay import NO_OVERLAY, NO_ROWS, Adjustment, Overlay, TenantOverlay

T = TypeVar("T")


EXAMPLES_OF_ALL = 4_096
"""Examples of a catalog that count; where tools have more together, fewer of each do."""

READ_TOGETHER = 16
"""Tools that are read before the first of them is compiled: what either step works with stays in
the processor's cache, which saves 8 % of both. Calls are let ahead between such groups; one takes
some 1.5 ms."""

EMBEDDED_AT_ONCE = 500
"""Tools whose vectors are made together; some 50 ms."""


class ToolStore(Protocol):
    """Where compiled tools are kept between catalogs, by content digest."""

    def get(self, digest: bytes) -> CompiledTool | None:
        """Return the compiled tool, if it is still kept."""

    def put(self, digest: bytes, tool: CompiledTool) -> None:
        """Keep a compiled tool."""


class Compiler:
    """Turns tool lists into catalogs with one embedder and one set of weights."""

    def __init__(
        self,
        embedder: Embedder | None,
        weights: Bm25Weights | None = None,
        taxonomy: Taxonomy | None = None,
        synonyms: Synonyms | None = None,
        overlay: Overlay = NO_OVERLAY,
    ) -> None:
        self.embedder = embedder
        self.overlay = overlay
        """May be replaced; catalogs that are compiled already keep theirs."""
        self._weights = weights or Bm25Weights()
        self.taxonomy = taxonomy or domains.load_bundled()
        self.synonyms = synonyms

    def lexical(
        self, tools: ToolList, store: ToolStore, overlay: TenantOverlay = NO_ROWS
    ) -> tuple[Catalog, list[CompiledTool]]:
        """Return a catalog that answers by words; `embed` completes it.

        A tool whose text cannot be compiled is left out, so that it never fails the others.

        Raises:
            InvalidJson: a definition is not valid JSON, or nested too deeply.
        """
        compiled: dict[str, CompiledTool] = {}
        every = list(zip(tools.tools, tools.digests, tools.places, strict=True))
        for at in range(0, len(every), READ_TOGETHER):
            some = every[at : at + READ_TOGETHER]
            rows = [overlay.find(tool.name) for tool, _, _ in some]
            keys = [
                hash_adjusted(digest, row) for (_, digest, _), row in zip(some, rows, strict=True)
            ]
            parts = [
                store.get(key) or _attempt(read_to_compile, tool, place, self.taxonomy, row)
                for (tool, _, place), row, key in zip(some, rows, keys, strict=True)
            ]
            for (tool, _, _), key, part in zip(some, keys, parts, strict=True):
                if isinstance(part, CompiledTool):
                    compiled[tool.name] = part
                elif part and (made := _attempt(compile_tool, part, self.taxonomy)):
                    store.put(key, made)
                    compiled[tool.name] = made
        skipped = tuple(tool.name for tool in tools.tools if tool.name not in compiled)
        of_each = list(compiled.values())
        digests = b"".join([digest for tool, digest, _ in every if tool.name in compiled])
        names = tuple(compiled)
        catalog = self._assemble(
            tools.digest, digests, names, of_each, skipped, overlay=overlay.digest
        )
        return catalog, of_each

    def embed(self, catalog: Catalog, compiled: Sequence[CompiledTool]) -> Catalog:
        """Return the same catalog with vectors; tools embedded before are not embedded again."""
        vectors = self.vectors(compiled)
        return catalog if vectors is None else catalog.with_vectors(vectors)

    def vectors(
        self, compiled: Sequence[CompiledTool], tell_alive: Callable[[], object] = lambda: None
    ) -> Embedded | None:
        """Return the vectors of tools, and their examples.

        None where there is no embedder. `tell_alive` is called every some hundred tools.
        """
        if self.embedder is None:
            return None
        # Read first: a compile beside this one drops the words once it has the vector.
        texts = [
            (tool, tool.embedding_words, tool.example_texts, tool.unserved_texts)
            for tool in compiled
        ]
        new = [each for each in texts if each[0].vector is None]
        pack = cache(partial(pack_text, embedder=self.embedder))  # many tools may have one request
        for at in range(0, len(new), EMBEDDED_AT_ONCE):
            some = new[at : at + EMBEDDED_AT_ONCE]
            tell_alive()
            made = self.embedder.tools([spoken for _, spoken, _, _ in some])
            for (tool, _, asked, unserved), vector in zip(some, made, strict=True):
                tool.examples = tuple(map(pack, asked))
                tool.unserved = tuple(map(pack, unserved))
                tool.vector = vector.tobytes()
                tool.embedding_words = tool.example_texts = tool.unserved_texts = ()
        packed = b"".join([tool.vector for tool in compiled if tool.vector is not None])
        stacked = np.frombuffer(packed, np.float32).reshape(-1, self.embedder.dimension)
        share = count_examples([tool.examples for tool in compiled])
        unserved_share = count_examples([tool.unserved for tool in compiled])
        examples = [
            Example(row, packed, is_served=True)
            for row, tool in enumerate(compiled)
            for packed in tool.examples[:share]
        ]
        examples += [
            Example(row, packed, is_served=False)
            for row, tool in enumerate(compiled)
            for packed in tool.unserved[:unserved_share]
        ]
        return Embedded(index_vectors(stacked), tuple(examples))

    def compile(self, tools: ToolList, store: ToolStore) -> Catalog:
        """Both steps at once, with the rows of the overlay that are for every tenant."""
        return self.embed(*self.lexical(tools, store, self.overlay.of("")))

    def of_corpus(self, tools: Mapping[str, CompiledTool], corpus: Corpus | None) -> Catalog:
        """Return a catalog of embedded tools, by their names, of a corpus that is elsewhere.

        Without a corpus these tools are all that count.
        """
        ordered = dict(sorted(tools.items()))
        parts = list(ordered.values())
        return self.embed(self._assemble("", b"", tuple(ordered), parts, (), corpus), parts)

    def _assemble(  # noqa: PLR0913  # the parts of a catalog
        self,
        digest: str,
        digests: bytes,
        names: tuple[str, ...],
        compiled: Sequence[CompiledTool],
        skipped: tuple[str, ...],
        corpus: Corpus | None = None,
        overlay: str = "",
    ) -> Catalog:
        return self.catalog(
            digest,
            digests,
            names,
            Postings([tool.counts for tool in compiled], self._weights, corpus),
            NameIndex(tool.spellings for tool in compiled),
            TextLines(tool.lines for tool in compiled),
            np.array([tool.tokens for tool in compiled], np.int64),
            [tool.clues for tool in compiled],
            np.array([tool.available for tool in compiled], np.bool_),
            tuple(tool.wire for tool in compiled),
            [tool.needs for tool in compiled],
            skipped,
            Adjusted.of(
                overlay, {row: tool.adjusted for row, tool in enumerate(compiled) if tool.adjusted}
            ),
        )

    def catalog(  # noqa: PLR0913  # the parts of a catalog
        self,
        digest: str,
        digests: bytes,
        names: tuple[str, ...],
        postings: Postings,
        spellings: NameIndex,
        lines: TextLines,
        tokens: NDArray[np.int64],
        clues: Sequence[bytes],
        available: Allowed,
        wires: tuple[bytes, ...],
        needs: Sequence[Sequence[str]],
        skipped: tuple[str, ...] = (),
        adjusted: Adjusted = UNADJUSTED,
    ) -> Catalog:
        """Return a catalog without vectors; each part is in the order of the names."""
        text_bytes = sum(map(len, (*names, *wires))) + 620 * len(names) + 160 * len(spellings)
        ranked = adjusted.list_wires(wires)
        return Catalog(
            digest=digest,
            digests=digests,
            names=names,
            rows={name: row for row, name in enumerate(names)},
            postings=postings,
            spellings=spellings,
            lines=lines,
            vectors=None,
            tokens=tokens,
            all_tokens=int(tokens.sum()),
            facets=Facets(ranked, clues, None if available.all() else available, self.taxonomy),
            wires=wires,
            texts=Okapi(ranked),
            taxonomy=self.taxonomy,
            synonyms=self.synonyms,
            prerequisites=Prerequisites(names, needs, postings),
            nbytes=postings.nbytes
            + lines.nbytes
            + text_bytes
            + sum(map(len, wires))
            + adjusted.nbytes,
            skipped=skipped,
            adjusted=adjusted,
        )


def hash_adjusted(digest: bytes, row: Adjustment | None) -> bytes:
    """Return what a compiled tool is kept by: its digest, and that of the overlay's rows for it."""
    return digest if row is None else sha256(digest + row.digest).digest()


def count_examples(examples: Sequence[Sequence[object]]) -> int:
    """Return how many examples of each tool count."""
    return max(1, EXAMPLES_OF_ALL // max(1, sum(map(bool, examples))))


def _attempt(step: Callable[..., T], *args: Any) -> T | None:
    """Return the result of a step; None where a tool fails it, unless it is no valid JSON."""
    try:
        return step(*args)
    except InvalidJson:
        raise
    except Exception:
        return None
