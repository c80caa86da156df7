"""The prompts of the MCP facade."""

import msgspec
from mcp.server.context import ServerRequestContext
from mcp_types import (
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    PaginatedRequestParams,
    PromptMessage,
    TextContent,
)

from toolscout.contract.fields import Detail
from toolscout.server.compiling.work_threads import TENANT, run_in_thread
from toolscout.server.mcp.calls import search
from toolscout.server.mcp.errors import or_error
from toolscout.server.mcp.paging import check_only_page
from toolscout.server.mcp.reading import catalog_names, named_catalog, show
from toolscout.server.mcp.texts import INSTRUCTIONS, PROMPTS, status_line
from toolscout.server.service import Service
from toolscout.state.registry import Record
from toolscout.tools.advice import CANDIDATES, MAX_WHOLE_BYTES, Ways, best_tool, no_tool

WAYS = Ways(schema="tool_info with detail full", call="Call it where it lives.")

MAX_CATALOGS = 20
"""Catalogs of which `backend_status` reads the tools."""


class _Status(msgspec.Struct):
    name: str
    status: str = "available"


_decode_statuses = msgspec.json.Decoder(list[_Status]).decode


class Prompts:
    """The prompts of one service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def list_prompts(
        self, _: ServerRequestContext, params: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        """List the prompts."""
        check_only_page(params)
        return ListPromptsResult(prompts=PROMPTS)

    async def get(self, _: ServerRequestContext, params: GetPromptRequestParams) -> GetPromptResult:
        """Return the messages of a prompt.

        Raises:
            MCPError: there is no such prompt, or its arguments are wrong.
        """
        text = await or_error(self._text(params.name, params.arguments or {}))
        message = PromptMessage(role="user", content=TextContent(text=text))
        return GetPromptResult(messages=[message])

    async def _text(self, name: str, arguments: dict[str, str]) -> str:
        if name == "discover":
            return INSTRUCTIONS
        if name == "find_tool":
            return await self._find_tool(arguments.get("task", ""), arguments.get("catalog"))
        if name == "backend_status":
            return "\n".join(await self._status(arguments.get("catalog")))
        raise ValueError("there is no prompt of that name")

    async def _find_tool(self, task: str, name: str | None) -> str:
        if not task.strip():
            raise ValueError("find_tool needs a task")
        catalog = await named_catalog(self._service, name or None)
        decision = await search(self._service, catalog, task, CANDIDATES)
        if not decision.rows or decision.outcome == "no_match":
            return no_tool(task, len(catalog))
        best, *others = decision.rows
        detail: Detail = "full" if catalog.tool_bytes(best) <= MAX_WHOLE_BYTES else "brief"
        (shown,) = await show(catalog, [best], detail)
        is_clear = decision.outcome == "match"
        names = [catalog.names[row] for row in others]
        return best_tool(task, shown, names, WAYS, is_clear=is_clear)

    async def _status(self, name: str | None) -> list[str]:
        """Return a line for each catalog, without compiling any.

        Raises:
            ValueError: the named catalog does not exist.
        """
        registry, tenant = self._service.registry, TENANT.get()
        names = [name] if name else await catalog_names(self._service)
        lines = []
        for each in names[:MAX_CATALOGS]:
            record = await registry.record(tenant, each)
            if record is not None:
                lines.append(status_line(each, record, await self._unavailable(each, record)))
        if name and not lines:
            raise ValueError("there is no catalog of that name")
        if len(names) > MAX_CATALOGS:
            lines.append(f"and {len(names) - MAX_CATALOGS} more; name one in `catalog`")
        return lines or ["No catalog is registered."]

    async def _unavailable(self, name: str, record: Record) -> list[str]:
        raw = await self._service.registry.tools(TENANT.get(), name, record)
        tools = [] if raw is None else await run_in_thread(_decode_statuses, raw)
        return [tool.name for tool in tools if tool.status == "unavailable"]
