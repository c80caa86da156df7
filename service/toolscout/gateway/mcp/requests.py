"""Answer the requests of hosts: the gateway's own tools, pinned ones, and no stack trace ever."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar, get_args

import mcp_types as types
import msgspec
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolscout import __version__
from toolscout.common.lru import Lru
from toolscout.gateway.mcp import definitions, texts
from toolscout.gateway.mcp.cache import PROMPTS, RESOURCES, SKILLS, TEMPLATES, Kind
from toolscout.gateway.mcp.keys import current_key, find_key
from toolscout.gateway.mcp.log import logger
from toolscout.gateway.mcp.served_skills import EXTENSION, GetSkillResult, SkillParams
from toolscout.gateway.mcp.servers import SEPARATOR
from toolscout.gateway.mcp.tools import CALLS, META_TOOLS, CallTool, ServerTools
from toolscout.gateway.mcp.view import HostSession, View
from toolscout.metatools.arguments import CallError, read_arguments
from toolscout.metatools.table import FIND
from toolscout.server.http.auth import Keyring
from toolscout.tools.filters import filters_of
from toolscout.tools.renaming import rename_keys

MAX_SESSIONS = 1_000
"""Sessions that are remembered; calls of a forgotten one teach nothing, and it is told nothing."""

LEVELS: tuple[str, ...] = get_args(types.LoggingLevel)
"""From `debug` to `emergency`."""

FIXED_MS = 60_000
"""How long hosts may cache the list of the gateway's own tools, in milliseconds."""

Context = ServerRequestContext[Any, Any]
Page = types.PaginatedRequestParams
Lister = Callable[[Context, Page | None], Awaitable[Any]]
T = TypeVar("T")


class _McpServer(Server[Any]):
    """Tells hosts over every transport that it notifies them of changes."""

    def create_initialization_options(self, *_: Any, **__: Any) -> InitializationOptions:
        return super().create_initialization_options(NotificationOptions(True, True, True))


