"""Catalogs that PostgreSQL keeps tool by tool: a question brings candidates, which are ranked.

No process holds such a catalog whole. What would need all of its tools is refused by name.
"""

from collections.abc import Mapping, Sequence
from itertools import chain

import msgspec
from msgspec.structs import replace

from toolscout.common.spelling import key
from toolscout.contract.catalogs import CatalogPatch
from toolscout.contract.fields import Status, is_absent
from toolscout.errors import FieldError
from toolscout.index.catalog import Catalog
from toolscout.index.compile import CompiledTool
from toolscout.index.counts import Corpus
from toolscout.index.expand import synonym_terms
from toolscout.index.names import possible_forms
from toolscout.index.sealing import pack_tool, unpack_tool
from toolscout.index.tool_list import ToolList
from toolscout.ranking.ask import Ask
from toolscout.server.compiling.work_threads import run_in_thread
from toolscout.server.compiling.worker import Worker
from toolscout.server.http.refusals import Refused, invalid
from toolscout.server.observe.record import Trace
from toolscout.server.service import Service
from toolscout.state.candidates import ANY, IN_NAME, Candidates, Row, Wish
from toolscout.state.registry import Record
from toolscout.state.store import StoreUnavailable
from toolscout.text.query import analyse
from toolscout.tools.documents import decode_tool
from toolscout.tools.filters import filters_of, labels
from toolscout.tools.traits import infer, unpack_clues

MOST_WRITTEN = 1_000
"""Tools of one change: some two seconds, most of it for the index of vectors."""

COMPILED_WITHIN_S = 30.0

EXTERNAL = "external"
"""What traces tell in place of a hit or a miss."""

_encode = msgspec.json.Encoder().encode


def too_large_for(what: str) -> Refused:
    """Return the refusal of what needs all tools of a catalog."""
    return Refused("catalog_too_large_for", f"{what} needs all tools of the catalog at once")


def asked(ask: Ask) -> Ask:
    """Return a question as an external catalog can answer it.

    Raises:
        Refused: it is a regular expression.
    """
    if ask.ranker == "regex":
        raise too_large_for("ranker: a regular expression")
    return replace(ask, ranker="hybrid") if ask.ranker == "auto" else ask


async def near(
    service: Service,
    trace: Trace,
    name: str,
    record: Record,
    asks: Sequence[Ask] = (),
    names: Sequence[str] = (),
) -> Catalog:
    """Return a catalog of the candidates for some questions, and of the tools of some names.

    Raises:
        StoreUnavailable: the database does not answer.
    """
    candidates = _candidates(service)
    digests, size, frequencies = dict[str, bytes](), record.tools, dict[str, int]()
    wishes = [_wish(service, trace.space, ask) for ask in asks]
    if names:
        wishes.append(_named(trace.space, names))
    for wish in wishes:
        found, counted = await candidates.near(trace.tenant, name, wish)
        digests |= found
        frequencies |= counted
        size = counted.get(ANY, size)
    kept = service.cache.tools(trace.space)
    tools = {tool: known for tool, digest in digests.items() if (known := kept.get(digest))}
    missing = [tool for tool in digests if tool not in tools]
    rows = await candidates.read(trace.tenant, name, missing) if missing else []
    catalog, new = await run_in_thread(_assembled, service, tools, rows, Corpus(size, frequencies))
    for row in rows:
        kept.put(row.digest, new[row.name])
    trace.cache, trace.catalog = EXTERNAL, record.digest
    trace.offered = trace.unique = size
    return catalog


def _assembled(
    service: Service, tools: Mapping[str, CompiledTool], rows: Sequence[Row], corpus: Corpus
) -> tuple[Catalog, dict[str, CompiledTool]]:
    """Return a catalog of compiled tools and of rows, and what the rows became."""
    compiler, embedder = service.engine.compiler, service.engine.embedder
    new = {
        row.name: unpack_tool(row.compiled, row.wire, embedder)
        for row in rows
        if row.build == service.build
    }
    stale = ToolList.of([decode_tool(row.wire) for row in rows if row.name not in new])
    if stale.tools:  # written by another release, until they are written again
        words, compiled = compiler.lexical(stale, _Nothing())
        compiler.embed(words, compiled)
        new |= zip(words.names, compiled, strict=True)
    return compiler.of_corpus({**tools, **new}, corpus), new


class _Nothing:
    """A tool store that keeps nothing."""

    def get(self, _: bytes) -> None:
        """Return nothing."""

    def put(self, digest: bytes, tool: CompiledTool) -> None:
        """Keep nothing."""


