"""Connect to a server as a client of the SDK."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import mcp_types
from mcp import ClientSession, MCPError
from mcp.client.session import LoggingFnT
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

from toolscout import __version__
from toolscout.gateway.mcp.served_skills import GetSkillResult, ListSkillsResult, SkillParams
from toolscout.gateway.mcp.servers import Server
from toolscout.gateway.mcp.transports import Streams, open_streams
from toolscout.index.tool_list import MAX_TOOLS

Changed = Callable[[], Awaitable[None]]

CHANGED = "/list_changed"
"""The end of the methods that say that tools, resources or prompts are others."""


class _Dispatcher(JSONRPCDispatcher[Any]):
    """Sends requests as the SDK does, and looks at lists of tools before the SDK reads them."""

    readable: Callable[[list[Any]], list[Any]] | None = None
    """Returns the entries of a page that can be read; None where the SDK is to judge the page."""
    ttl_ms: Any = None
    """How long the latest page holds, in its server's words; the SDK drops it in older versions."""

    async def send_raw_request(self, method: str, *request: Any, **more: Any) -> dict[str, Any]:
        answer = await super().send_raw_request(method, *request, **more)
        if method == "tools/list":
            self.ttl_ms = answer.get("ttlMs")
            tools = answer.get("tools")
            if isinstance(tools, list):
                del tools[MAX_TOOLS + 1 :]
                tools[:] = tools if self.readable is None else self.readable(tools)
        return answer


class Client(ClientSession):
    """A session with a server, whose results are passed on as they are.

    Nothing of a host's request is forwarded, and the server is offered no sampling, elicitation or
    roots, for one session serves many hosts.
    """

    def __init__(self, streams: Streams, list_changed: Changed, log: LoggingFnT) -> None:
        async def note(message: object) -> None:
            if str(getattr(message, "method", "")).endswith(CHANGED):
                await list_changed()

        self.lists = _Dispatcher(*streams)
        super().__init__(
            dispatcher=self.lists,
            client_info=mcp_types.Implementation(name="toolscout", version=__version__),
            logging_callback=log,
            message_handler=note,
        )

    async def pass_completion(
        self, own: str, params: mcp_types.CompleteRequestParams, **_: bool
    ) -> mcp_types.CompleteResult:
        """Complete an argument of what the server calls so; it is never asked for input there."""
        ref = params.ref
        name = "name" if isinstance(ref, mcp_types.PromptReference) else "uri"
        params = params.model_copy(update={"ref": ref.model_copy(update={name: own})})
        asked = mcp_types.CompleteRequest(params=params)
        return await self.send_request(asked, mcp_types.CompleteResult)

    async def list_skills(self, params: mcp_types.PaginatedRequestParams) -> ListSkillsResult:
        """Return a page of what the server takes for skills."""
        asked = mcp_types.Request(method="skills/list", params=params)
        return await self.send_request(asked, ListSkillsResult)

    async def get_skill(self, own: str, **_: bool) -> GetSkillResult:
        """Return a skill of the server; it is never asked for input there."""
        asked = mcp_types.Request(method="skills/get", params=SkillParams(uri=own))
        return await self.send_request(asked, GetSkillResult)

    async def validate_tool_result(self, name: str, result: mcp_types.CallToolResult) -> None:
        """Leave it to hosts to check a result, for they have the schema."""


@asynccontextmanager
async def connect(
    name: str, server: Server, list_changed: Changed, log: LoggingFnT
) -> AsyncIterator[Client]:
    """Yield a session with a server; afterwards its processes are gone.

    Raises:
        Exception: the server cannot be reached, or speaks no known version.
    """
    async with AsyncExitStack() as stack:
        async with asyncio.timeout(server.start_s):
            streams = await stack.enter_async_context(open_streams(name, server))
            client = await stack.enter_async_context(Client(streams, list_changed, log))
            try:
                await client.initialize()  # this era has notifications on every transport
            except MCPError as refusal:
                try:
                    await client.discover()
                except MCPError:
                    raise refusal from None
        yield client
