"""Compiling: each tool on its own, then all of them into one index.

A tool's own part (terms, spellings, vector) depends on nothing but its content, so it is kept
and reused: changing one tool of three hundred compiles one tool.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, Protocol, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolscout.common.spelling import list_forms
from toolscout.contract.tools import Tool
from toolscout.errors import InvalidJson
from toolscout.index.bm25 import Postings
from toolscout.index.catalog import Catalog, Embedded
from toolscout.index.counts import Corpus, TermCounts
from toolscout.index.embedder import Embedder
from toolscout.index.expand import Synonyms
from toolscout.index.facets import Allowed, Facets
from toolscout.index.lines import TextLines, write_line
from toolscout.index.names import NameIndex
from toolscout.index.okapi import Okapi
from toolscout.index.pattern_vectors import pack_text
from toolscout.index.prerequisites import Prerequisites, find_needed_noun
from toolscout.index.tool_list import ToolList
from toolscout.index.vector_index import index_vectors
from toolscout.index.weighing import Bm25Weights
from toolscout.text import domains
from toolscout.text.domains import Taxonomy
from toolscout.text.tokens import analyse_terms, analyse_words, fold, split_words
from toolscout.tools.documents import Document, read_at
from toolscout.tools.risk import PURPOSE_CHARS
from toolscout.tools.summary import estimate_tool_tokens
from toolscout.tools.traits import Clues, pack_clues

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode

INDEXED_NAME_CHARS = 256
"""Characters of a name whose words are indexed: 10,000 names of 250 words each took 1.5 GiB."""


MAX_EXAMPLES = 16
"""Examples of one tool that count."""

EXAMPLE_CHARS = 1_024
"""Characters of an example that count."""

EXAMPLES_OF_ALL = 4_096
"""Examples of a catalog that count; where tools have more together, fewer of each do."""

READ_TOGETHER = 16
"""Tools that are read before the first of them is compiled: what either step works with stays in
the processor's cache, which saves 8 % of both. Calls are let ahead between such groups; one takes
some 1.5 ms."""

EMBEDDED_AT_ONCE = 500
"""Tools whose vectors are made together; some 50 ms."""


class CompiledTool(msgspec.Struct, gc=False):
    """What one tool contributes to any catalog it is part of.

    Nothing in it can refer back to it, and tens of thousands are kept: walking them all would make
    every full garbage collection a pause of a tenth of a second.
    """

    lines: tuple[bytes, bytes]
    """Everything it says, and its name, as the regex ranker searches them."""
    embedding_words: tuple[tuple[str, ...], ...]
    """The words that its vector is made of, as `Embedder.tools` takes them."""
    spellings: tuple[tuple[str, ...], ...]
    """The forms of each of its names."""
    counts: TermCounts
    tokens: int
    """What the tool costs in a prompt."""
    name_terms: tuple[str, ...]
    clues: bytes
    """What its traits are inferred from, packed."""
    available: bool
    needs: tuple[str, ...]
    """Nouns whose identifiers it requires, as terms."""
    wire: bytes
    """The tool as it was sent, for showing it."""
    vector: bytes | None = None
    """Packed float32: joining bytes is what Python does fastest."""
    example_texts: tuple[str, ...] = ()
    examples: tuple[bytes, ...] = ()
    """The requests that it says it serves, as packed patterns; made with its vector."""

    @property
    def nbytes(self) -> int:
        """Estimated bytes, the vector included: arrays as they are, objects by rule of thumb."""
        return (
            4_000
            + 30 * len(self.counts.terms)
            + len(self.lines[0])
            + len(self.wire)
            + len(self.clues)
            + 8 * sum(map(len, self.embedding_words))
            + 300 * max(len(self.example_texts), len(self.examples))
        )


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
    ) -> None:
        self.embedder = embedder
        self._weights = weights or Bm25Weights()
        self.taxonomy = taxonomy or domains.load_bundled()
        self.synonyms = synonyms

    def lexical(self, tools: ToolList, store: ToolStore) -> tuple[Catalog, list[CompiledTool]]:
        """Return a catalog that answers by words; `embed` completes it.

        A tool whose text cannot be compiled is left out, so that it never fails the others.

        Raises:
            InvalidJson: a definition is not valid JSON, or nested too deeply.
        """
        compiled: dict[str, CompiledTool] = {}
        every = list(zip(tools.tools, tools.digests, tools.places, strict=True))
        for at in range(0, len(every), READ_TOGETHER):
            some = every[at : at + READ_TOGETHER]
            parts = [store.get(digest) or _attempt(read_at, tool, n) for tool, digest, n in some]
            for (tool, digest, _), part in zip(some, parts, strict=True):
                if isinstance(part, CompiledTool):
                    compiled[tool.name] = part
                elif part and (made := _attempt(compile_tool, tool, part, self.taxonomy)):
                    store.put(digest, made)
                    compiled[tool.name] = made
        skipped = tuple(tool.name for tool in tools.tools if tool.name not in compiled)
        of_each = list(compiled.values())
        digests = b"".join([digest for tool, digest, _ in every if tool.name in compiled])
        names = tuple(compiled)
        return self._assemble(tools.digest, digests, names, of_each, skipped), of_each

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
        texts = [(tool, tool.embedding_words, tool.example_texts) for tool in compiled]
        new = [each for each in texts if each[0].vector is None]
        for at in range(0, len(new), EMBEDDED_AT_ONCE):
            some = new[at : at + EMBEDDED_AT_ONCE]
            tell_alive()
            made = self.embedder.tools([spoken for _, spoken, _ in some])
            for (tool, _, asked), vector in zip(some, made, strict=True):
                tool.examples = tuple(pack_text(text, self.embedder) for text in asked)
                tool.vector = vector.tobytes()
                tool.embedding_words = tool.example_texts = ()
        packed = b"".join([tool.vector for tool in compiled if tool.vector is not None])
        stacked = np.frombuffer(packed, np.float32).reshape(-1, self.embedder.dimension)
        share = count_examples([tool.examples for tool in compiled])
        examples = tuple(
            (row, example) for row, tool in enumerate(compiled) for example in tool.examples[:share]
        )
        return Embedded(index_vectors(stacked), examples)

    def compile(self, tools: ToolList, store: ToolStore) -> Catalog:
        """Both steps at once."""
        return self.embed(*self.lexical(tools, store))

    def of_corpus(self, tools: Mapping[str, CompiledTool], corpus: Corpus | None) -> Catalog:
        """Return a catalog of embedded tools, by their names, of a corpus that is elsewhere.

        Without a corpus these tools are all that count.
        """
        ordered = dict(sorted(tools.items()))
        parts = list(ordered.values())
        return self.embed(self._assemble("", b"", tuple(ordered), parts, (), corpus), parts)

    def _assemble(  # the parts of a catalog
        self,
        digest: str,
        digests: bytes,
        names: tuple[str, ...],
        compiled: Sequence[CompiledTool],
        skipped: tuple[str, ...],
        corpus: Corpus | None = None,
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
    ) -> Catalog:
        """Return a catalog without vectors; each part is in the order of the names."""
        text_bytes = sum(map(len, names)) + 620 * len(names) + 160 * len(spellings)
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
            facets=Facets(wires, clues, None if available.all() else available, self.taxonomy),
            wires=wires,
            texts=Okapi(wires),
            taxonomy=self.taxonomy,
            synonyms=self.synonyms,
            prerequisites=Prerequisites(names, needs, postings),
            nbytes=postings.nbytes + lines.nbytes + text_bytes + sum(map(len, wires)),
            skipped=skipped,
        )


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


def compile_tool(tool: Tool, document: Document, taxonomy: Taxonomy) -> CompiledTool:
    """Compile what one tool says, without its vector."""
    name = split_words(document.name[:INDEXED_NAME_CHARS])
    description = split_words(document.description)
    properties = split_words(document.properties)
    # Of most tools the beginnings are the whole texts.
    purpose = (
        description if document.purpose == document.description else split_words(document.purpose)
    )
    is_whole = document.property_heads == document.properties
    heads = properties if is_whole else split_words(document.property_heads)
    name_terms = analyse_words(name)
    description_terms = analyse_words(description)
    return CompiledTool(
        lines=(
            write_line(f"{document.name} {document.description} {document.properties}"),
            write_line(document.name),
        ),
        embedding_words=((*name, *purpose), tuple(heads), tuple(name)),
        tokens=estimate_tool_tokens(tool),
        spellings=tuple(filter(None, map(_spell, (document.name, *document.aliases)))),
        counts=TermCounts.of(
            (
                _analyse_name(name, name_terms, document, tool.namespace),
                description_terms,
                analyse_words(properties),
            )
        ),
        name_terms=tuple(name_terms),
        clues=pack_clues(
            Clues(
                tuple(sorted(taxonomy.telling((*name_terms, *description_terms)))),
                document.description[:PURPOSE_CHARS],
                _read_hints(document.annotations),
            )
        ),
        available=tool.status != "unavailable",
        needs=tuple(dict.fromkeys(filter(None, map(find_needed_noun, document.required)))),
        wire=_encode(tool),
        example_texts=read_examples(tool),
    )


def read_examples(tool: Tool) -> tuple[str, ...]:
    """Return the requests that a tool says it serves."""
    listed = tool.examples if isinstance(tool.examples, list | tuple) else ()
    texts = (each.strip() for each in listed if isinstance(each, str))
    return tuple(text[:EXAMPLE_CHARS] for text in islice(filter(None, texts), MAX_EXAMPLES))


def _read_hints(annotations: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the annotations that are booleans, as MCP's are: only they tell a risk."""
    if annotations is None:
        return None
    return {key: hint for key, hint in annotations.items() if isinstance(hint, bool)}


def _spell(name: str) -> tuple[str, ...]:
    """Return the spellings of a name; of a long one only the whole."""
    return list_forms(name) if len(name) <= INDEXED_NAME_CHARS else list_forms(name)[:1]


def _analyse_name(
    name: list[str], terms_of_name: list[str], document: Document, namespace: str | None
) -> list[str]:
    """Return the terms of the name, words written together, and its namespace and aliases."""
    name_terms = list(terms_of_name)
    if len(name) > 1:
        name_terms.append(fold("".join(name)))
    if len(name) > 2:
        name_terms.extend(fold(first + second) for first, second in pairwise(name))
    for further in (namespace, *document.aliases):
        if further:
            name_terms.extend(analyse_terms(further))
    return name_terms
