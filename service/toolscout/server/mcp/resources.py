"""The prompts and resources of the MCP facade: texts about one catalog, or about all of them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from urllib.parse import unquote

import mcp_types as types
import msgspec
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolscout.contract.tools import Tool
from toolscout.errors import CatalogUnknown
from toolscout.index import pages
from toolscout.metatools.answers import cut_page, find_tool, resolve_name
from toolscout.metatools.arguments import CallError
from toolscout.server.calls import lookup
from toolscout.server.compiling.work_threads import run_in_thread
from toolscout.server.http.problems import CODES, REFUSALS, refuse
from toolscout.server.mcp import tools
from toolscout.server.service import Service
from toolscout.state.registry import CatalogRecord, Place

SCHEME = "toolscout://"
PAGE_CATALOGS = 100
"""Catalogs in one page of the list."""

MAX_CATALOGS = 20
"""Catalogs of which `backend_status` reads the tools."""

MAX_UNAVAILABLE = 20
"""Unavailable tools that the status of a catalog names."""

RESOURCE_NOT_FOUND = -32002
"""The code of revisions before 2026-07-28, which uses `INVALID_PARAMS`."""


def _describe_prompt(name: str, title: str, description: str, **arguments: str) -> types.Prompt:
    """Describe a prompt; its argument `task` is required."""
    described = [
        types.PromptArgument(name=argument, description=text, required=argument == "task")
        for argument, text in arguments.items()
    ]
    return types.Prompt(name=name, title=title, description=description, arguments=described)


PROMPTS = [
    _describe_prompt("discover", "How to find tools", "How to find and load tools step by step"),
    _describe_prompt(
        "find_tool",
        "Find a tool",
        "Search a tool for a task, and show how to call the best",
        task="What you want to do",
        catalog="Needed where there are several",
    ),
    _describe_prompt(
        "backend_status",
        "Status of the catalogs",
        "Which catalogs there are, their size, and which tools are unavailable",
        catalog="Only this catalog",
    ),
]
KINDS = {
    "overview": ("Overview of a catalog", "In 500 tokens", "text/plain"),
    "index": ("Index of a catalog", "Every tool in a line", "text/plain"),
    "tool/{name}": ("A tool", "One tool whole", "application/json"),
}
"""Title, description and media type of each kind of resource, by the end of its address."""

TEMPLATES = [
    types.ResourceTemplate(
        name=path.partition("/")[0],
        title=title,
        uri_template=f"{SCHEME}{{catalog}}/{path}",
        description=text,
        mime_type=media,
    )
    for path, (title, text, media) in KINDS.items()
]


_decode_tools = msgspec.json.Decoder(list[Tool]).decode


@contextmanager
def answering() -> Iterator[None]:
    """Let a message be answered.

    Raises:
        MCPError: the caller made a mistake (-32602), or the service cannot answer (-32603).
    """
    try:
        yield
    except ValueError as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from None
    except REFUSALS as error:
        refused = refuse(error)
        is_theirs = CODES[refused.code].status < HTTPStatus.INTERNAL_SERVER_ERROR
        code = types.INVALID_PARAMS if is_theirs else types.INTERNAL_ERROR
        raise MCPError(code, refused.detail) from None


async def write_prompt(service: Service, name: str, arguments: dict[str, str]) -> str:
    """Return the text of a prompt.

    Raises:
        ValueError: there is no such prompt, or its arguments are wrong.
    """
    catalog = arguments.get("catalog") or None
    if name == "discover":
        return tools.INSTRUCTIONS
    if name == "find_tool":
        searched = await tools.find_catalog(service, catalog, is_search=True)
        source = tools.CatalogTools(service, searched)
        return await find_tool(source, arguments.get("task"), "Call it where it lives.")
    if name == "backend_status":
        return await _write_status(service, catalog)
    raise ValueError("there is no prompt of that name")


async def list_resources(service: Service, cursor: str | None) -> types.ListResourcesResult:
    """Return an overview and an index of each catalog of a page.

    Raises:
        CallError: the cursor is wrong.
    """
    registered = await service.registry.names(tools.TRACE.get().tenant)
    names, following = cut_page(registered, cursor, PAGE_CATALOGS)
    resources = [
        types.Resource(
            name=f"{kind} of {name}",
            title=f"{kind.capitalize()} of {name}",
            uri=f"{SCHEME}{name}/{kind}",
            mime_type="text/plain",
        )
        for name in names
        for kind in ("overview", "index")
    ]
    return types.ListResourcesResult(resources=resources, next_cursor=following)


async def _write_status(service: Service, name: str | None) -> str:
    """Return a line for each catalog, without compiling any.

    Raises:
        ValueError: the named catalog does not exist.
    """
    tenant = tools.TRACE.get().tenant
    names = [name] if name else await service.registry.names(tenant)
    lines = []
    for each in names[:MAX_CATALOGS]:
        record = await service.registry.record(Place(tenant, each))
        if record is None:
            continue
        present = await _find_tools(service, each, record)
        line = f"{each}: {len(present)} tools"
        if unavailable := [tool.name for tool in present if tool.status == "unavailable"]:
            more = ", …" if len(unavailable) > MAX_UNAVAILABLE else ""
            shown = ", ".join(unavailable[:MAX_UNAVAILABLE])
            line += f", {len(unavailable)} unavailable ({shown}{more})"
        if record.expires is not None:
            line += f", expires {datetime.fromtimestamp(record.expires, UTC):%Y-%m-%dT%H:%M:%SZ}"
        lines.append(line)
    if name and not lines:
        raise ValueError("there is no catalog of that name")
    if len(names) > MAX_CATALOGS:
        lines.append(f"and {len(names) - MAX_CATALOGS} more; name one in `catalog`")
    return "\n".join(lines) or "No catalog is registered."


async def _find_tools(service: Service, name: str, record: CatalogRecord) -> Sequence[Tool]:
    """Return what is registered, or as much of it as the caller's key sees."""
    trace = tools.TRACE.get()
    if trace.space != trace.tenant:
        catalog = await lookup.find(service, trace, name)
        return list(map(catalog.tool, range(len(catalog))))
    raw = await service.registry.tools(Place(trace.tenant, name), record)
    try:
        return [] if raw is None else await run_in_thread(_decode_tools, raw)
    except (ValueError, msgspec.MsgspecError):  # damaged, until it is registered anew
        return []


async def read_resource(service: Service, uri: str, protocol: str | None) -> tuple[str, str]:
    """Return the text of a resource and its media type.

    Raises:
        MCPError: there is no such resource; its code depends on the protocol's revision.
    """
    name, _, rest = uri.removeprefix(SCHEME).partition("/")
    kind, _, quoted = rest.partition("/")
    path = "tool/{name}" if kind == "tool" and quoted else rest
    try:
        if not uri.startswith(SCHEME) or path not in KINDS:
            raise CallError("there is no such resource")
        catalog = await tools.find_catalog(service, name)
        source = tools.CatalogTools(service, catalog)
        tool = await resolve_name(source, unquote(quoted)) if quoted else ""
    except (CatalogUnknown, CallError) as error:
        is_modern = protocol in MODERN_PROTOCOL_VERSIONS
        code = types.INVALID_PARAMS if is_modern else RESOURCE_NOT_FOUND
        raise MCPError(code, str(error), {"uri": uri}) from None
    media = KINDS[path][-1]
    if kind == "overview":
        return pages.describe(catalog), media
    if kind == "index":
        return "\n".join(await run_in_thread(tools.write_lines, catalog)), media
    (shown,) = await source.show([tool], "full")
    return msgspec.json.encode(shown).decode(), media
