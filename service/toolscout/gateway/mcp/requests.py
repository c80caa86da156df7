"""Answer the requests of hosts: the gateway's own tools, pinned ones, and no stack trace ever."""

import logging
from collections.abc import Awaitable
from typing import Any, TypeAlias, get_args

import mcp_types
import msgspec
from fastmcp.exceptions import NotFoundError
from fastmcp.server.context import Context as RequestContext
from fastmcp.server.context import _get_client_log_level
from fastmcp.server.middleware import Middleware, MiddlewareContext
from fastmcp.tools.base import ToolResult
from mcp import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolscout.common.lru import Lru
from toolscout.gateway.mcp import texts
from toolscout.gateway.mcp.connection import Progress
from toolscout.gateway.mcp.definitions import own_tools, pinned_tools
from toolscout.gateway.mcp.failures import CallFailed
from toolscout.gateway.mcp.servers import SEPARATOR
from toolscout.gateway.mcp.tools import CALLS, META_TOOLS, CallTool, ServerTools
from toolscout.gateway.mcp.view import Session, View
from toolscout.metatools.arguments import CallError, read_arguments
from toolscout.metatools.table import FIND

MAX_SESSIONS = 1_000
"""Sessions that are remembered; calls of a forgotten one teach nothing, and it is told nothing."""

LEVELS: tuple[str, ...] = get_args(mcp_types.LoggingLevel)
"""From `debug` to `emergency`."""

Context: TypeAlias = MiddlewareContext[Any]

logger = logging.getLogger("toolscout.mcp")


