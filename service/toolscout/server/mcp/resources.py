"""The resources of the MCP facade, and completions of the names in them and in prompts."""

from urllib.parse import unquote

import mcp_types as types
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolscout.contract.bounds import MAX_NAME_CHARS
from toolscout.errors import CatalogUnknown
from toolscout.index import pages
from toolscout.metatools.answers import page_of, resolved
from toolscout.metatools.arguments import CallError
from toolscout.server.calls.catalog_reads import AT_ONCE
from toolscout.server.compiling.work_threads import run_in_thread, run_inline_or_in_thread
from toolscout.server.mcp.prompts import PROMPTS, check_only_page, or_error
from toolscout.server.mcp.tools import CatalogTools, catalog_names, lines_of, named_catalog
from toolscout.server.service import Service

SCHEME = "toolscout://"
KINDS = ("overview", "index")
PAGE_CATALOGS = 100
"""Catalogs in one page of the list."""

MAX_VALUES = 100
"""Completions in one answer: the specification's limit."""

RESOURCE_NOT_FOUND = -32002
"""The code of revisions before 2026-07-28, which uses `INVALID_PARAMS`."""

TEMPLATES = [
    types.ResourceTemplate(
        name=name, title=title, uri_template=SCHEME + path, description=text, mime_type=media
    )
    for name, title, path, text, media in (
        ("overview", "Overview of a catalog", "{catalog}/overview", "In 500 tokens", "text/plain"),
        ("index", "Index of a catalog", "{catalog}/index", "Every tool in a line", "text/plain"),
        ("tool", "A tool", "{catalog}/tool/{name}", "One tool whole", "application/json"),
    )
]

_COMPLETED = {
    **{prompt.name: {one.name for one in prompt.arguments or ()} for prompt in PROMPTS},
    **{one.uri_template: {"catalog"} for one in TEMPLATES},
    TEMPLATES[-1].uri_template: {"catalog", "name"},
}
"""The arguments of prompts, and the variables of templates."""


class _NoResourceError(Exception):
    """There is no resource at an address."""


class Resources:
    """The resources of one service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def list_resources(
        self, _: ServerRequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """List an overview and an index of every registered catalog, in pages."""
        shown, following = await or_error(self._page(params.cursor if params else None))
        resources = [
            types.Resource(
                name=f"{kind} of {name}",
                title=f"{kind.capitalize()} of {name}",
                uri=f"{SCHEME}{name}/{kind}",
                mime_type="text/plain",
            )
            for name in shown
            for kind in KINDS
        ]
        return types.ListResourcesResult(resources=resources, next_cursor=following)

    async def list_templates(
        self, _: ServerRequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """List the templates of all resources."""
        check_only_page(params)
        return types.ListResourceTemplatesResult(resource_templates=TEMPLATES)

    async def read(
        self, context: ServerRequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return the text of a resource.

        Raises:
            MCPError: there is no such resource.
        """
        try:
            text, media = await or_error(self._content(params.uri))
        except _NoResourceError as error:
            is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
            code = types.INVALID_PARAMS if is_modern else RESOURCE_NOT_FOUND
            raise MCPError(code, str(error), {"uri": params.uri}) from None
        content = types.TextResourceContents(uri=params.uri, mime_type=media, text=text)
        return types.ReadResourceResult(contents=[content])

    async def complete(
        self, _: ServerRequestContext, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        """Complete the argument of a prompt, or the variable of a resource template.

        Raises:
            MCPError: there is no such prompt, template, argument or variable.
        """
        ref, argument = params.ref, params.argument
        place = ref.name if isinstance(ref, types.PromptReference) else ref.uri
        if argument.name not in _COMPLETED.get(place, ()):
            raise MCPError(types.INVALID_PARAMS, "there is nothing of that name to complete")
        chosen = (params.context and params.context.arguments) or {}
        values = await or_error(self._values(argument.name, argument.value, chosen.get("catalog")))
        shown = types.Completion(values=values[:MAX_VALUES], has_more=len(values) > MAX_VALUES)
        return types.CompleteResult(completion=shown)

    async def _page(self, cursor: str | None) -> tuple[list[str], str | None]:
        shown, following = page_of(await catalog_names(self._service), cursor, PAGE_CATALOGS)
        return list(shown), following

    async def _content(self, uri: str) -> tuple[str, str]:
        """Return the text of a resource and its media type.

        Raises:
            _NoResourceError: there is no such resource.
        """
        name, _, rest = uri.removeprefix(SCHEME).partition("/")
        kind, _, quoted = rest.partition("/")
        is_known = kind in (*KINDS, "tool") and bool(quoted) == (kind == "tool")
        if not uri.startswith(SCHEME) or not is_known:
            raise _NoResourceError("there is no such resource")
        try:
            catalog = await named_catalog(self._service, name)
            tools = CatalogTools(self._service, catalog)
            tool = await resolved(tools, unquote(quoted)) if quoted else ""
        except (CatalogUnknown, CallError) as error:
            raise _NoResourceError(str(error)) from None
        if kind == "overview":
            return pages.overview(catalog), "text/plain"
        if kind == "index":
            return "\n".join(await run_in_thread(lines_of, catalog)), "text/plain"
        (shown,) = await tools.show([tool], "full")
        return msgspec.json.encode(shown).decode(), "application/json"

    async def _values(self, argument: str, prefix: str, catalog_name: str | None) -> list[str]:
        """Return what an argument may be: catalogs, or tools of the chosen one."""
        if len(prefix) > MAX_NAME_CHARS:
            raise CallError(f"expected at most {MAX_NAME_CHARS} characters, got {len(prefix)}")
        if argument == "catalog":
            names = await catalog_names(self._service)
            return [name for name in names if name.casefold().startswith(prefix.casefold())]
        if argument != "name":  # a task is anything
            return []
        try:
            catalog = await named_catalog(self._service, catalog_name)
        except (CatalogUnknown, CallError):
            return []
        if not prefix.strip():
            return list(catalog.names[: MAX_VALUES + 1])
        return await run_inline_or_in_thread(
            len(catalog), AT_ONCE, pages.complete, catalog, prefix, MAX_VALUES + 1
        )
