"""Answer questions from catalogs that no process holds whole, and change them.

A question brings its candidates from the database; they become a catalog of their own, which the
usual pipeline ranks. What would need all tools is refused by name.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from toolscout.common.lru import Lru
from toolscout.common.spelling import make_key
from toolscout.contract.catalogs import CatalogPatch
from toolscout.contract.fields import is_absent
from toolscout.engine import Engine
from toolscout.errors import ToolscoutError
from toolscout.external.packed_tools import pack_tool, unpack_tools
from toolscout.external.tables import (
    ANY,
    IN_NAME,
    CandidateQuery,
    Row,
    Tables,
    drop_nul,
    refuse_field,
)
from toolscout.index.cache import CatalogCache
from toolscout.index.catalog import Catalog
from toolscout.index.compile import Compiler, ToolStore
from toolscout.index.compiled_tool import CompiledTool
from toolscout.index.counts import Corpus
from toolscout.index.embedder import Embedder
from toolscout.index.expand import load_synonym_terms
from toolscout.index.names import list_possible_forms
from toolscout.index.tool_list import ToolList, hash_catalog
from toolscout.ranking.ask import Ask
from toolscout.state.registry import CatalogRecord, Place, Registry, patch_tools
from toolscout.state.store import StoreUnavailable
from toolscout.text.query import analyse
from toolscout.tools.documents import decode_tool
from toolscout.tools.filters import filters_of, is_passing, tenant_of, write_labels
from toolscout.tools.overlay import NO_ROWS, TenantOverlay
from toolscout.tools.traits import infer, unpack_clues

MAX_WRITTEN = 1_000
"""Tools of one change: some two seconds, most of it for the index of vectors."""

MAX_NAME_BYTES = 2_000
"""Bytes of a name: what an index of PostgreSQL takes."""

MAX_NAMED = 50
"""Tools of an overlay that are candidates for a question."""

COMPILED_WITHIN_S = 30.0
"""Seconds that a change waits for its tools to be compiled."""


class EmbeddingWorker(Protocol):
    """The process that compiles."""

    engine: Engine


class NeedsAllTools(ToolscoutError):  # noqa: N818 - an answer, not a failure
    """What was asked for needs all tools of a catalog together, and no process holds them."""

    code = "catalog_too_large_for"

    def __init__(self, what: str, catalog: "ExternalCatalog") -> None:
        super().__init__(f"{what} needs all tools of the catalog together")
        self.catalog = catalog


class DatabaseUnavailable(ToolscoutError):  # noqa: N818 - a state, not a bug
    """The database of a catalog cannot be used."""

    code = "store_unavailable"


class ExternalCatalog(NamedTuple):
    """One of the catalogs, and the part of it that a key sees."""

    space: str
    name: str
    record: CatalogRecord

    def make_answerable(self, ask: Ask) -> Ask:
        """Return a question as candidates can answer it.

        Raises:
            NeedsAllTools: it is a regular expression.
        """
        if ask.ranker == "regex":
            raise NeedsAllTools("ranker: a regular expression", self)
        return replace(ask, ranker="hybrid") if ask.ranker == "auto" else ask


@dataclass(frozen=True)
class ExternalCatalogs:
    """The catalogs in the tables of one database."""

    tables: Tables
    registry: Registry
    """Has the records of the catalogs."""
    engine: Engine
    """Compiles and embeds as the service does."""
    cache: CatalogCache
    """Keeps compiled tools between questions."""
    run_in_thread: Callable[..., Awaitable[Any]]
    """Runs a function beside the event loop."""
    run_in_worker: Callable[..., Awaitable[Any]]
    """Has the worker call a function: takes tenant, function, arguments, `pool` and `seconds`."""

    async def load_candidates(
        self, external: ExternalCatalog, asks: Iterable[Ask], names: Sequence[str], within_s: float
    ) -> tuple[Catalog, int]:
        """Return a catalog of the candidates for some questions, and of the tools of some names.

        Also returns the number of all tools, as far as the key may know it.

        Raises:
            DatabaseUnavailable: the database does not answer within so many seconds.
        """
        try:
            async with asyncio.timeout(within_s):
                return await self._load_candidates(external, asks, names)
        except (StoreUnavailable, TimeoutError):
            detail = "the database of this catalog did not answer in time"
            raise DatabaseUnavailable(detail) from None

    async def _load_candidates(
        self, external: ExternalCatalog, asks: Iterable[Ask], names: Sequence[str]
    ) -> tuple[Catalog, int]:
        space, name, record = external
        place = Place(tenant_of(space), name)
        cached = self.cache.tools(space)
        digests = dict[str, bytes]()
        frequencies = dict[str, int]()
        queries = [self._query(space, ask) for ask in asks]
        if names:
            forms = list(map(make_key, names))
            queries.append(CandidateQuery(forms=forms, names=names, filters=[filters_of(space)]))
        for query in queries:
            candidates, counted = await self.tables.find_candidates(place, query)
            digests |= candidates
            frequencies |= counted
        tools = {each: tool for each, digest in digests.items() if (tool := cached.get(digest))}
        missing = [each for each in digests if each not in tools]
        rows = await self.tables.read(place, missing) if missing else []
        size = frequencies.get(ANY, 0)
        is_whole = space == place.tenant
        # A key that sees a part is not told how much there is beside it, nor when that changes;
        # nor do its scores count how many other tools have a word.
        corpus = Corpus(size, frequencies) if is_whole else None
        catalog, new = await self.run_in_thread(self._assemble, space, tools, rows, corpus)
        for row in rows:
            if row.name in new:
                cached.put(row.digest, new[row.name])
        digest = record.digest if is_whole else hash_catalog(digests.values())
        return replace(catalog, digest=digest), size if is_whole else len(catalog)

    def _assemble(
        self,
        space: str,
        tools: Mapping[str, CompiledTool],
        rows: Sequence[Row],
        corpus: Corpus | None,
    ) -> tuple[Catalog, dict[str, CompiledTool]]:
        """Return a catalog of compiled tools and of rows, and what the rows became."""
        rows = [row for row in rows if _is_whole(row)]
        built = [row for row in rows if row.build == self.tables.build]
        new = _unpack(built, self.engine.embedder)
        stale = [decode_tool(row.wire) for row in rows if row.name not in new]
        if stale:  # damaged, or written by another release, until they are written again
            new |= embed_tools(self.engine.compiler, ToolList.of(stale), Lru(0))
        every = self._adjust(space, {**tools, **new})
        return self.engine.compiler.of_corpus(every, corpus), new

    def _adjust(self, space: str, tools: dict[str, CompiledTool]) -> dict[str, CompiledTool]:
        """Return tools as an operator's overlay has them, without those that a key may not see."""
        compiler = self.engine.compiler
        overlay = compiler.overlay.of(tenant_of(space))
        matched = [decode_tool(tool.wire) for name, tool in tools.items() if overlay.find(name)]
        if not matched:
            return tools
        tools |= embed_tools(compiler, ToolList.of(matched), self.cache.tools(space), overlay)
        filters = filters_of(space)
        if filters is None:
            return tools
        return {
            name: tool
            for name, tool in tools.items()
            if tool.adjusted is None
            or is_passing(decode_tool(tool.adjusted.wire), filters, compiler.taxonomy)
        }

    def _query(self, space: str, ask: Ask) -> CandidateQuery:
        english = analyse(ask.ranking_part, ask.earlier, is_known=lambda _: False)
        query = english.spoken or analyse(ask.ranking_part, ask.earlier)
        terms = {term.term: term.weight for term in (*query.terms, *english.terms)}
        others = self.engine.compiler.synonyms or load_synonym_terms()
        meant = chain.from_iterable(english.meanings.values())
        related = chain(chain.from_iterable(others.get(term, ()) for term in terms), meant)

        def vector(present: Collection[str]) -> Sequence[float] | None:
            read = analyse(ask.ranking_part, ask.earlier, present.__contains__)
            vectors = self.engine.embedder.query(read.embedding_words, read.earlier)
            return None if vectors is None else vectors.vectors[0].tolist()

        return CandidateQuery(
            vector,
            terms,
            related=dict.fromkeys(related),
            forms=list_possible_forms(query.text),
            names=[ask.pattern.strip(), *ask.always_keep, *self._list_named(space, terms)],
            filters=[ask.filters, filters_of(space)],
        )

    def _list_named(self, space: str, terms: Collection[str]) -> list[str]:
        """Return tools that an overlay names, and that it finds by some term or pins."""
        overlay = self.engine.compiler.overlay.of(tenant_of(space))
        return overlay.list_named(terms)[:MAX_NAMED]

    async def change(
        self, place: Place, current: CatalogRecord | None, sent: CatalogPatch, *, anew: bool = False
    ) -> CatalogRecord:
        """Change tools of a catalog, or replace all of them; return its new record.

        Raises:
            ToolscoutError: the request is at fault, or the database cannot be used.
            Changed: somebody else has changed the catalog since it was read.
        """
        if len(sent.status or ()) > MAX_WRITTEN:
            raise refuse_field("status", f"at most {MAX_WRITTEN} tools at a time")
        tables = self.tables
        if anew:
            try:
                await tables.make()
            except StoreUnavailable as error:
                detail = f"{error}; have an administrator CREATE EXTENSION vector"
                raise DatabaseUnavailable(detail) from None
        present = await tables.read(place, list(sent.status)) if sent.status else []
        wires = [row.wire for row in present if _is_whole(row)]
        compiling = partial(self.run_in_worker, pool="compile", seconds=COMPILED_WITHIN_S)
        rows: list[Row] = await compiling(place.tenant, make_rows, sent, wires, tables.build)
        write = partial(tables.write, place, rows, sent.remove or (), anew=anew)
        return await self.registry.change(place, current, write)


