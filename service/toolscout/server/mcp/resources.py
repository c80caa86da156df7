"""The resources of the MCP facade: an overview and an index of every catalog, and every tool."""

from urllib.parse import unquote

import msgspec
from mcp.server.context import ServerRequestContext
from mcp_types import (
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextResourceContents,
)

from toolscout.errors import CatalogUnknown
from toolscout.index import pages
from toolscout.server.compiling.work_threads import run_in_thread
from toolscout.server.mcp.errors import no_resource, or_error
from toolscout.server.mcp.paging import check_only_page, page_of
from toolscout.server.mcp.reading import catalog_names, find_catalog, lines_of, row_of, show
from toolscout.server.mcp.texts import TEMPLATES
from toolscout.server.service import Service

SCHEME = "toolscout://"
KINDS = ("overview", "index")
PAGE_CATALOGS = 100
"""Catalogs in one page of the list."""


class Resources:
    """The resources of one service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def list_resources(
        self, _: ServerRequestContext, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        """List an overview and an index of every registered catalog, in pages."""
        names = await or_error(catalog_names(self._service))
        shown, following = page_of(names, params, PAGE_CATALOGS)
        resources = [
            Resource(
                name=f"{kind} of {name}",
                title=f"{kind.capitalize()} of {name}",
                uri=f"{SCHEME}{name}/{kind}",
                mime_type="text/plain",
            )
            for name in shown
            for kind in KINDS
        ]
        return ListResourcesResult(resources=resources, next_cursor=following)

    async def list_templates(
        self, _: ServerRequestContext, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        """List the templates of all resources."""
        check_only_page(params)
        return ListResourceTemplatesResult(resource_templates=TEMPLATES)

    async def read(
        self, context: ServerRequestContext, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        """Return the text of a resource.

        Raises:
            MCPError: there is no such resource.
        """
        text, media = await or_error(self._content(params.uri, context.protocol_version))
        content = TextResourceContents(uri=params.uri, mime_type=media, text=text)
        return ReadResourceResult(contents=[content])

    async def _content(self, uri: str, revision: str) -> tuple[str, str]:
        name, _, rest = uri.removeprefix(SCHEME).partition("/")
        kind, _, quoted = rest.partition("/")
        tool = unquote(quoted)
        is_known = kind in (*KINDS, "tool") and bool(tool) == (kind == "tool")
        if not uri.startswith(SCHEME) or not is_known:
            raise no_resource(uri, revision)
        try:
            catalog = await find_catalog(self._service, name)
            rows = [await row_of(catalog, tool)] if tool else []
        except (CatalogUnknown, ValueError) as error:
            raise no_resource(uri, revision, str(error)) from None
        if kind == "overview":
            return pages.overview(catalog), "text/plain"
        if kind == "index":
            return "\n".join(await run_in_thread(lines_of, catalog)), "text/plain"
        (shown,) = await show(catalog, rows, "full")
        return msgspec.json.encode(shown).decode(), "application/json"
