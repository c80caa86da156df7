"""Read a catalog: pages, single tools, batches, completion, index, overview."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from toolscout.contract.bounds import MAX_NAME_CHARS, MAX_PAGE_SIZE, PAGE_SIZE
from toolscout.contract.catalogs import (
    CompletionAnswer,
    IndexAnswer,
    IndexEntry,
    OverviewAnswer,
    SchemaError,
    SchemasAnswer,
    SchemasRequest,
    ToolPage,
)
from toolscout.contract.fields import Detail
from toolscout.contract.tools import ToolDetail
from toolscout.index import pages
from toolscout.index.catalog import Catalog
from toolscout.index.details import details
from toolscout.ranking.resolve import Resolver
from toolscout.server.calls import external, lookup
from toolscout.server.calls.envelope import Decoder, decode_checked
from toolscout.server.calls.feedback import with_use
from toolscout.server.compiling.work_threads import Deadline, run_inline_or_in_thread
from toolscout.server.http.answer import Answer, answer_json, not_modified, tag_headers
from toolscout.server.http.problems import Refused, invalid
from toolscout.server.http.request import Request
from toolscout.server.observe.record import Trace
from toolscout.server.service import Service

READ_AT_ONCE = 200
"""Tools that are shown on the event loop; more are shown in a thread."""

_schemas = Decoder(SchemasRequest)
_DETAILS: tuple[Detail, ...] = ("names", "brief", "full")


async def list_tools(service: Service, request: Request, trace: Trace) -> Answer:
    """Return a page of a catalog, by `cursor`, `page_size` and `detail` in the query string."""
    query = request.arguments()
    size = _whole(query, "page_size", PAGE_SIZE, MAX_PAGE_SIZE)
    detail = _detail(query, "brief", _DETAILS)

    def page(catalog: Catalog) -> ToolPage:
        rows, following = pages.page(catalog, query.get("cursor"), size)
        return ToolPage(details(catalog, rows, detail), len(catalog), following)

    return await _read(service, request, trace, page, size)


async def one_tool(service: Service, request: Request, trace: Trace) -> Answer:
    """Return one tool by its name in any spelling, in brief unless `detail=full`.

    An answer with statistics of its calls has no entity tag, because it changes with use.

    Raises:
        Refused: no tool has that name, or several have.
    """
    detail = _detail(request.arguments(), "brief", _DETAILS[1:])
    if len(request.parameters["tool"]) > MAX_NAME_CHARS:
        raise invalid(
            "tool", f"at most {MAX_NAME_CHARS} characters, got {len(request.parameters['tool'])}"
        )
    tool = request.parameters["tool"]
    catalog = await _with_tools(service, request, trace, [tool])
    resolve = Resolver(catalog).resolve
    found = await run_inline_or_in_thread(len(catalog), READ_AT_ONCE, resolve, tool)
    if found.name is None:
        near = found.ambiguous or found.suggestions or []
        what = "several tools answer to that name" if found.ambiguous else "no tool has that name"
        raise Refused("not_found", what, suggestions=near)
    shown = _shown(catalog, found.name, detail)
    known = with_use(service, trace.tenant, catalog, shown)
    headers = tag_headers(catalog.digest)
    return answer_json(known, headers if known is shown else headers[1:])


async def schemas(service: Service, request: Request, trace: Trace) -> Answer:
    """Return several whole tools, and suggestions for unknown names."""
    names = decode_checked(await request.json_body(service.settings), _schemas).names
    catalog = await _with_tools(service, request, trace, names)
    size = len(names) * len(catalog)
    found = await run_inline_or_in_thread(size, READ_AT_ONCE, found_schemas, catalog, names)
    return answer_json(found, tag_headers(catalog.digest))


async def completions(service: Service, request: Request, trace: Trace) -> Answer:
    """Return names with a prefix, in any spelling."""
    prefix = request.arguments().get("prefix", "")
    return await _read(
        service, request, trace, lambda found: CompletionAnswer(pages.complete(found, prefix))
    )


async def index(service: Service, request: Request, trace: Trace) -> Answer:
    """Return every tool in a line."""

    def entries(catalog: Catalog) -> IndexAnswer:
        return IndexAnswer(catalog.digest, [IndexEntry(*line) for line in pages.index(catalog)])

    return await _read(service, request, trace, entries)


async def overview(service: Service, request: Request, trace: Trace) -> Answer:
    """Return an overview in at most 500 tokens."""

    def text(catalog: Catalog) -> OverviewAnswer:
        domains = pages.domains(catalog)
        return OverviewAnswer(catalog.digest, len(catalog), domains, pages.overview(catalog))

    return await _read(service, request, trace, text)


def found_schemas(catalog: Catalog, names: Iterable[str]) -> SchemasAnswer:
    """Show the tools of some names whole, and suggestions for unknown names."""
    resolver = Resolver(catalog, Deadline())
    found: dict[str, ToolDetail] = {}
    errors: list[SchemaError] = []
    for name in dict.fromkeys(names):
        answer = resolver.resolve(name)
        if answer.name is None:
            errors.append(SchemaError(name, answer.ambiguous, answer.suggestions))
        elif answer.name not in found:
            found[answer.name] = _shown(catalog, answer.name, "full")
    return SchemasAnswer(list(found.values()), errors, len(found))


async def _with_tools(
    service: Service, request: Request, trace: Trace, names: Sequence[str]
) -> Catalog:
    """Return the catalog of a path; of one that is not held here only the tools of these names."""
    name = request.parameters["id"]
    try:
        return await lookup.find(service, trace, name)
    except lookup.IsExternal as found:
        return await external.near(service, trace, name, found.record, names=names)


async def _read(
    service: Service,
    request: Request,
    trace: Trace,
    show: Callable[[Catalog], msgspec.Struct],
    cost: int | None = None,
) -> Answer:
    """Show the catalog of a path, unless the caller has this version of it.

    `cost` is the number of tools that `show` looks at, if these are not all.
    """
    catalog = await lookup.find(service, trace, request.parameters["id"])
    if same := not_modified(request, catalog.digest):
        return same
    cost = len(catalog) if cost is None else min(cost, len(catalog))
    shown = await run_inline_or_in_thread(cost, READ_AT_ONCE, show, catalog)
    return answer_json(shown, tag_headers(catalog.digest))


def _shown(catalog: Catalog, name: str, detail: Detail) -> ToolDetail:
    return details(catalog, [catalog.rows[name]], detail)[0]


def _whole(query: dict[str, str], name: str, default: int, most: int) -> int:
    given = query.get(name)
    if given is None:
        return default
    if not (given.isascii() and given.isdigit() and len(given) < 10 and 1 <= int(given) <= most):
        raise invalid(name, f"expected a whole number from 1 to {most}")
    return int(given)


def _detail(query: dict[str, str], default: Detail, allowed: tuple[Detail, ...]) -> Detail:
    given = query.get("detail", default)
    for detail in allowed:
        if given == detail:
            return detail
    raise invalid("detail", f"expected one of {', '.join(allowed)}")