class Requests(Middleware):
    """Answers `tools/list` and `tools/call` in place of the library."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._sessions: Lru[str, Session] = Lru(MAX_SESSIONS)
        self._stdio: Session | None = None
        """The session of the only host, over stdio."""
        view.listeners.append(self._notify)
        view.log_listeners.append(self._log)

    async def on_list_tools(self, context: Context, call_next: Any) -> Any:
        """List the gateway's own tools and the pinned ones."""
        if self._view.config.options.pinned:
            await self._view.ready.wait()
        self._session(context.fastmcp_context)  # to tell it of changes
        for one in self._view.pinned:
            self._view.gate.note_read(one.shown)  # hosts have its schema
        return [*own_tools(self._view.config), *pinned_tools(self._view)]

    async def on_list_resources(self, context: Context, call_next: Any) -> Any:
        """List the gateway's own resources and those of all servers."""
        return [*texts.OWN_RESOURCES, *await self._texts(context, texts.RESOURCES)]

    async def on_list_resource_templates(self, context: Context, call_next: Any) -> Any:
        """List the templates of resources of all servers."""
        return await self._texts(context, texts.TEMPLATES)

    async def on_list_prompts(self, context: Context, call_next: Any) -> Any:
        """List the gateway's own prompts and those of all servers."""
        own = await call_next(context)
        return [*own, *await self._texts(context, texts.PROMPTS)]

    async def on_read_resource(self, context: Context, call_next: Any) -> Any:
        """Read a resource of the gateway or of a server."""
        session = self._session(context.fastmcp_context)
        return await self._asked(self._view.read(session, context.message.uri), "resource")

    async def on_get_prompt(self, context: Context, call_next: Any) -> Any:
        """Get a prompt of the gateway or of a server."""
        name = context.message.name
        if SEPARATOR not in name:
            return await call_next(context)
        asked = texts.get_prompt(self._view.connections, name, context.message.arguments)
        return await self._asked(asked, "prompt")

    async def _texts(self, context: Context, kind: texts.Kind) -> list[Any]:
        await self._view.ready.wait()
        self._session(context.fastmcp_context)  # to tell it of changes
        return texts.entries(self._view.connections, kind)

    @staticmethod
    async def _asked(request: Awaitable[Any], what: str) -> Any:
        try:
            answer = await request
        except CallFailed as error:
            raise MCPError(mcp_types.INTERNAL_ERROR, str(error)) from None
        except MCPError:
            raise  # as the server said it
        except Exception as error:
            logger.error("a request failed: %s", type(error).__name__)
            message = "the gateway could not make this request"
            raise MCPError(mcp_types.INTERNAL_ERROR, message) from None
        if answer is None:
            raise NotFoundError(f"there is no such {what}")
        return answer

    async def on_call_tool(self, context: Context, call_next: Any) -> Any:
        """Call one of the gateway's own tools, or a server's by its whole name.

        The result of a server is returned as the protocol has it, which the library sends on
        without looking into it.
        """
        name, arguments = context.message.name, context.message.arguments or {}
        try:
            session = self._session(context.fastmcp_context)
            tools = ServerTools(self._view, session)
            if name in META_TOOLS:
                if name != FIND.name:  # which waits for the servers that can matter
                    await self._view.ready.wait()
                answer = await META_TOOLS[name].call(tools, arguments)
                return _text(msgspec.json.encode(answer).decode())
            token, caller = None, None
            if name in CALLS:
                call, caller = read_arguments(CallTool, arguments), name
                name, arguments, token = call.name, call.inner(), call.token
            name = await tools.called(name)
            tools.check(name, token, caller)
            await self._view.tools[name].connection.wake()
            if name not in self._view.tools:  # as its server lists them now
                name = await tools.called(name)
            tools.check(name, token, caller)
            tools.check_arguments(name, arguments)
            progress = _progress(context.fastmcp_context)
            return await self._view.call(session, name, arguments, progress)
        except (CallFailed, CallError) as error:
            return _text(str(error), is_error=True)
        except MCPError:
            raise  # as the server said it
        except Exception as error:
            logger.error("a call failed: %s", type(error).__name__)
            return _text("the gateway could not make this call", is_error=True)

    def _session(self, context: RequestContext) -> Session:
        """Return the state of the session that a request belongs to.

        From 2026-07-28 on the protocol has no sessions. Over stdio there is one host all the same;
        over HTTP nothing tells such hosts apart, so they share the searches that calls belong to.
        """
        is_modern = context.request_context.protocol_version in MODERN_PROTOCOL_VERSIONS
        is_stdio = context.transport == "stdio"
        key = "" if is_modern or is_stdio else context.session_id
        session = self._sessions.get(key)
        if session is None:
            session = Session(is_remembered=is_stdio or not is_modern)
            self._sessions.put(key, session)
        session.peer = context.session
        if is_stdio:
            self._stdio = session
        return session

    async def _notify(self, tools_changed: bool, texts_changed: bool) -> None:
        """Tell all hosts that tools, or resources and prompts, have changed."""
        for session in self._sessions.values():
            if tools_changed:
                await _told(session.peer.send_tool_list_changed())
            if texts_changed:
                await _told(session.peer.send_resource_list_changed())
                await _told(session.peer.send_prompt_list_changed())

    async def _log(self, message: mcp_types.LoggingMessageNotificationParams) -> None:
        """Pass on what a server logs, where there is one host: a message names no call."""
        if self._stdio is None:
            return
        peer = self._stdio.peer
        least = _get_client_log_level(peer) or "debug"
        if LEVELS.index(message.level) >= LEVELS.index(least):
            await _told(peer.send_log_message(message.level, message.data, message.logger))


async def _told(notification: Awaitable[None]) -> None:
    try:
        await notification
    except Exception as error:
        logger.debug("a host could not be told: %s", type(error).__name__)


def _progress(context: RequestContext) -> Progress:
    """Return what tells the host of a request of its progress.

    It is called by the task that reads from the server, where the context has no request.
    """
    request, peer, name = context.request_context, context.session, context.request_id
    token = (request.meta or {}).get("progressToken")

    async def progress(done: float, total: float | None, message: str | None) -> None:
        if token is not None:
            await peer.send_progress_notification(
                token, done, total, message, related_request_id=name
            )

    return progress


def _text(text: str, is_error: bool = False) -> ToolResult:
    return ToolResult(content=[mcp_types.TextContent(type="text", text=text)], is_error=is_error)
