"""Resources and prompts of servers, under URIs and names that say which server has them.

`toolscout://SERVER/URI` is the resource URI of a server, as it writes it; `SERVER__NAME` a prompt.
The gateway has two resources of its own, `toolscout://overview` and `toolscout://index`.
What a result refers to is renamed likewise, so that it can be read through the gateway.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import unquote

import mcp_types

from toolscout.gateway.mcp.connection import Connection
from toolscout.gateway.mcp.servers import SEPARATOR

SCHEME = "toolscout://"

OVERVIEW, INDEX = f"{SCHEME}overview", f"{SCHEME}index"

_DOTS = re.compile(r"(?<![^/\\])\.{1,2}(?![^/\\])")
"""Segments of a path that lead elsewhere."""


Kind = tuple[str, str, Callable[[str, str], str]]
"""A field of a list, the key of its entries, and what names in the gateway what a server has."""


class Passed:
    """An entry of a list or a result, as the library takes it; sent on as the server wrote it."""

    version = None

    def __init__(self, entry: Any) -> None:
        self.entry = entry

    def __getattr__(self, field: str) -> Any:
        if field == "entry" or field.startswith("__"):  # of one that is being copied
            raise AttributeError(field)
        return getattr(self.entry, field)

    def sent(self, **_: Any) -> Any:
        """Return the entry of the protocol, or the result of a request for one."""
        return self.entry

    to_mcp_resource = to_mcp_template = to_mcp_prompt = sent

    def to_mcp_tool(self, *, outputSchema: Any, **_: Any) -> Any:  # noqa: N803  # the library's name
        """Return a tool with the output schema that the library makes for older hosts."""
        return self.entry.model_copy(update={"output_schema": outputSchema})

    def to_mcp_result(self, _: str) -> Any:
        """Return the result of reading a resource."""
        return self.entry

    to_mcp_prompt_result = sent


def _own(uri: str, title: str, about: str) -> Passed:
    named: dict[str, Any] = {"uri": uri, "name": title, "title": title, "mime_type": "text/plain"}
    return Passed(mcp_types.Resource(description=about, **named))


OWN_RESOURCES = (
    _own(OVERVIEW, "Overview of the tools", "How many tools each server has, in 500 tokens"),
    _own(INDEX, "Index of the tools", "Every tool in a line"),
)
"""The gateway's own resources, as they are listed."""


def plain_text(uri: str, *parts: str) -> Passed:
    """Return the result of reading a text that the gateway has, in one part or several."""
    named: dict[str, Any] = {"uri": uri, "mime_type": "text/plain"}
    contents = [mcp_types.TextResourceContents(text=text, **named) for text in parts]
    return Passed(mcp_types.ReadResourceResult(contents=list(contents)))


def may_read(name: str, deny: Sequence[str]) -> bool:
    """Whether patterns let a resource or a prompt be read.

    A URI has many spellings, so neither case nor escapes nor dots lead around a pattern.
    """
    if not deny:
        return True
    spellings = (name.casefold(), unquote(name).casefold())
    if _DOTS.search(spellings[-1]):
        return False
    return not any(fnmatchcase(one, pattern.casefold()) for one in spellings for pattern in deny)


def whole_uri(server: str, uri: str) -> str:
    """Return the URI of a server's resource in the gateway."""
    return f"{SCHEME}{server}/{uri}"


def whole_name(server: str, name: str) -> str:
    """Return the name of a server's prompt in the gateway."""
    return f"{server}{SEPARATOR}{name}"


RESOURCES: Kind = "resources", "uri", whole_uri
TEMPLATES: Kind = "templates", "uri_template", whole_uri
PROMPTS: Kind = "prompts", "name", whole_name


def renamed(server: str, result: Any) -> Any:
    """Return a result whose links, embedded resources and contents have URIs of the gateway."""
    for name in ("content", "contents", "messages"):
        parts = getattr(result, name, None)
        if isinstance(parts, list):
            changed = [_renamed(server, part) for part in parts]
            result = result.model_copy(update={name: changed})
    return result


def _renamed(server: str, part: Any) -> Any:
    if isinstance(part, mcp_types.PromptMessage):
        return part.model_copy(update={"content": _renamed(server, part.content)})
    if isinstance(part, mcp_types.EmbeddedResource):
        return part.model_copy(update={"resource": _renamed(server, part.resource)})
    if isinstance(part, mcp_types.ResourceLink | mcp_types.ResourceContents):
        return part.model_copy(update={"uri": whole_uri(server, part.uri)})
    return part


def listed(connections: Sequence[Connection]) -> object:
    """Return all that is listed, to tell whether it has changed."""
    kinds = (RESOURCES, TEMPLATES, PROMPTS)
    return [[(one.name, entry) for one, entry in _permitted(connections, kind)] for kind in kinds]


def entries(connections: Sequence[Connection], kind: Kind) -> list[Passed]:
    """Return the resources, templates or prompts of all servers, under their whole names."""
    _, key, rename = kind
    return [
        Passed(entry.model_copy(update={key: rename(one.name, getattr(entry, key))}))
        for one, entry in _permitted(connections, kind)
    ]


def _permitted(connections: Sequence[Connection], kind: Kind) -> Iterator[tuple[Connection, Any]]:
    field, key, _ = kind
    for one in connections:
        for entry in getattr(one.listed, field):
            if may_read(getattr(entry, key), one.server.deny):
                yield one, entry


async def read(connections: Sequence[Connection], uri: str) -> Passed | None:
    """Read a resource; None if it names no server, or may not be read.

    Hosts may write the name of a server in small letters, as those of machines.

    Raises:
        CallFailed: its server cannot be reached.
        MCPError: its server refused.
    """
    if not uri.startswith(SCHEME):
        return None
    written, _, own = uri.removeprefix(SCHEME).partition("/")
    alike = [one for one in connections if one.name.casefold() == written.casefold()]
    server = min(alike, key=lambda one: one.name != written, default=None)
    return await _ask(server, own, lambda client: client.session.read_resource(own))


async def get_prompt(
    connections: Sequence[Connection], name: str, arguments: dict[str, Any] | None
) -> Passed | None:
    """Get a prompt by its whole name; None and errors as of `read`."""
    prefix, _, own = name.partition(SEPARATOR)
    server = next((one for one in connections if one.name == prefix), None)
    return await _ask(server, own, lambda client: client.get_prompt_mcp(own, arguments))


async def _ask(server: Connection | None, own: str, ask: Callable[[Any], Any]) -> Passed | None:
    if server is None or not own or not may_read(own, server.server.deny):
        return None
    await server.wake()
    return Passed(renamed(server.name, await server.request(ask)))