def _is_whole(row: Row) -> bool:
    """Return whether a row has the tool of its name; another program may have changed it."""
    try:
        return decode_tool(row.wire).name == row.name
    except (ValueError, msgspec.MsgspecError):
        return False


def _unpack(rows: Sequence[Row], embedder: Embedder) -> dict[str, CompiledTool]:
    """Return the tools of rows, by their names, without those that are damaged."""
    packed = [row.compiled for row in rows]
    wires = [row.wire for row in rows]
    try:
        tools = unpack_tools(packed, wires, embedder)
    except (ValueError, msgspec.MsgspecError):
        each = [_unpack([row], embedder) for row in rows] if len(rows) > 1 else []
        return {name: tool for one in each for name, tool in one.items()}
    return dict(zip((row.name for row in rows), tools, strict=True))


def embed_tools(
    compiler: Compiler, tools: ToolList, store: ToolStore, overlay: TenantOverlay = NO_ROWS
) -> dict[str, CompiledTool]:
    """Return tools embedded, by their names; one whose text cannot be compiled is left out."""
    words, embedded = compiler.lexical(tools, store, overlay)
    compiler.embed(words, embedded)
    return dict(zip(words.names, embedded, strict=True))


def make_rows(
    worker: EmbeddingWorker, change: CatalogPatch, present: Sequence[bytes], build: str
) -> list[Row]:
    """Return the rows of the tools that a change adds, and of those whose status it sets.

    Raises:
        ToolUnknown, InvalidRequest: the change is at fault.
    """
    upsert = b"[]" if is_absent(change.upsert) else change.upsert
    sent = ToolList.decode(upsert, MAX_WRITTEN).checked().tools
    by_name = patch_tools((*map(decode_tool, present), *sent), change)
    tools = ToolList.of(by_name.values())
    compiler = worker.engine.compiler
    digests = {tool.name: digest for tool, digest in zip(tools.tools, tools.digests, strict=True)}
    rows = []
    for name, tool in embed_tools(compiler, tools, Lru(0)).items():
        traits = infer(by_name[name], unpack_clues(tool.clues), compiler.taxonomy)
        in_name = [IN_NAME + term for term in dict.fromkeys(tool.name_terms)]
        row = Row(
            name,
            digests[name],
            build,
            tool.wire,
            pack_tool(tool),
            memoryview(tool.vector or b"").cast("f").tolist(),
            [ANY, *tool.counts.terms, *in_name],
            _list_forms(tool),
            write_labels(by_name[name], traits),
        )
        texts = [name, *row.terms, *row.forms, *row.labels]
        if len(name.encode()) > MAX_NAME_BYTES or len(drop_nul(texts)) < len(texts):
            raise refuse_field(
                "upsert", f"{name[:40]!r}: a name too long, or a NUL character in a tool"
            )
        rows.append(row)
    return rows


def _list_forms(tool: CompiledTool) -> list[str]:
    """Return what a tool can be called by, as far as an index of PostgreSQL takes it."""
    forms = dict.fromkeys(chain.from_iterable(tool.spellings))
    return [form for form in forms if len(form.encode()) <= MAX_NAME_BYTES]
