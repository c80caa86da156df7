"""The tools that the MCP facade offers: search a catalog and look into it."""

from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any

import msgspec
from mcp_types import CallToolResult, TextContent

from toolscout.contract.catalogs import ToolPage
from toolscout.index import pages
from toolscout.index.catalog import Catalog
from toolscout.ranking.ask import Decision
from toolscout.server.calls import catalog_reads
from toolscout.server.calls.catalog_reads import AT_ONCE
from toolscout.server.calls.decide import deadline_of, decide
from toolscout.server.calls.envelope import ask_with
from toolscout.server.calls.feedback import with_use
from toolscout.server.compiling.work_threads import TENANT, beside
from toolscout.server.mcp.answers import RequiredKeys, ToolsFound
from toolscout.server.mcp.arguments import (
    Arguments,
    GetRequiredKeys,
    GetToolSchemas,
    ListToolsMeta,
    SearchTools,
    ToolInfo,
    read_arguments,
)
from toolscout.server.mcp.reading import (
    TRACE,
    check_name,
    check_size,
    lines_of,
    named_catalog,
    readable,
    row_of,
    show,
)
from toolscout.server.service import Service

Found = tuple[msgspec.Struct, str | None]
"""The result of a call, and the text for the model if that is different."""


class ToolCalls:
    """The calls of the facade's tools, by name."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._calls: dict[str, tuple[type[Arguments], Callable[[Any], Awaitable[Found]]]] = {
            "search_tools": (SearchTools, self._search),
            "list_tools_meta": (ListToolsMeta, self._list),
            "tool_info": (ToolInfo, self._info),
            "get_tool_schemas": (GetToolSchemas, self._schemas),
            "get_required_keys_for_tool": (GetRequiredKeys, self._required_keys),
        }

    def __contains__(self, name: str) -> bool:
        """Whether there is a tool of that name."""
        return name in self._calls

    async def call(self, name: str, given: dict[str, Any] | None) -> CallToolResult:
        """Call a tool; what is wrong is said in the result, so that a model can correct it."""
        kind, run = self._calls[name]
        try:
            found, text = await readable(run(read_arguments(kind, given)))
        except ValueError as error:
            return CallToolResult(content=[TextContent(text=str(error))], is_error=True)
        structured = msgspec.to_builtins(found)
        # Compact, because an indented text would have a third more tokens.
        text = text or msgspec.json.encode(structured).decode()
        return CallToolResult(content=[TextContent(text=text)], structured_content=structured)

    async def _search(self, arguments: SearchTools) -> Found:
        catalog = await named_catalog(self._service, arguments.catalog)
        decision = await search(self._service, catalog, arguments.query, arguments.top_k)
        shown = await show(catalog, decision.rows, arguments.detail)
        answer = ToolsFound(shown, decision.outcome, catalog.digest, decision.degraded)
        if arguments.detail != "brief":
            return answer, None
        degraded = [f"degraded: {decision.degraded}"] if decision.degraded else []
        found = lines_of(catalog, decision.rows)
        return answer, "\n".join([f"outcome: {decision.outcome}", *degraded, *found])

    async def _list(self, arguments: ListToolsMeta) -> Found:
        catalog = await named_catalog(self._service, arguments.catalog)
        rows, following = pages.page(catalog, arguments.cursor or None, arguments.page_size)
        shown = await show(catalog, rows, arguments.detail)
        return ToolPage(shown, len(catalog), following), None

    async def _info(self, arguments: ToolInfo) -> Found:
        catalog = await named_catalog(self._service, arguments.catalog)
        row = await row_of(catalog, arguments.name)
        (shown,) = await show(catalog, [row], arguments.detail)
        return with_use(self._service, TENANT.get(), catalog, shown), None

    async def _schemas(self, arguments: GetToolSchemas) -> Found:
        catalog = await named_catalog(self._service, arguments.catalog)
        for name in arguments.names:
            check_name(name)
        size = len(arguments.names) * len(catalog)
        found = await beside(size, AT_ONCE, catalog_reads.found_schemas, catalog, arguments.names)
        check_size(catalog, [catalog.rows[tool.name] for tool in found.schemas])
        return found, None

    async def _required_keys(self, arguments: GetRequiredKeys) -> Found:
        catalog = await named_catalog(self._service, arguments.catalog)
        tool = catalog.tool(await row_of(catalog, arguments.name))
        return RequiredKeys(tool.name, list(tool.required_keys or ())), None


async def search(service: Service, catalog: Catalog, query: str, top_k: int) -> Decision:
    """Search a catalog; metrics and log count it as a search over HTTP.

    Raises:
        ValueError: the query is blank.
    """
    if not query.strip():
        raise ValueError("query is blank")
    trace, settings = TRACE.get(), service.settings
    ask = ask_with(settings, pattern=query, top_k=top_k, ranker=settings.ranker)
    trace.pattern, trace.top_k = ask.pattern, ask.top_k
    trace.cache = "miss" if trace.offered else "hit"  # counted when they were compiled
    trace.offered = trace.offered or trace.unique
    deadline = deadline_of(service, perf_counter())
    return await decide(service, trace, catalog, ask, deadline)
