"""The resources of the MCP facade: an overview and an index of every catalog, and every tool."""

from urllib.parse import unquote

import msgspec
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextResourceContents,
)

from toolscout.index import pages
from toolscout.server.compiling.work_threads import run_in_thread
from toolscout.server.mcp.reading import (
    catalog_names,
    find_catalog,
    lines_of,
    readable,
    row_of,
    show,
)
from toolscout.server.mcp.texts import TEMPLATES
from toolscout.server.service import Service

SCHEME = "toolscout://"
KINDS = ("overview", "index")


class Resources:
    """The resources of one service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def list_resources(
        self, _: ServerRequestContext, __: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        """List an overview and an index of every registered catalog."""
        return ListResourcesResult(
            resources=[
                Resource(name=f"{kind} of {name}", uri=f"{SCHEME}{name}/{kind}")
                for name in await catalog_names(self._service)
                for kind in KINDS
            ]
        )

    async def list_templates(
        self, _: ServerRequestContext, __: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        """List the templates of all resources."""
        return ListResourceTemplatesResult(resource_templates=TEMPLATES)

    async def read(
        self, _: ServerRequestContext, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        """Return the text of a resource.

        Raises:
            MCPError: there is no such resource.
        """
        try:
            text, media = await readable(self._content(params.uri))
        except ValueError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None
        content = TextResourceContents(uri=params.uri, mime_type=media, text=text)
        return ReadResourceResult(contents=[content])

    async def _content(self, uri: str) -> tuple[str, str]:
        name, _, rest = uri.removeprefix(SCHEME).partition("/")
        kind, _, quoted = rest.partition("/")
        tool = unquote(quoted)
        if kind not in (*KINDS, "tool") or bool(tool) != (kind == "tool"):
            raise ValueError("no such resource")
        catalog = await find_catalog(self._service, name)
        if kind == "overview":
            return pages.overview(catalog), "text/plain"
        if kind == "index":
            return "\n".join(await run_in_thread(lines_of, catalog)), "text/plain"
        (shown,) = await show(catalog, [await row_of(catalog, tool)], "full")
        return msgspec.json.encode(shown).decode(), "application/json"
