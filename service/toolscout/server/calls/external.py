"""Catalogs that PostgreSQL keeps tool by tool: a question brings candidates, which are ranked.

No process holds such a catalog whole. What would need all of its tools is refused by name.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain

import msgspec
from msgspec.structs import replace

from toolscout.common.lru import Lru
from toolscout.common.spelling import key
from toolscout.contract.catalogs import CatalogPatch
from toolscout.contract.fields import is_absent
from toolscout.contract.tools import Tool
from toolscout.errors import FieldError
from toolscout.index.catalog import Catalog
from toolscout.index.compile import CompiledTool
from toolscout.index.counts import Corpus
from toolscout.index.embedder import Embedder
from toolscout.index.expand import synonym_terms
from toolscout.index.kept_tools import pack_tool, unpack_tools
from toolscout.index.names import possible_forms
from toolscout.index.tool_list import ToolList, catalog_digest
from toolscout.ranking.ask import Ask
from toolscout.server.compiling.work_threads import run_in_thread
from toolscout.server.compiling.worker import Worker
from toolscout.server.http.problems import Refused, invalid
from toolscout.server.observe.record import Trace
from toolscout.server.service import Service
from toolscout.state.candidates import ANY, IN_NAME, Candidates, Row, Wish, without_nul
from toolscout.state.registry import Record
from toolscout.state.store import StoreUnavailable
from toolscout.text.query import analyse, is_strange
from toolscout.tools.documents import decode_tool
from toolscout.tools.filters import filters_of, labels
from toolscout.tools.traits import infer, unpack_clues

MOST_WRITTEN = 1_000
"""Tools of one change: some two seconds, most of it for the index of vectors."""

COMPILED_WITHIN_S = 30.0
"""Seconds that a change waits for its tools to be compiled."""

MOST_NAME_BYTES = 2_000
"""Bytes of a name: what an index of PostgreSQL takes."""

EXTERNAL = "external"
"""What traces tell in place of a hit or a miss."""


def too_large_for(what: str) -> Refused:
    """Return the refusal of what needs all tools of a catalog."""
    return Refused("catalog_too_large_for", f"{what} needs all tools of the catalog together")


def asked(ask: Ask) -> Ask:
    """Return a question as an external catalog can answer it.

    Raises:
        Refused: it is a regular expression.
    """
    if ask.ranker == "regex":
        raise too_large_for("ranker: a regular expression")
    return replace(ask, ranker="hybrid") if ask.ranker == "auto" else ask


async def near(  # noqa: PLR0913  # what candidates depend on
    service: Service,
    trace: Trace,
    name: str,
    record: Record,
    asks: Sequence[Ask] = (),
    names: Sequence[str] = (),
    within_s: float | None = None,
) -> Catalog:
    """Return a catalog of the candidates for some questions, and of the tools of some names.

    Raises:
        Refused: the database does not answer in time, by default within the latency budget.
    """
    budget_s = service.settings.latency_budget_ms / 1_000
    try:
        async with asyncio.timeout(budget_s if within_s is None else max(0.0, within_s)):
            catalog, size = await _near(service, trace, name, asks, names)
    except (StoreUnavailable, TimeoutError):
        raise Refused(
            "store_unavailable", "the database of this catalog did not answer in time"
        ) from None
    # A key that sees a part is not told how much there is beside it, nor when that changes.
    if trace.space == trace.tenant:
        catalog = replace(catalog, digest=record.digest)
    trace.cache, trace.catalog = EXTERNAL, catalog.digest
    trace.offered = trace.unique = size if trace.space == trace.tenant else len(catalog)
    return catalog


async def _near(
    service: Service, trace: Trace, name: str, asks: Sequence[Ask], names: Sequence[str]
) -> tuple[Catalog, int]:
    candidates = _candidates(service)
    digests, frequencies = dict[str, bytes](), dict[str, int]()
    wishes = [_wish(service, trace.space, ask) for ask in asks]
    if names:
        wishes.append(_named(trace.space, names))
    for wish in wishes:
        found, counted = await candidates.near(trace.tenant, name, wish)
        digests |= found
        frequencies |= counted
    size, kept = frequencies.get(ANY, 0), service.cache.tools(trace.space)
    tools = {tool: known for tool, digest in digests.items() if (known := kept.get(digest))}
    missing = [tool for tool in digests if tool not in tools]
    rows = await candidates.read(trace.tenant, name, missing) if missing else []
    # Nor do scores of a part count how many other tools have a word.
    corpus = Corpus(size, frequencies) if trace.space == trace.tenant else None
    catalog, new = await run_in_thread(_assembled, service, tools, rows, corpus)
    for row in rows:
        if row.name in new:
            kept.put(row.digest, new[row.name])
    return replace(catalog, digest=catalog_digest(digests.values())), size


def _assembled(
    service: Service,
    tools: Mapping[str, CompiledTool],
    rows: Sequence[Row],
    corpus: Corpus | None,
) -> tuple[Catalog, dict[str, CompiledTool]]:
    """Return a catalog of compiled tools and of rows, and what the rows became."""
    compiler, embedder = service.engine.compiler, service.engine.embedder
    new: dict[str, CompiledTool] = {}
    built = [row for row in rows if row.build == service.build]
    try:
        new = _unpacked(built, embedder)
    except (ValueError, msgspec.MsgspecError):  # one that is damaged is made anew
        for row in built:
            with suppress(ValueError, msgspec.MsgspecError):
                new |= _unpacked([row], embedder)
    stale = ToolList.of([decode_tool(row.wire) for row in rows if row.name not in new])
    if stale.tools:  # written by another release, until they are written again
        words, compiled = compiler.lexical(stale, Lru(0))
        compiler.embed(words, compiled)
        new |= zip(words.names, compiled, strict=True)
    return compiler.of_corpus({**tools, **new}, corpus), new


def _unpacked(rows: Sequence[Row], embedder: Embedder) -> dict[str, CompiledTool]:
    packed, wires = [row.compiled for row in rows], [row.wire for row in rows]
    names = (row.name for row in rows)
    return dict(zip(names, unpack_tools(packed, wires, embedder), strict=True))


def _wish(service: Service, space: str, ask: Ask) -> Wish:
    query = analyse(ask.ranking_part, ask.earlier)
    terms = {term.term: term.weight for term in query.terms}
    others = service.engine.compiler.synonyms or synonym_terms()
    meant = chain.from_iterable(query.meanings.values())
    related = chain(chain.from_iterable(others.get(term, ()) for term in terms), meant)
    filters = ask.filters, filters_of(space)

    def vector(known: Collection[str]) -> Sequence[float] | None:
        vectors = service.engine.embedder.query(
            query.embedding_words, query.earlier, is_strange=is_strange(query, known.__contains__)
        )
        return None if vectors is None else vectors.vectors[0].tolist()

    return Wish(
        vector,
        terms,
        related=dict.fromkeys(related),
        forms=possible_forms(query.text),
        names=[ask.pattern.strip(), *ask.always_keep],
        filters=[each for each in filters if each is not None],
    )


def _named(space: str, names: Sequence[str]) -> Wish:
    """Return what finds tools by their names in any spelling."""
    filters = filters_of(space)
    return Wish(
        lambda _: None, {}, (), list(map(key, names)), names, [] if filters is None else [filters]
    )


def patched(tools: Iterable[Tool], change: CatalogPatch) -> dict[str, Tool]:
    """Return tools, of equal names the last, by their names after some are removed or set.

    Raises:
        Refused: the status of a tool that is not there is to be set.
    """
    by_name = {tool.name: tool for tool in tools}
    for name in change.remove or ():
        by_name.pop(name, None)
    for name, status in (change.status or {}).items():
        if name not in by_name:
            what = FieldError("status", "the catalog has no tool of one of these names")
            raise Refused("not_found", "status: the catalog has no tool of that name", (what,))
        kept = None if status == "available" else status
        by_name[name] = replace(by_name[name], status=kept)
    return by_name


def _rows(worker: Worker, change: CatalogPatch, present: Sequence[bytes], build: str) -> list[Row]:
    """Return what a change makes of the tools that it adds, and of those whose status it sets.

    Raises:
        Refused, InvalidRequest: the change is at fault.
    """
    sent = (
        []
        if is_absent(change.upsert)
        else ToolList.decode(change.upsert, MOST_WRITTEN).checked().tools
    )
    by_name = patched((*map(decode_tool, present), *sent), change)
    tools, compiler = ToolList.of(by_name.values()), worker.engine.compiler
    words, compiled = compiler.lexical(tools, Lru(0))
    compiler.embed(words, compiled)
    digests = {tool.name: digest for tool, digest in zip(tools.tools, tools.digests, strict=True)}
    rows = []
    for name, tool in zip(words.names, compiled, strict=True):
        written = by_name[name]
        traits = infer(written, unpack_clues(tool.clues), compiler.taxonomy)
        in_name = [IN_NAME + term for term in dict.fromkeys(tool.name_terms)]
        row = Row(
            name,
            digests[name],
            build,
            tool.wire,
            pack_tool(tool),
            memoryview(tool.vector or b"").cast("f").tolist(),
            [ANY, *tool.counts.terms, *in_name],
            _forms(tool),
            labels(written, traits),
        )
        texts = [name, *row.terms, *row.forms, *row.labels]
        if len(name.encode()) > MOST_NAME_BYTES or len(without_nul(texts)) < len(texts):
            raise invalid("upsert", f"{name[:40]!r}: a name too long, or a NUL character in a tool")
        rows.append(row)
    return rows


def _forms(tool: CompiledTool) -> list[str]:
    """Return what a tool can be called by, as far as an index of PostgreSQL takes it."""
    forms = dict.fromkeys(chain.from_iterable(tool.spellings))
    return [form for form in forms if len(form.encode()) <= MOST_NAME_BYTES]


async def change(
    service: Service,
    trace: Trace,
    name: str,
    known: Record | None,
    sent: CatalogPatch,
    *,
    anew: bool = False,
) -> Record:
    """Change tools of an external catalog, or replace all of them.

    Raises:
        Refused, InvalidRequest: the request is at fault.
        Changed: somebody else has changed the catalog since it was read.
    """
    if len(sent.status or ()) > MOST_WRITTEN:
        raise invalid("status", f"at most {MOST_WRITTEN} tools at a time")
    candidates, present = _candidates(service), list[Row]()
    if anew:
        try:
            await candidates.make()
        except StoreUnavailable as error:
            detail = f"{error}; have an administrator CREATE EXTENSION vector"
            raise Refused("store_unavailable", detail) from None
    if sent.status:
        present = await candidates.read(trace.tenant, name, list(sent.status))
    wires = [row.wire for row in present]
    rows = await service.compiles.run(
        trace.tenant,
        _rows,
        sent,
        wires,
        service.build,
        pool="compile",
        seconds=COMPILED_WITHIN_S,
    )
    removed = sent.remove or ()
    return await service.registry.change(trace.tenant, name, known, rows, removed, anew=anew)


def _candidates(service: Service) -> Candidates:
    candidates = service.registry.candidates
    if candidates is None:
        raise invalid("keep", "postgres needs store = postgres://… with the extension vector")
    return candidates