class Requests:
    """Answers hosts by the SDK's server, which speaks the protocol; all lists are one page.

    What a host sees is what the filters of its key let through (`keys`).
    """

    def __init__(self, view: View, *, is_keyed: bool) -> None:
        self._view = view
        self._is_keyed = is_keyed
        """Whether hosts have keys, by which they may see different servers."""
        self._sessions: Lru[str, HostSession] = Lru(MAX_SESSIONS)
        self._stdio: HostSession | None = None
        """The session of the only host, over stdio."""
        self.server = _McpServer(
            "toolscout",
            version=__version__,
            get_tool_input_schema=self._input_schema,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list(RESOURCES, texts.OWN_RESOURCES),
            on_list_resource_templates=self._list(TEMPLATES, texts.OWN_TEMPLATES),
            on_read_resource=self._read_resource,
            on_list_prompts=self._list(PROMPTS, definitions.OWN_PROMPTS.values()),
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
        )
        level = types.SetLevelRequestParams
        self.server.add_request_handler("logging/setLevel", level, self._set_level)
        page = types.PaginatedRequestParams
        self.server.add_request_handler("skills/list", page, self._list(SKILLS))
        self.server.add_request_handler("skills/get", SkillParams, self._get_skill)
        self.server.extensions = {EXTENSION: {}}
        self.server.middleware.clear()  # the SDK's spans would name what hosts send
        self._describe()

    def _describe(self) -> None:
        """Say what the configuration offers, and how long a list with no server's tool holds."""
        hint = CacheHint(ttl_ms=FIXED_MS)
        config = self._view.config
        named = {} if self._is_keyed else config.servers
        self.server.instructions = definitions.write_instructions(
            msgspec.structs.replace(config, servers=named)
        )
        self.server.cache_hints = {} if config.options.pinned else {"tools/list": hint}

    def _input_schema(self, name: str) -> dict[str, Any] | None:
        """Return what the SDK checks headers of a call by, which hosts make of a pinned tool's."""
        filters = filters_of(current_key.get().space)
        view = self._view.parts.get(filters) if filters else self._view
        pinned = (one for one in (view.pinned if view else ()) if one.shown["name"] == name)
        return next((one.tool.input_schema for one in pinned), None)

    async def _list_tools(self, context: Context, _: Page | None) -> types.ListToolsResult:
        """List the gateway's own tools and the pinned ones."""
        if self._view.config.has_pins:
            await self._view.ready.wait()
        view = (await self._session(context)).view
        for one in view.pinned:
            view.gate.note_read(one.shown)  # hosts have its schema
        is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        pinned = definitions.list_pinned_tools(view, is_modern=is_modern)
        tools = [*definitions.list_own_tools(view.config), *pinned]
        return types.ListToolsResult(tools=tools)

    def _list(self, kind: Kind, own: Iterable[Any] = ()) -> Lister:
        """Return what lists the gateway's own entries of a kind, and those of all servers."""

        async def listed(context: Context, _: Page | None) -> Any:
            await self._view.ready.wait()
            view = (await self._session(context)).view
            entries = [*own, *texts.list_entries(view.connections, kind)]
            return kind.result(**{kind.field: entries})

        return listed

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Read a resource of the gateway or of a server."""
        uri = params.uri
        session = await self._session(context)
        view = session.view
        result: Awaitable[types.ReadResourceResult | None]
        if uri.startswith(texts.TOOL) and not view.connections_of("tool"):
            result = ServerTools(view, session).read(uri)
        else:
            result = view.read(session, uri)
        return await _make_answer(result, f"Resource not found: {uri!r}", {"uri": uri})

    async def _get_skill(self, context: Context, params: SkillParams) -> GetSkillResult:
        """Get the entry of a server's skill."""
        view = (await self._session(context)).view
        result = texts.get_skill(view.connections, params.uri)
        return await _make_answer(result, f"Unknown skill: {params.uri!r}", {"uri": params.uri})

    async def _get_prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        """Get a prompt of the gateway or of a server."""
        name = params.name
        arguments = params.arguments
        view = (await self._session(context)).view
        if SEPARATOR in name:
            result = texts.get_prompt(view.connections, name, arguments)
        else:
            result = definitions.get_prompt(view, name, arguments or {})
        return await _make_answer(result, f"Unknown prompt: {name!r}")

    async def _complete(
        self, context: Context, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        """Complete an argument of a server's prompt or template; of the gateway's own, none."""
        ref = params.ref
        named = ref.name if isinstance(ref, types.PromptReference) else ref.uri
        if named in (*definitions.OWN_PROMPTS, *(one.uri_template for one in texts.OWN_TEMPLATES)):
            return texts.NO_COMPLETIONS
        view = (await self._session(context)).view
        result = texts.complete(view.connections, params)
        return await _make_answer(result, f"Unknown prompt or resource template: {named!r}")

    async def _set_level(
        self, context: Context, params: types.SetLevelRequestParams
    ) -> types.EmptyResult:
        """Set the lowest level of log messages that a host is sent."""
        (await self._session(context)).level = params.level
        return types.EmptyResult()

    async def _call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Call one of the gateway's own tools, or a server's by its whole name."""
        name = params.name
        arguments = params.arguments or {}
        try:
            session = await self._session(context)
            view = session.view
            tools = ServerTools(view, session)
            if name in META_TOOLS:
                if name != FIND.name:  # which waits for the servers that can matter
                    await view.ready.wait()
                answer = await META_TOOLS[name].call(tools, arguments)
                return _write_text(msgspec.json.encode(answer).decode())
            token = None
            caller = None
            if name in CALLS:
                call = read_arguments(CallTool, arguments)
                caller = name
                name = call.name
                arguments = call.inner()
                token = call.token
            name = await tools.called(name)
            tools.check(name, token, caller)
            await view.tools[name].connection.wake()
            if name not in view.tools:  # as its server lists them now
                name = await tools.called(name)
            tools.check(name, token, caller)
            if caller is None:  # it is listed as itself, with keys that every host takes
                arguments = rename_keys(arguments, view.tools[name].rename_keys().own)
            arguments = tools.check_arguments(name, arguments)
            progress = context.session.report_progress
            return await view.call(session, name, arguments, progress)
        except CallError as error:
            return _write_text(str(error), is_error=True)
        except MCPError:
            raise  # as the server said it
        except Exception as error:
            logger.error("a call failed: %s", type(error).__name__)
            return _write_text("the gateway could not make this call", is_error=True)

    async def _session(self, context: Context) -> HostSession:
        """Return the state of the session that a request belongs to.

        From 2026-07-28 on the protocol has no sessions. Over stdio there is one host all the same;
        over HTTP only their keys tell such hosts apart, so those of one key share the searches that
        calls belong to.
        """
        request = context.request  # of HTTP; over stdio there is none
        is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        own = "" if request is None or is_modern else request.headers[MCP_SESSION_ID_HEADER]
        host = find_key(request)
        view = await self._view.part(filters_of(host.space))
        session = self._sessions.get(f"{host.name} {own}")
        if session is None:
            session = HostSession(view, is_remembered=request is None or not is_modern)
            self._sessions.put(f"{host.name} {own}", session)
        session.view = view
        session.peer = context.session
        if request is None:
            self._stdio = session
        return session

    async def notify(self) -> None:
        """Tell hosts that tools, or resources and prompts, have changed that they see."""
        self._describe()
        views = [self._view, *self._view.parts.values()]
        changes = {id(one): one.changes() for one in views}
        for session in self._sessions.values():
            await session.tell(*changes.get(id(session.view), (False, False)))

    async def use_keys(self, keyring: Keyring) -> None:
        """Show open sessions what their keys see now, and tell hosts whose lists differ by it."""
        spaces = {key.name: key.space for key in keyring.keys}
        for written, session in self._sessions.items():
            space = spaces.get(written.partition(" ")[0])
            if space is not None:  # else its key is gone, and its requests are refused
                before = session.view
                session.view = await self._view.part(filters_of(space))
                await session.tell(*session.view.compare(before))

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        """Pass on what a server logs, where there is one host: a message names no call."""
        if self._stdio is None:
            return
        peer = self._stdio.peer
        least = self._stdio.level
        if LEVELS.index(params.level) >= LEVELS.index(least):
            await peer.send_log_message(params.level, params.data, params.logger)


async def _make_answer(request: Awaitable[T | None], missing: str, data: Any = None) -> T:
    """Return the answer to a request.

    Raises:
        MCPError: there is none, or a server could not be asked, or refuses.
    """
    try:
        answer = await request
    except CallError as error:
        raise MCPError(types.INTERNAL_ERROR, str(error)) from None
    except MCPError:
        raise  # as the server said it
    except Exception as error:
        logger.error("a request failed: %s", type(error).__name__)
        message = "the gateway could not make this request"
        raise MCPError(types.INTERNAL_ERROR, message) from None
    if answer is None:
        raise MCPError(types.INVALID_PARAMS, missing, data)
    if isinstance(answer, types.CacheableResult):  # another host may see something else
        answer.cache_scope = "private"
    return answer


def _write_text(text: str, is_error: bool = False) -> types.CallToolResult:
    content = types.TextContent(type="text", text=text)
    return types.CallToolResult(content=[content], is_error=is_error)