def _wish(service: Service, space: str, ask: Ask) -> Wish:
    query = analyse(ask.ranking_part, ask.earlier)
    vectors = service.engine.embedder.query(query.embedding_texts, query.earlier)
    terms = {term.term: term.weight for term in query.terms}
    others = service.engine.compiler.synonyms or synonym_terms()
    meant = chain.from_iterable(query.meanings.values())
    related = chain(chain.from_iterable(others.get(term, ()) for term in terms), meant)
    filters = ask.filters, filters_of(space)
    return Wish(
        vector=None if vectors is None else vectors.vectors[0].tolist(),
        terms=terms,
        related=dict.fromkeys(related),
        forms=possible_forms(query.text),
        names=[ask.pattern.strip(), *ask.always_keep],
        filters=[each for each in filters if each is not None],
    )


def _named(space: str, names: Sequence[str]) -> Wish:
    """Return what finds tools by their names in any spelling."""
    filters = filters_of(space)
    return Wish(None, {}, (), list(map(key, names)), names, [] if filters is None else [filters])


async def _rows_of(service: Service, trace: Trace, raw: bytes) -> list[Row]:
    """Return the rows of a JSON array of tools.

    Raises:
        InvalidRequest: the tools are at fault, or too many.
    """
    found: list[Row] = await service.compiles.ask(
        COMPILED_WITHIN_S, "compile", trace.tenant, _rows, raw, service.build
    )
    return found


def _rows(worker: Worker, raw: bytes, build: str) -> list[Row]:
    tools = ToolList.decode(raw, MOST_WRITTEN)
    compiler = worker.engine.compiler
    words, compiled = compiler.lexical(tools, _Nothing())
    compiler.embed(words, compiled)
    digests = {tool.name: digest for tool, digest in zip(tools.tools, tools.digests, strict=True)}
    rows = []
    for name, tool in zip(words.names, compiled, strict=True):
        traits = infer(decode_tool(tool.wire), unpack_clues(tool.clues), compiler.taxonomy)
        in_name = [IN_NAME + term for term in dict.fromkeys(tool.name_terms)]
        rows.append(
            Row(
                name,
                digests[name],
                build,
                tool.wire,
                pack_tool(tool),
                memoryview(tool.vector or b"").cast("f").tolist(),
                [ANY, *tool.counts.terms, *in_name],
                list(dict.fromkeys(chain.from_iterable(tool.spellings))),
                labels(decode_tool(tool.wire), traits),
            )
        )
    return rows


async def make(service: Service) -> None:
    """Make the tables of external catalogs, unless they are there.

    Raises:
        Refused: they cannot be made.
    """
    try:
        await _candidates(service).make()
    except StoreUnavailable as error:
        raise Refused("store_unavailable", f"{error}; has it the extension vector?") from None


async def change(
    service: Service,
    trace: Trace,
    name: str,
    sent: CatalogPatch,
    *,
    anew: bool = False,
) -> int:
    """Change tools of an external catalog; returns how many it has then.

    Args:
        service: whose store it is in.
        trace: of the request.
        name: of the catalog.
        sent: the change.
        anew: whether all tools that are there are removed first.

    Raises:
        Refused, InvalidRequest: the request is at fault.
    """
    upsert = [] if is_absent(sent.upsert) else await _rows_of(service, trace, bytes(sent.upsert))
    if sent.status:
        upsert += await _with_status(service, trace, name, sent.status)
    removed = sent.remove or ()
    return await _candidates(service).write(trace.tenant, name, upsert, removed, anew=anew)


async def drop(service: Service, trace: Trace, name: str) -> None:
    """Remove all tools of an external catalog."""
    await _candidates(service).drop(trace.tenant, name)


async def _with_status(
    service: Service, trace: Trace, name: str, wanted: Mapping[str, Status]
) -> list[Row]:
    rows = await _candidates(service).read(trace.tenant, name, list(wanted))
    if len(rows) < len(wanted):
        what = FieldError("status", "the catalog has no tool of one of these names")
        raise Refused("not_found", "status: the catalog has no tool of that name", (what,))
    tools = [
        replace(decode_tool(row.wire), status=None if status == "available" else status)
        for row in rows
        if (status := wanted[row.name])
    ]
    return await _rows_of(service, trace, _encode(tools))


def _candidates(service: Service) -> Candidates:
    if service.candidates is None:
        raise invalid("keep", "postgres needs store = postgres://… with the extension vector")
    return service.candidates
