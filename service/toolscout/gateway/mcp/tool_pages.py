"""The list of tools of one server: pages, which are cut, and entries, of which some are no tools.

The SDK refuses a whole list for one entry that it cannot read. So a refused page is asked for
again, and those entries are taken out before the SDK reads it.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import mcp_types
from mcp import MCPError
from mcp_types import methods
from pydantic import ValidationError

from toolscout.gateway.mcp.cache import KINDS, MAX_AGE_S, MAX_LIST_BYTES, SKILLS, Kind, ToolPages
from toolscout.gateway.mcp.clients import Client
from toolscout.gateway.mcp.failures import describe_length, is_lost
from toolscout.gateway.mcp.served_skills import EXTENSION, ListSkillsResult, Skill
from toolscout.index.tool_list import MAX_TOOLS
from toolscout.tools.poisoned import has_hidden, strip_hidden

MAX_PAGES = 250
"""Where the reading of a list ends; the tools until then are offered."""

MAX_TEXTS = 1_000
"""Resources, templates and prompts of one server, of each, that are listed."""

MAX_NAME_CHARS = 2_048
"""Characters of a URI or of the name of a prompt; what has more is left out."""

MAX_FLAW_CHARS = 100
"""Characters of what is wrong with an entry: a part of it is in the server's own words."""

VERSION = "2025-11-25"
"""The version of the protocol by which single entries are read; later ones add no bounds."""


def _find_flaw(entry: Any) -> str | None:
    """Return what is wrong with an entry; None of one that can be read."""
    try:
        mcp_types.Tool.model_validate(entry, by_name=False)
        methods.validate_server_result("tools/list", VERSION, {"tools": [entry]})
    except ValidationError as error:
        return _explain(error)
    return None


def _explain(error: ValidationError) -> str:
    """Return the first thing that is wrong with an entry."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    path = first["loc"][2:] if first["loc"][:1] == ("tools",) else first["loc"]
    where = ".".join(part for part in map(str, path) if part.isprintable())
    message = first["msg"][:1].lower() + first["msg"][1:]
    return f"{where}: {message}"[:MAX_FLAW_CHARS] if where else message[:MAX_FLAW_CHARS]


def _label(entry: Any, number: int, key: str = "name") -> str:
    """Return the name of an entry, or its number in the list if it has no name to show."""
    name = entry.get(key) if isinstance(entry, dict) else None
    is_shown = isinstance(name, str) and name.strip() and name.isprintable()
    return str(name)[:MAX_NAME_CHARS] if is_shown else f"#{number}"


async def read_pages(client: Client) -> ToolPages:
    """Return the tools of all pages.

    Raises:
        Exception: the server is lost, refuses, or answers with something else than a list.
    """
    unreadable: list[tuple[str, str]] = []
    tools: list[mcp_types.Tool] = []
    ttls: list[float] = []

    def readable(entries: list[Any]) -> list[Any]:
        judged = [(entry, _find_flaw(entry)) for entry in entries]
        for number, (entry, flaw) in enumerate(judged, len(tools) + len(unreadable) + 1):
            if flaw is not None:
                unreadable.append((_label(entry, number), flaw))
        return [entry for entry, flaw in judged if flaw is None]

    async def ask(params: mcp_types.PaginatedRequestParams) -> mcp_types.ListToolsResult:
        try:
            return await client.list_tools(params=params)
        except ValidationError:
            if client.lists.readable is not None:  # something else is wrong with it
                raise
            client.lists.readable = readable
            return await client.list_tools(params=params)

    is_cut = False
    client.lists.readable = None
    async for page in _read_pages(ask):
        tools += page.tools
        ttl_ms = client.lists.ttl_ms
        if isinstance(ttl_ms, int | float) and ttl_ms > 0:
            ttls.append(min(ttl_ms / 1_000, MAX_AGE_S))
        is_cut = len(tools) > MAX_TOOLS or bool(page.next_cursor)
        if len(tools) > MAX_TOOLS:
            break
    kept = tuple(tools[:MAX_TOOLS])
    return ToolPages(kept, is_cut, tuple(unreadable), ttl_s=min(ttls, default=None))


async def read_texts(client: Client) -> dict[str, Any]:
    """Return the resources, templates, prompts and skills of a server, as fields of its list.

    Raises:
        Exception: the server is lost.
    """
    capable = client.server_capabilities
    offered = [one for one in KINDS if getattr(capable, one.capability, None) is not None]
    if SKILLS in offered and EXTENSION not in getattr(capable, SKILLS.capability):
        offered.remove(SKILLS)
    unreadable: list[tuple[str, str]] = []
    fields: dict[str, Any] = {}
    for kind in offered:
        ask = getattr(client, f"list_{kind.field}")
        ask = partial(_ask_for_skills, ask, unreadable) if kind is SKILLS else ask
        fields[kind.field] = await _read_texts(ask, kind)
    return fields | {"unreadable_skills": tuple(unreadable[:MAX_TEXTS])}


async def _ask_for_skills(
    ask: Callable[..., Awaitable[ListSkillsResult]],
    unreadable: list[tuple[str, str]],
    params: mcp_types.PaginatedRequestParams,
) -> ListSkillsResult:
    """Return a page of the skills that can be read, and note the others."""
    page = await ask(params=params)
    skills = []
    for number, entry in enumerate(page.skills, 1):
        try:
            skills.append(Skill.model_validate(entry))
        except ValidationError as error:
            unreadable.append((_label(entry, number, SKILLS.key), _explain(error)))
    page.skills = skills
    return page


def _drop_hidden(entry: Any) -> Any:
    """Return a resource or a prompt whose description and title hide no characters."""
    written = entry.model_dump(mode="json", by_alias=True, exclude_none=True)
    if not has_hidden(written):
        return entry
    return type(entry).model_validate(strip_hidden(written), by_name=False)


async def _read_texts(ask: Any, kind: Kind) -> tuple[Any, ...]:
    """Return the entries of a list, the first of each name, until one page cannot be read."""
    entries: dict[str, Any] = {}
    try:
        async for page in _read_pages(ask):
            for entry in getattr(page, kind.field):
                name = getattr(entry, kind.key)
                if name.strip() and name.isprintable() and len(name) <= MAX_NAME_CHARS:
                    entries.setdefault(name, _drop_hidden(entry))
            if len(entries) > MAX_TEXTS:
                break
    except (ValidationError, MCPError) as error:
        if is_lost(error):
            raise
    return tuple(entries.values())[:MAX_TEXTS]


async def _read_pages(ask: Callable[..., Awaitable[Any]]) -> AsyncIterator[Any]:
    """Yield the pages of a list, until they are too large, too many or begin again.

    Raises:
        MCPError: one is too large by itself.
    """
    cursors: set[str | None] = set()
    cursor = None
    size = 0
    while cursor not in cursors and len(cursors) < MAX_PAGES and size <= MAX_LIST_BYTES:
        cursors.add(cursor)
        page = await ask(params=mcp_types.PaginatedRequestParams(cursor=cursor))
        length = len(await asyncio.to_thread(page.model_dump_json))
        if length > MAX_LIST_BYTES:
            raise MCPError(mcp_types.PARSE_ERROR, describe_length(length, MAX_LIST_BYTES))
        yield page
        size += length
        cursor = page.next_cursor or None  # which ends it, as the "" of some servers
