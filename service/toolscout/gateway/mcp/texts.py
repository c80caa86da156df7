"""Resources and prompts of servers, under URIs and names that say which server has them.

`toolscout://SERVER/URI` is the resource URI of a server, as it writes it; `SERVER__NAME` a prompt.
The gateway has resources of its own: `toolscout://overview`, `toolscout://index` and one of each
tool, `toolscout://tool/NAME`; a server that is called `tool` has those URIs to itself.
What a result refers to is renamed likewise, so that it can be read through the gateway.
"""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import unquote

import mcp_types
from mcp import MCPError

from toolscout.gateway.mcp.cache import PROMPTS, RESOURCES, SKILLS, Kind
from toolscout.gateway.mcp.connection import Connection
from toolscout.gateway.mcp.served_skills import GetSkillResult, Skill
from toolscout.gateway.mcp.servers import SEPARATOR, is_permitted

SCHEME = "toolscout://"

OVERVIEW = f"{SCHEME}overview"
INDEX = f"{SCHEME}index"

_DOTS = re.compile(r"(?<![^/\\])\.{1,2}(?![^/\\])")
"""Segments of a path that lead elsewhere."""


def _describe_own(uri: str, title: str, about: str) -> mcp_types.Resource:
    named: dict[str, Any] = {"uri": uri, "name": title, "title": title, "mime_type": "text/plain"}
    return mcp_types.Resource(description=about, **named)


OWN_RESOURCES = (
    _describe_own(
        OVERVIEW, "Overview of the tools", "How many tools each server has, in 500 tokens"
    ),
    _describe_own(INDEX, "Index of the tools", "Every tool in a line"),
)
"""The gateway's own resources, as they are listed."""

TOOL = f"{SCHEME}tool/"
OWN_TEMPLATES = (
    mcp_types.ResourceTemplate(
        name="tool",
        title="A tool",
        uri_template=f"{TOOL}{{name}}",
        description="One tool whole",
        mime_type="application/json",
    ),
)
"""The gateway's own resources that are read by a name."""


NO_COMPLETIONS = mcp_types.CompleteResult(completion=mcp_types.Completion(values=[]))


def make_result(uri: str, *parts: str, media: str = "text/plain") -> mcp_types.ReadResourceResult:
    """Return the result of reading a text that the gateway has, in one part or several."""
    named: dict[str, Any] = {"uri": uri, "mime_type": media}
    contents = [mcp_types.TextResourceContents(text=text, **named) for text in parts]
    return mcp_types.ReadResourceResult(contents=list(contents))


def may_read(name: str, deny: Sequence[str]) -> bool:
    """Whether patterns let a resource or a prompt be read.

    A URI has many spellings, so neither case nor escapes nor dots lead around a pattern.
    """
    if not deny:
        return True
    spellings = (name.casefold(), unquote(name).casefold())
    if _DOTS.search(spellings[-1]):
        return False
    patterns = [pattern.casefold() for pattern in deny]
    return all(is_permitted(one, None, patterns) for one in spellings)


def write_whole_name(server: str, kind: Kind, name: str) -> str:
    """Return what the gateway calls a resource, by its URI, or a prompt of a server."""
    return f"{server}{SEPARATOR}{name}" if kind is PROMPTS else f"{SCHEME}{server}/{name}"


def rename(server: str, result: Any) -> Any:
    """Return a result whose links, embedded resources and contents have URIs of the gateway."""
    for name in ("content", "contents", "messages"):
        parts = getattr(result, name, None)
        if isinstance(parts, list):
            changed = [_rename_part(server, part) for part in parts]
            result = result.model_copy(update={name: changed})
    return result


def _rename_part(server: str, part: Any) -> Any:
    if isinstance(part, mcp_types.PromptMessage):
        return part.model_copy(update={"content": _rename_part(server, part.content)})
    if isinstance(part, mcp_types.EmbeddedResource):
        return part.model_copy(update={"resource": _rename_part(server, part.resource)})
    if isinstance(part, mcp_types.ResourceLink | mcp_types.ResourceContents):
        return part.model_copy(update={"uri": write_whole_name(server, RESOURCES, part.uri)})
    return part


def list_entries(connections: Sequence[Connection], kind: Kind) -> list[Any]:
    """Return what all servers list of a kind and let be read, under its whole names."""
    return [
        _rename_entry(one.name, kind, entry)
        for one in connections
        for entry in getattr(one.listed, kind.field)
        if may_read(getattr(entry, kind.key), one.server.deny)
    ]


def _rename_entry(server: str, kind: Kind, entry: Any) -> Any:
    spell = partial(write_whole_name, server, kind)
    if isinstance(entry, Skill):
        return entry.rename(spell)
    return entry.model_copy(update={kind.key: spell(getattr(entry, kind.key))})


async def get_skill(connections: Sequence[Connection], uri: str) -> GetSkillResult | None:
    """Get a skill by the URI of its SKILL.md; None and errors as of `read`."""
    server, own = _find_by_uri(connections, uri)
    result: GetSkillResult | None = await _ask(server, own, "get_skill")
    if server is not None and result is not None:
        result.skill = _rename_entry(server.name, SKILLS, result.skill)
    return result


async def read(connections: Sequence[Connection], uri: str) -> mcp_types.ReadResourceResult | None:
    """Read a resource; None if it names no server, or may not be read.

    Hosts may write the name of a server in small letters, as those of machines.

    Raises:
        CallError: its server cannot be reached.
        MCPError: its server refused.
    """
    return await _ask(*_find_by_uri(connections, uri), "read_resource")


async def get_prompt(
    connections: Sequence[Connection], name: str, arguments: dict[str, Any] | None
) -> mcp_types.GetPromptResult | None:
    """Get a prompt by its whole name; None and errors as of `read`."""
    return await _ask(*_find_by_name(connections, name), "get_prompt", arguments)


async def complete(
    connections: Sequence[Connection], params: mcp_types.CompleteRequestParams
) -> mcp_types.CompleteResult | None:
    """Complete an argument of a prompt or of a template of resources; None and errors as of `read`.

    Of a server that completes nothing there are no completions.
    """
    ref = params.ref
    if isinstance(ref, mcp_types.PromptReference):
        found = _find_by_name(connections, ref.name)
    else:
        found = _find_by_uri(connections, ref.uri)
    try:
        result: mcp_types.CompleteResult | None = await _ask(*found, "pass_completion", params)
    except MCPError as error:
        if error.error.code != mcp_types.METHOD_NOT_FOUND:
            raise
        return NO_COMPLETIONS
    return result


def _find_by_uri(connections: Sequence[Connection], uri: str) -> tuple[Connection | None, str]:
    """Return the server that a URI names, and the URI that it knows."""
    if not uri.startswith(SCHEME):
        return None, uri
    written, _, own = uri.removeprefix(SCHEME).partition("/")
    alike = [one for one in connections if one.name.casefold() == written.casefold()]
    return min(alike, key=lambda one: one.name != written, default=None), own


def _find_by_name(connections: Sequence[Connection], name: str) -> tuple[Connection | None, str]:
    """Return the server that a prompt's whole name names, and the name that it knows."""
    prefix, _, own = name.partition(SEPARATOR)
    return next((one for one in connections if one.name == prefix), None), own


async def _ask(server: Connection | None, own: str, method: str, *more: Any) -> Any:
    if server is None or not own or not may_read(own, server.server.deny):
        return None
    await server.wake()
    return rename(server.name, await server.request(method, own, *more))
