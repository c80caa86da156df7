"""Resources and prompts of servers, under URIs and names that say which server has them.

`toolscout://SERVER/URI` is the resource URI of a server, as it writes it; `SERVER__NAME` a prompt.
What a result refers to is renamed likewise, so that it can be read through the gateway.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import unquote

import mcp_types

from toolscout.gateway.mcp.servers import SEPARATOR, Server

SCHEME = "toolscout://"


class Passed:
    """An entry of a list or a result, as the library takes it; sent on as the server wrote it."""

    version = None

    def __init__(self, entry: Any) -> None:
        self.entry = entry

    @property
    def uri(self) -> str:
        """Return the URI of a resource."""
        return str(self.entry.uri)

    @property
    def uri_template(self) -> str:
        """Return the template of URIs."""
        return str(self.entry.uri_template)

    @property
    def name(self) -> str:
        """Return the name of a prompt."""
        return str(self.entry.name)

    def sent(self, **_: Any) -> Any:
        """Return the entry of the protocol, or the result of a request for one."""
        return self.entry

    to_mcp_resource = to_mcp_template = to_mcp_prompt = sent

    def to_mcp_result(self, _: str) -> Any:
        """Return the result of reading a resource."""
        return self.entry

    to_mcp_prompt_result = sent


def may_read(server: Server, name: str) -> bool:
    """Whether the configuration of a server lets a resource or a prompt be read.

    A URI has many spellings, so neither case nor escapes lead around a pattern.
    """
    spellings = (name.casefold(), unquote(name).casefold())
    patterns = [pattern.casefold() for pattern in server.deny]
    return not any(fnmatchcase(one, pattern) for one in spellings for pattern in patterns)


def whole_uri(server: str, uri: str) -> str:
    """Return the URI of a server's resource in the gateway."""
    return f"{SCHEME}{server}/{uri}"


def parted(uri: str, servers: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the server and its own URI of a resource; hosts may write the server in small letters.

    None if there is no such server.
    """
    if not uri.startswith(SCHEME):
        return None
    written, _, own = uri.removeprefix(SCHEME).partition("/")
    spellings = [name for name in servers if name.casefold() == written.casefold()]
    server = written if written in servers else next(iter(spellings), None)
    return None if server is None or not own else (server, own)


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


def whole_name(server: str, name: str) -> str:
    """Return the name of a server's prompt in the gateway."""
    return f"{server}{SEPARATOR}{name}"
