"""The rows of the paths below `/v1/catalogs`."""

from functools import partial
from typing import Any

from toolscout.contract.bounds import MAX_PAGE_SIZE, PAGE_SIZE
from toolscout.contract.catalogs import (
    CatalogInfo,
    CatalogPatch,
    CatalogPut,
    CompletionAnswer,
    IndexAnswer,
    OverviewAnswer,
    SchemasAnswer,
    SchemasRequest,
    ToolPage,
)
from toolscout.contract.tools import ToolDetail
from toolscout.server.calls import catalog_reads
from toolscout.server.calls.catalogs import delete_catalog, get_catalog, patch_catalog, put_catalog
from toolscout.server.routes.route import Parameter, Route

_ONE = "/v1/catalogs/{id}"
_TOOL = {"name": "search_code", "description": "Search the code of a repository"}


def _levels(*names: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(names), "default": "brief"}


_SIZE = {
    "type": "integer",
    "minimum": 1,
    "maximum": MAX_PAGE_SIZE,
    "default": PAGE_SIZE,
}

_route = partial(Route, tag="catalogs")
_catalog = partial(_route, path=_ONE, call="catalog")
_read = partial(_route, method="GET", is_conditional=True)

CATALOG_ROUTES = (
    _catalog(
        method="GET",
        handler=get_catalog,
        operation="getCatalog",
        summary="Describe a catalog",
        description="A registered one with its version and expiry, a digest with its size.",
        gives=(CatalogInfo,),
        is_conditional=True,
    ),
    _catalog(
        method="PUT",
        scope="write",
        handler=put_catalog,
        operation="putCatalog",
        summary="Register a tool list",
        description="Keeps the list under this name, for `ttl_s` seconds. `If-Match` and "
        "`If-None-Match` are honoured (412).",
        takes=(CatalogPut,),
        example={"tools": [_TOOL], "ttl_s": 86_400},
        gives=(CatalogInfo,),
        statuses=(200, 201),
    ),
    _catalog(
        method="PATCH",
        scope="write",
        handler=patch_catalog,
        operation="patchCatalog",
        summary="Change a registered catalog",
        description="Adds, replaces and removes tools, sets their status and the lifetime: all or "
        "nothing. `If-Match` is honoured (412).",
        takes=(CatalogPatch,),
        example={"status": {"search_code": "unavailable"}},
        gives=(CatalogInfo,),
    ),
    _catalog(
        method="DELETE",
        scope="write",
        handler=delete_catalog,
        operation="deleteCatalog",
        summary="Delete a registered catalog",
        description="Its name is free at once. `If-Match` is honoured (412).",
        statuses=(204,),
    ),
    _read(
        path=_ONE + "/tools",
        handler=catalog_reads.list_tools,
        call="tools",
        operation="listTools",
        summary="One page of tools",
        description="`next_cursor` of a page is the `cursor` of the next.",
        gives=(ToolPage,),
        parameters=(
            Parameter("cursor", {"type": "string"}, "`next_cursor` of the page before"),
            Parameter("page_size", _SIZE, "Tools per page"),
            Parameter("detail", _levels("names", "brief", "full"), "How much of each"),
        ),
    ),
    _route(
        method="POST",
        path=_ONE + "/tools:batch",
        handler=catalog_reads.schemas,
        call="schemas",
        operation="toolSchemas",
        summary="Several tools whole",
        description="With their definitions; unknown names come with the nearest known ones.",
        takes=(SchemasRequest,),
        example={"names": ["search_code"]},
        gives=(SchemasAnswer,),
    ),
    _read(
        path=_ONE + "/tools:complete",
        handler=catalog_reads.completions,
        call="completions",
        operation="completeNames",
        summary="Names that begin so",
        description="For completion in an editor or a prompt.",
        gives=(CompletionAnswer,),
        parameters=(Parameter("prefix", {"type": "string"}, "The beginning, any spelling"),),
    ),
    _route(
        method="GET",
        path=_ONE + "/tools/{tool}",
        handler=catalog_reads.one_tool,
        call="tool",
        operation="getTool",
        summary="One tool",
        description="By its name in any spelling; 404 has the nearest names.",
        gives=(ToolDetail,),
        parameters=(Parameter("detail", _levels("brief", "full"), "How much of it"),),
    ),
    _read(
        path=_ONE + "/index",
        handler=catalog_reads.index,
        call="index",
        operation="toolIndex",
        summary="Every tool in a line",
        description="Name and first sentence of every tool, for a prompt.",
        gives=(IndexAnswer,),
    ),
    _read(
        path=_ONE + "/overview",
        handler=catalog_reads.overview,
        call="overview",
        summary="A catalog in 500 tokens",
        description="How many tools, their namespaces and domains, and examples of each.",
        gives=(OverviewAnswer,),
    ),
)
