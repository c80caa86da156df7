"""The prompts of the MCP facade."""

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    PaginatedRequestParams,
    PromptMessage,
    TextContent,
)

from toolscout.server.compiling.work_threads import TENANT
from toolscout.server.mcp.reading import catalog_names, readable
from toolscout.server.mcp.texts import INSTRUCTIONS, PROMPTS, find_tool
from toolscout.server.service import Service


class Prompts:
    """The prompts of one service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def list_prompts(
        self, _: ServerRequestContext, __: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        """List the prompts."""
        return ListPromptsResult(prompts=PROMPTS)

    async def get(self, _: ServerRequestContext, params: GetPromptRequestParams) -> GetPromptResult:
        """Return the messages of a prompt.

        Raises:
            MCPError: there is no such prompt, or its arguments are wrong.
        """
        try:
            text = await self._text(params.name, params.arguments or {})
        except ValueError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None
        message = PromptMessage(role="user", content=TextContent(text=text))
        return GetPromptResult(messages=[message])

    async def _text(self, name: str, arguments: dict[str, str]) -> str:
        if name == "discover":
            return INSTRUCTIONS
        if name == "find_tool":
            if not arguments.get("task", "").strip():
                raise ValueError("find_tool needs a task")
            return find_tool(arguments["task"])
        if name == "backend_status":
            return "\n".join(await self._status()) or "No catalog is registered."
        raise ValueError("there is no prompt of that name")

    async def _status(self) -> list[str]:
        """Return a line for each catalog, from its record, so that nothing is compiled."""
        registry, tenant = self._service.registry, TENANT.get()
        names = await catalog_names(self._service)
        records = [(name, await readable(registry.record(tenant, name))) for name in names]
        return [f"{name}: {record.tools} tools" for name, record in records if record is not None]
