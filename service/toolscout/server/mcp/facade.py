"""The Model Context Protocol at `/mcp`, with which agents find tools.

It is streamable HTTP without sessions: every call has its key, and any replica answers. The SDK
speaks the revisions 2025-06-18, 2025-11-25 and 2026-07-28. The facade shows registered catalogs and
those known by digest, and never runs a tool.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar, cast

import mcp_types as types
import msgspec
from litestar.types import Receive, Scope, Send
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError

from toolscout import __version__
from toolscout.contract.bounds import MAX_MCP_BYTES
from toolscout.index.values import is_deeper
from toolscout.server.calls.decoding import decode
from toolscout.server.context import context_of
from toolscout.server.http.problems import Refused
from toolscout.server.mcp import resources, tools
from toolscout.server.service import Service
from toolscout.serving.bodies import replay

T = TypeVar("T")

MAX_DEPTH = 64
"""Maximum nesting of a message; the SDK fails on hundreds of levels."""

Context = ServerRequestContext[Any, Any]
Page = types.PaginatedRequestParams | None

_FIXED: tuple[CacheableMethod, ...] = (
    "prompts/list",
    "resources/templates/list",
    "server/discover",
    "tools/list",
)
_FIXED_MS = 3_600_000
"""Milliseconds for which clients may keep what only another release changes."""

_INPUT_SCHEMAS = {tool.name: tool.input_schema for tool in tools.DEFINITIONS}


class McpFacade:
    """Answers MCP over HTTP for one service; `running` must be entered first."""

    def __init__(self, service: Service) -> None:
        logger = logging.getLogger("mcp")  # it repeats what callers send
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
        self._service = service
        server = Server(
            "toolscout",
            version=__version__,
            title="Toolscout",
            instructions=tools.INSTRUCTIONS,
            cache_hints=dict.fromkeys(_FIXED, CacheHint(ttl_ms=_FIXED_MS, scope="public")),
            get_tool_input_schema=_INPUT_SCHEMAS.get,
            on_list_tools=_answer_with_page(types.ListToolsResult(tools=tools.DEFINITIONS)),
            on_call_tool=self._call_tool,
            on_list_prompts=_answer_with_page(types.ListPromptsResult(prompts=resources.PROMPTS)),
            on_get_prompt=self._get_prompt,
            on_list_resources=self._list_resources,
            on_list_resource_templates=_answer_with_page(
                types.ListResourceTemplatesResult(resource_templates=resources.TEMPLATES)
            ),
            on_read_resource=self._read_resource,
        )
        # The SDK's spans would name what callers send; the service makes its own.
        server.middleware.clear()
        self._manager = StreamableHTTPSessionManager(
            server,
            json_response=True,
            stateless=True,
            max_request_body_size=MAX_MCP_BYTES,  # the body was read before, with the same limit
        )
        self.running = self._manager.run

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Have the SDK answer one message.

        Raises:
            Refused: the body is not JSON in UTF-8, or nested too deep.
        """
        context = context_of(scope)
        tools.TRACE.set(context.trace)
        body = await context.request.json_body(context.service.settings, MAX_MCP_BYTES)
        if is_deeper(body, MAX_DEPTH):  # the SDK would fail on it, as on what is not JSON
            detail = f"the message is nested more than {MAX_DEPTH} levels deep"
            raise Refused("invalid_json", detail)
        decode(body, msgspec.json.decode)
        given: Any = replay(body, receive)  # type: ignore[arg-type]
        joined: Any = {**scope, "headers": _join_headers(scope["headers"])}
        await self._manager.handle_request(joined, given, cast("Any", send))

    async def _call_tool(
        self, _: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name not in tools.OFFERED:
            raise MCPError(types.INVALID_PARAMS, "there is no tool of that name")
        return await tools.call(self._service, params.name, params.arguments)

    async def _get_prompt(
        self, _: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        with resources.answering():
            text = await resources.write_prompt(self._service, params.name, params.arguments or {})
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(messages=[message])

    async def _list_resources(self, _: Context, params: Page) -> types.ListResourcesResult:
        with resources.answering():
            return await resources.list_resources(self._service, params.cursor if params else None)

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        with resources.answering():
            protocol = context.protocol_version
            text, media = await resources.read_resource(self._service, params.uri, protocol)
        content = types.TextResourceContents(uri=params.uri, mime_type=media, text=text)
        return types.ReadResourceResult(contents=[content])


def _join_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Join the values of repeated headers, as lists may be written; the SDK reads the first."""
    values: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        values.setdefault(name, []).append(value)
    return [(name, b", ".join(written)) for name, written in values.items()]


def _answer_with_page(page: T) -> Callable[[Context, Page], Awaitable[T]]:
    """Return what answers with a list that has one page, and refuses to look for others."""

    async def only_page(_: Context, params: Page) -> T:
        if params and params.cursor is not None:
            raise MCPError(types.INVALID_PARAMS, "cursor: this list has one page")
        return page

    return only_page
