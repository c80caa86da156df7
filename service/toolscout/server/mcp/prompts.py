"""The prompts of the MCP facade."""

from collections.abc import Awaitable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TypeVar

import mcp_types as types
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from toolscout.metatools import answers
from toolscout.server.compiling.work_threads import TENANT, run_in_thread
from toolscout.server.http.problems import CODES
from toolscout.server.http.refusals import REFUSALS, refusal
from toolscout.server.mcp.tools import INSTRUCTIONS, CatalogTools, catalog_names, named_catalog
from toolscout.server.service import Service
from toolscout.state.registry import Record

MAX_CATALOGS = 20
"""Catalogs of which `backend_status` reads the tools."""

MAX_UNAVAILABLE = 20
"""Unavailable tools that the status of a catalog names."""

PROMPTS = [
    types.Prompt(
        name="discover",
        title="How to find tools",
        description="How to find and load tools step by step",
        arguments=[],
    ),
    types.Prompt(
        name="find_tool",
        title="Find a tool",
        description="Search a tool for a task, and show how to call the best one",
        arguments=[
            types.PromptArgument(name="task", description="What you want to do", required=True),
            types.PromptArgument(name="catalog", description="Needed where there are several"),
        ],
    ),
    types.Prompt(
        name="backend_status",
        title="Status of the catalogs",
        description="Which catalogs there are, their size, and which tools are unavailable",
        arguments=[types.PromptArgument(name="catalog", description="Only this catalog")],
    ),
]

T = TypeVar("T")


class _Status(msgspec.Struct):
    name: str
    status: str = "available"


_decode_statuses = msgspec.json.Decoder(list[_Status]).decode


async def or_error(answer: Awaitable[T]) -> T:
    """Await an answer to a message.

    Raises:
        MCPError: the caller made a mistake (-32602), or the service cannot answer (-32603).
    """
    try:
        return await answer
    except ValueError as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from None
    except REFUSALS as error:
        refused = refusal(error)
        is_theirs = CODES[refused.code].status < HTTPStatus.INTERNAL_SERVER_ERROR
        raise MCPError(
            types.INVALID_PARAMS if is_theirs else types.INTERNAL_ERROR, refused.detail
        ) from None


def check_only_page(params: types.PaginatedRequestParams | None) -> None:
    """Check that no further page is asked for of a list that has one.

    Raises:
        MCPError: there is a cursor.
    """
    if params and params.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, "cursor: this list has one page")


class Prompts:
    """The prompts of one service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def list_prompts(
        self, _: ServerRequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        """List the prompts."""
        check_only_page(params)
        return types.ListPromptsResult(prompts=PROMPTS)

    async def get(
        self, _: ServerRequestContext, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        """Return the messages of a prompt.

        Raises:
            MCPError: there is no such prompt, or its arguments are wrong.
        """
        text = await or_error(self._text(params.name, params.arguments or {}))
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(messages=[message])

    async def _text(self, name: str, arguments: dict[str, str]) -> str:
        if name == "discover":
            return INSTRUCTIONS
        if name == "find_tool":
            catalog = await named_catalog(self._service, arguments.get("catalog") or None)
            tools = CatalogTools(self._service, catalog)
            return await answers.find_tool(tools, arguments.get("task"), "Call it where it lives.")
        if name == "backend_status":
            return "\n".join(await self._status(arguments.get("catalog")))
        raise ValueError("there is no prompt of that name")

    async def _status(self, name: str | None) -> list[str]:
        """Return a line for each catalog, without compiling any.

        Raises:
            ValueError: the named catalog does not exist.
        """
        names = [name] if name else await catalog_names(self._service)
        lines = []
        for each in names[:MAX_CATALOGS]:
            record = await self._service.registry.record(TENANT.get(), each)
            if record is not None:
                lines.append(await self._line(each, record))
        if name and not lines:
            raise ValueError("there is no catalog of that name")
        if len(names) > MAX_CATALOGS:
            lines.append(f"and {len(names) - MAX_CATALOGS} more; name one in `catalog`")
        return lines or ["No catalog is registered."]

    async def _line(self, name: str, record: Record) -> str:
        raw = await self._service.registry.tools(TENANT.get(), name, record)
        tools = [] if raw is None else await run_in_thread(_decode_statuses, raw)
        unavailable = [tool.name for tool in tools if tool.status == "unavailable"]
        line = f"{name}: {record.tools} tools"
        if unavailable:
            more = ", …" if len(unavailable) > MAX_UNAVAILABLE else ""
            shown = ", ".join(unavailable[:MAX_UNAVAILABLE])
            line += f", {len(unavailable)} unavailable ({shown}{more})"
        if record.expires is not None:
            line += f", expires {datetime.fromtimestamp(record.expires, UTC):%Y-%m-%dT%H:%M:%SZ}"
        return line
