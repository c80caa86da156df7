"""Read a catalog: pages, single tools, batches, completion, index, overview."""

from collections.abc import Callable, Iterable
from typing import Annotated, TypeVar

from litestar import Response, get, post
from litestar.params import JSONBody, PathParameter, QueryParameter

from toolscout.contract import catalogs
from toolscout.contract.bounds import MAX_NAME_CHARS, MAX_PAGE_SIZE, PAGE_SIZE
from toolscout.contract.fields import Detail
from toolscout.contract.tools import ToolDetail
from toolscout.index import pages
from toolscout.index.catalog import Catalog
from toolscout.index.details import describe_tools
from toolscout.ranking.resolve import Resolver
from toolscout.server.calls import lookup
from toolscout.server.calls.feedback import add_use
from toolscout.server.calls.typed import (
    CatalogId,
    IfNoneMatch,
    TypedRequest,
    answer_not_modified,
    tag_content,
)
from toolscout.server.compiling.work_threads import Deadline, run_inline_or_in_thread
from toolscout.server.http.problems import Refused, refuse_field

T = TypeVar("T")

READ_AT_ONCE = 200
"""Tools that are shown on the event loop; more are shown in a thread."""


@get("/tools", call="tools")
async def list_tools(
    request: TypedRequest,
    id: CatalogId,
    cursor: Annotated[
        str | None,
        QueryParameter(
            description="`next_cursor` of the page before", schema_extra={"minLength": 1}
        ),
    ] = None,
    page_size: Annotated[
        int, QueryParameter(ge=1, le=MAX_PAGE_SIZE, description="Tools per page")
    ] = PAGE_SIZE,
    detail: Annotated[Detail, QueryParameter(description="How much of each")] = "brief",
    if_none_match: IfNoneMatch = None,
) -> Response[catalogs.ToolPage]:
    """List one page of tools.

    `next_cursor` of a page is the `cursor` of the next.
    """

    def page(catalog: Catalog) -> catalogs.ToolPage:
        rows, following = pages.read_page(catalog, cursor, page_size)
        return catalogs.ToolPage(describe_tools(catalog, rows, detail), len(catalog), following)

    return await _read(request, id, if_none_match, page, page_size)


@get("/tools/{tool:path}", call="tool")
async def get_tool(
    request: TypedRequest,
    id: CatalogId,
    tool: Annotated[
        str,
        PathParameter(
            description="A tool's name in any spelling",
            schema_extra={"minLength": 1, "pattern": "^[A-Za-z0-9_.-]+$"},
        ),
    ],
    detail: Annotated[Detail, QueryParameter(description="How much of it")] = "brief",
) -> Response[ToolDetail]:
    """Return one tool.

    By its name in any spelling; 404 has the nearest names.
    """
    if len(tool) > MAX_NAME_CHARS:
        raise refuse_field("tool", f"at most {MAX_NAME_CHARS} characters, got {len(tool)}")
    catalog = await lookup.find(request.service, request.trace, id, names=[tool])
    resolve = Resolver(catalog).resolve
    match = await run_inline_or_in_thread(len(catalog), READ_AT_ONCE, resolve, tool)
    if match.name is None:
        near = match.ambiguous or match.suggestions or []
        what = "several tools answer to that name" if match.ambiguous else "no tool has that name"
        raise Refused("not_found", what, suggestions=near)
    (shown,) = describe_tools(catalog, [catalog.rows[match.name]], detail)
    with_stats = add_use(request.service, request.trace.tenant, catalog, shown)
    answer = tag_content(with_stats, catalog.digest, overlay=catalog.adjusted.overlay)
    if with_stats is not shown:  # statistics of its calls change with use
        del answer.headers["etag"]
    return answer


@post("/tools:batch", call="schemas", status_code=200)
async def tool_schemas(
    request: TypedRequest, id: CatalogId, data: JSONBody[catalogs.SchemasRequest]
) -> Response[catalogs.SchemasAnswer]:
    """Return several tools whole.

    With their definitions; unknown names come with the nearest known ones.
    """
    catalog = await lookup.find(request.service, request.trace, id, names=data.names)
    size = len(data.names) * len(catalog)
    schemas = await run_inline_or_in_thread(size, READ_AT_ONCE, find_schemas, catalog, data.names)
    return tag_content(schemas, catalog.digest, overlay=catalog.adjusted.overlay)


@get("/tools:complete", call="completions")
async def complete_names(
    request: TypedRequest,
    id: CatalogId,
    prefix: Annotated[str, QueryParameter(description="The beginning, any spelling")] = "",
    if_none_match: IfNoneMatch = None,
) -> Response[catalogs.CompletionAnswer]:
    """Return the names that begin so.

    For completion in an editor or a prompt.
    """

    def names(catalog: Catalog) -> catalogs.CompletionAnswer:
        return catalogs.CompletionAnswer(pages.complete(catalog, prefix))

    return await _read(request, id, if_none_match, names)


@get("/index", call="index")
async def tool_index(
    request: TypedRequest, id: CatalogId, if_none_match: IfNoneMatch = None
) -> Response[catalogs.IndexAnswer]:
    """Return every tool in a line.

    Name and first sentence of every tool, for a prompt.
    """

    def entries(catalog: Catalog) -> catalogs.IndexAnswer:
        lines = [catalogs.IndexEntry(*line) for line in pages.index(catalog)]
        return catalogs.IndexAnswer(catalog.digest, lines)

    return await _read(request, id, if_none_match, entries)


@get("/overview", call="overview")
async def overview(
    request: TypedRequest, id: CatalogId, if_none_match: IfNoneMatch = None
) -> Response[catalogs.OverviewAnswer]:
    """Return a catalog in 500 tokens.

    How many tools, their namespaces and domains, and examples of each.
    """

    def text(catalog: Catalog) -> catalogs.OverviewAnswer:
        domains = pages.count_shown_domains(catalog)
        shown = pages.describe(catalog)
        return catalogs.OverviewAnswer(catalog.digest, len(catalog), domains, shown)

    return await _read(request, id, if_none_match, text)


def find_schemas(catalog: Catalog, names: Iterable[str]) -> catalogs.SchemasAnswer:
    """Show the tools of some names whole, and suggestions for unknown names."""
    resolver = Resolver(catalog, Deadline())
    answers = [resolver.resolve(name) for name in dict.fromkeys(names)]
    rows = dict.fromkeys(catalog.rows[one.name] for one in answers if one.name is not None)
    missing = (one for one in answers if one.name is None)
    errors = [catalogs.SchemaError(one.query, one.ambiguous, one.suggestions) for one in missing]
    return catalogs.SchemasAnswer(describe_tools(catalog, rows, "full"), errors, len(rows))


async def _read(
    request: TypedRequest,
    name: str,
    etag: str | None,
    show: Callable[[Catalog], T],
    cost: int | None = None,
) -> Response[T]:
    """Show the catalog of a path, unless the caller has this version of it.

    Args:
        request: the call.
        name: of the catalog, or its digest.
        etag: the value of `If-None-Match`.
        show: makes the answer.
        cost: the number of tools that `show` looks at, if these are not all.
    """
    catalog = await lookup.find(request.service, request.trace, name)
    overlay = catalog.adjusted.overlay
    if same := answer_not_modified(etag, catalog.digest, overlay):
        return same
    cost = len(catalog) if cost is None else min(cost, len(catalog))
    shown = await run_inline_or_in_thread(cost, READ_AT_ONCE, show, catalog)
    return tag_content(shown, catalog.digest, overlay=overlay)


HANDLERS = (list_tools, tool_schemas, complete_names, get_tool, tool_index, overview)
