"""The Model Context Protocol at `/mcp`, with which agents find tools.

It is streamable HTTP without sessions: every call has its key, and any replica answers. It shows
registered catalogs and those known by digest, and never runs a tool.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import unquote

import mcp
import msgspec
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from toolscout import __version__
from toolscout.contract.bounds import MAX_MCP_BYTES
from toolscout.errors import NOT_JSON
from toolscout.index import pages
from toolscout.index.catalog import Catalog
from toolscout.server.calls import catalog_reads
from toolscout.server.calls.catalog_reads import AT_ONCE
from toolscout.server.calls.decide import deadline_of, decide
from toolscout.server.calls.feedback import with_use
from toolscout.server.compiling import lookup
from toolscout.server.compiling.work_threads import TENANT, beside, run_in_thread
from toolscout.server.http.answer import JSON, Answer
from toolscout.server.http.envelope import ask_with
from toolscout.server.http.refusals import Refused, decode_error
from toolscout.server.http.request import Request
from toolscout.server.mcp.reading import check_name, check_size, lines_of, readable, row_of, show
from toolscout.server.mcp.texts import INSTRUCTIONS, PROMPTS, TEMPLATES, TOOLS, find_tool
from toolscout.server.observe.trace import Trace
from toolscout.server.service import Service

MAX_DEPTH = 64
"""Maximum nesting of a message; the SDK fails on hundreds of levels."""

_SDK_FOLDER = str(Path(mcp.__file__).parent)

_trace: ContextVar[Trace] = ContextVar("trace")
Arguments = dict[str, Any]
Found = tuple[Any, str | None]
"""The result of a call, and the text for the model if that is different."""

Shown = tuple[list[types.TextContent], Arguments]


def _silence_sdk() -> None:
    """Silence the SDK's log, because it repeats what callers send.

    It uses the SDK's loggers and the root logger.
    """
    logger = logging.getLogger("mcp")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    logging.getLogger().addFilter(_is_not_of_sdk)


def _is_not_of_sdk(record: logging.LogRecord) -> bool:
    return not record.pathname.startswith(_SDK_FOLDER)


class McpFacade:
    """Answers MCP over HTTP for one service; `running` must be entered first."""

    def __init__(self, service: Service) -> None:
        self._service = service
        _silence_sdk()
        server = Server("toolscout", __version__, INSTRUCTIONS)
        self._register(server)
        self._manager = StreamableHTTPSessionManager(
            server,
            json_response=True,
            stateless=True,
            max_request_body_size=MAX_MCP_BYTES,  # the body was read before, with the same limit
        )
        self._calls: dict[str, Callable[[Arguments], Awaitable[Found]]] = {
            "search_tools": self._search,
            "list_tools_meta": self._list,
            "tool_info": self._info,
            "get_tool_schemas": self._schemas,
            "get_required_keys_for_tool": self._required_keys,
        }

    def running(self) -> AbstractAsyncContextManager[None]:
        """Run the SDK's session manager, during which calls are answered."""
        return self._manager.run()

    async def relay(self, service: Service, request: Request, trace: Trace) -> Answer:
        """Have the SDK answer one message."""
        _trace.set(trace)
        body = await request.json_body(service.settings, MAX_MCP_BYTES)
        _check_json(body)
        waiting: list[Any] = [{"type": "http.request", "body": body, "more_body": False}]
        answered: list[Any] = []

        async def receive() -> Any:
            return waiting.pop() if waiting else await request.receive()

        async def keep(message: Any) -> None:
            answered.append(message)

        await self._manager.handle_request(request.scope, receive, keep)  # type: ignore[arg-type]
        return _whole(*answered)

    def _register(self, server: "Server[Any, Any]") -> None:
        @server.list_tools()  # type: ignore[no-untyped-call, untyped-decorator]
        async def list_tools() -> list[types.Tool]:
            return TOOLS

        @server.call_tool()  # type: ignore[untyped-decorator]
        async def call_tool(name: str, arguments: Arguments) -> Shown:
            call = self._calls.get(name)
            if call is None:
                raise ValueError(f"no tool {name}")
            found, text = await readable(call(arguments))
            structured: Arguments = msgspec.to_builtins(found)
            # The SDK would indent the text, at a third more tokens.
            text = text or msgspec.json.encode(structured).decode()
            return [types.TextContent(type="text", text=text)], structured

        @server.list_prompts()  # type: ignore[no-untyped-call, untyped-decorator]
        async def list_prompts() -> list[types.Prompt]:
            return PROMPTS

        @server.get_prompt()  # type: ignore[no-untyped-call, untyped-decorator]
        async def get_prompt(name: str, arguments: dict[str, str] | None) -> types.GetPromptResult:
            text = await self._prompt(name, arguments or {})
            content = types.TextContent(type="text", text=text)
            return types.GetPromptResult(
                messages=[types.PromptMessage(role="user", content=content)]
            )

        @server.list_resource_templates()  # type: ignore[no-untyped-call, untyped-decorator]
        async def list_resource_templates() -> list[types.ResourceTemplate]:
            return TEMPLATES

        @server.list_resources()  # type: ignore[no-untyped-call, untyped-decorator]
        async def list_resources() -> list[types.Resource]:
            return [
                types.Resource(name=f"{kind} of {name}", uri=f"toolscout://{name}/{kind}")  # type: ignore[arg-type]
                for name in await self._names()
                for kind in ("overview", "index")
            ]

        @server.read_resource()  # type: ignore[no-untyped-call, untyped-decorator]
        async def read_resource(uri: Any) -> list[ReadResourceContents]:
            return [await self._resource(str(uri))]

    async def _search(self, arguments: Arguments) -> Found:
        catalog, trace = await self._catalog(arguments), _trace.get()
        if not arguments["query"].strip():
            raise ValueError("query is blank")
        settings = self._service.settings
        ask = ask_with(
            settings,
            pattern=arguments["query"],
            top_k=arguments.get("top_k", 10),
            ranker=settings.ranker,
        )
        trace.pattern, trace.top_k = ask.pattern, ask.top_k
        trace.cache = "miss" if trace.offered else "hit"  # counted when they were compiled
        trace.offered = trace.offered or trace.unique
        deadline = deadline_of(self._service, perf_counter())
        decision = await decide(self._service, trace, catalog, ask, deadline)
        detail = arguments.get("detail", "brief")
        shown = await show(catalog, decision.rows, detail)
        answer = {"tools": shown, "outcome": decision.outcome, "catalog": catalog.digest}
        lines = [f"outcome: {decision.outcome}", *lines_of(catalog, decision.rows)]
        if decision.degraded:
            answer["degraded"] = decision.degraded
            lines.insert(1, f"degraded: {decision.degraded}")
        return answer, "\n".join(lines) if detail == "brief" else None

    async def _list(self, arguments: Arguments) -> Found:
        catalog = await self._catalog(arguments)
        rows, following = pages.page(
            catalog, arguments.get("cursor"), arguments.get("page_size", 50)
        )
        detail = arguments.get("detail", "brief")
        shown = await show(catalog, rows, detail)
        found = {"tools": shown, "total": len(catalog)}
        return found | ({"next_cursor": following} if following else {}), None

    async def _info(self, arguments: Arguments) -> Found:
        catalog = await self._catalog(arguments)
        row = await row_of(catalog, arguments["name"])
        (shown,) = await show(catalog, [row], arguments.get("detail", "brief"))
        return with_use(self._service, TENANT.get(), catalog, shown), None

    async def _schemas(self, arguments: Arguments) -> Found:
        catalog = await self._catalog(arguments)
        names = arguments["names"]
        for name in names:
            check_name(name)
        size = len(names) * len(catalog)
        found = await beside(size, AT_ONCE, catalog_reads.found_schemas, catalog, names)
        check_size(catalog, [catalog.rows[tool.name] for tool in found.schemas])
        return found, None

    async def _required_keys(self, arguments: Arguments) -> Found:
        catalog = await self._catalog(arguments)
        tool = catalog.tool(await row_of(catalog, arguments["name"]))
        return {"name": tool.name, "required_keys": list(tool.required_keys or ())}, None

    async def _prompt(self, name: str, arguments: dict[str, str]) -> str:
        if name == "discover":
            return INSTRUCTIONS
        if name == "find_tool":
            if not arguments.get("task", "").strip():
                raise ValueError("find_tool needs a task")
            return find_tool(arguments["task"])
        if name == "backend_status":
            return "\n".join(await self._status()) or "No catalog is registered."
        raise ValueError(f"no prompt {name}")

    async def _status(self) -> list[str]:
        """Return a line for each catalog, from its record, so that nothing is compiled."""
        registry, tenant = self._service.registry, TENANT.get()
        names = await self._names()
        records = [(name, await readable(registry.record(tenant, name))) for name in names]
        return [f"{name}: {record.tools} tools" for name, record in records if record is not None]

    async def _resource(self, uri: str) -> ReadResourceContents:
        name, _, rest = uri.removeprefix("toolscout://").partition("/")
        kind, _, quoted = rest.partition("/")
        tool = unquote(quoted)
        if kind not in ("overview", "index", "tool") or bool(tool) != (kind == "tool"):
            raise ValueError("no such resource")
        catalog = await readable(self._find(name))
        if kind == "overview":
            return ReadResourceContents(pages.overview(catalog), "text/plain")
        if kind == "index":
            lines = await run_in_thread(lines_of, catalog)
            return ReadResourceContents("\n".join(lines), "text/plain")
        (shown,) = await show(catalog, [await row_of(catalog, tool)], "full")
        return ReadResourceContents(msgspec.json.encode(shown).decode(), "application/json")

    async def _catalog(self, arguments: Arguments) -> Catalog:
        """Return the named catalog, or the only one."""
        name = arguments.get("catalog")
        if name is None:
            names = await self._names()
            if len(names) != 1:
                listed = f"one of {', '.join(names)}" if names else "none is registered"
                raise ValueError(f"name a catalog: {listed}")
            name = names[0]
        return await self._find(name)

    async def _find(self, name: str) -> Catalog:
        return await lookup.find(self._service, _trace.get(), name)

    async def _names(self) -> list[str]:
        names: list[str] = await readable(self._service.registry.names(TENANT.get()))
        return names


def _whole(start: Mapping[str, Any], *parts: Mapping[str, Any]) -> Answer:
    """Make an answer from the SDK's messages."""
    headers = dict(start["headers"])
    media = headers.pop(b"content-type", JSON)
    headers.pop(b"content-length", None)
    body = b"".join(part.get("body", b"") for part in parts)
    return Answer(body, list(headers.items()), start["status"], media, is_bounded=False)


def _check_json(body: bytes) -> None:
    """Check for bodies on which the SDK would fail.

    Raises:
        Refused: the body is not JSON in UTF-8, or nested too deep.
    """
    try:
        level = [msgspec.json.decode(body)]
    except NOT_JSON as error:
        raise decode_error(error) from None
    for _ in range(MAX_DEPTH):
        level = [part for value in level for part in _parts(value)]
        if not level:
            return
    raise Refused("invalid_json", f"the message is nested more than {MAX_DEPTH} levels deep")


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
