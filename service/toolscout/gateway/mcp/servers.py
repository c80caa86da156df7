"""A whole configuration: the servers, of either transport, and what is offered of them."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, ClassVar, Literal
from urllib.parse import parse_qsl, urlsplit

import msgspec

from toolscout.contract.fields import Risk
from toolscout.tools.overlay import NO_OVERLAY, Overlay

SEPARATOR = "__"
"""Between a server and its tool. No prefix contains it, so no two tools have one name."""


Count = Annotated[int, msgspec.Meta(ge=0)]

_ESCAPED = re.compile(r"\[([*?[])\]")
"""A character that has no meaning in a pattern, as `glob.escape` writes it."""


class _Server(msgspec.Struct, frozen=True, kw_only=True):
    """What servers of both transports have in common."""

    allow: tuple[str, ...] | None = None
    """Patterns, as of file names, of the only tools to offer."""
    deny: tuple[str, ...] = ()
    """Patterns of tools never to offer."""
    pinned: bool = False
    """Whether its tools are listed as themselves, because its host lists them so."""
    keywords: dict[str, tuple[str, ...]] = {}
    examples: dict[str, tuple[str, ...]] = {}
    """Words that tools are searched by too, and requests that they serve, by their own names."""
    default_risk: Risk = "write_remote"
    """The risk of a tool whose annotations, name and description show no effect."""
    start: Literal["eager", "demand"] = "demand"
    """Whether the server runs all the time, or from the first call on."""
    timeout_s: float | None = None
    """Seconds that a call may take; without limit by default, for the host can cancel."""
    idle_timeout_s: float | None = None
    """Seconds without a call after which it is stopped; by default never: it may hold a state."""
    max_result_chars: Count | None = None
    """Characters of text of a result that are passed on; None as for all servers, 0 for all."""
    start_s: float = 60.0
    """Seconds to start and to agree on a protocol; `npx` may download the server first."""
    fault: str | None = None
    """Why it cannot be started: a variable that its entry names is not set. Its values are then as
    they are written."""


class StdioServer(_Server, frozen=True, kw_only=True):
    """A server to run as a subprocess."""

    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the names of the variables that it is given."""
        return tuple(self.env)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return what no log and no error may show."""
        return tuple(self.env.values())


CALLBACK_PORT = 19_877
"""The port of the redirect URI that a person registers, unless another is given."""


class OAuthClient(msgspec.Struct, frozen=True, kw_only=True):
    """What a person has registered at the authorization server of a server, and asks it for."""

    client_id: str | None = None
    """None where clients register themselves."""
    client_secret: str | None = None
    scopes: tuple[str, ...] = ()
    """Those to ask for; by default what the server names."""
    callback_port: Annotated[int, msgspec.Meta(ge=1, le=65_535)] | None = None
    """Of its redirect URI; by default any of one that registers itself, else the same always."""


class HttpServer(_Server, frozen=True, kw_only=True):
    """A server to reach over HTTP."""

    url: str
    headers: dict[str, str] = {}
    transport: Literal["http", "sse"] | None = None
    """Decided by the URL if absent."""
    auth: OAuthClient | None = None
    """Whether it asks for a token that a person gets by `toolscout mcp --login`."""

    @property
    def is_sse(self) -> bool:
        """Return whether it is reached over SSE, by the URL where nothing says so."""
        ends_in_sse = self.url.partition("?")[0].rstrip("/").endswith("/sse")
        return self.transport == "sse" or (self.transport is None and ends_in_sse)

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the names of the headers that it is sent."""
        return tuple(self.headers)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return what no log and no error may show."""
        url = urlsplit(self.url)
        keys = (value.rpartition(" ")[2] for value in self.headers.values())  # after "Bearer"
        client = (self.auth and self.auth.client_secret) or ""
        return (*keys, *(value for _, value in parse_qsl(url.query)), url.password or "", client)


class FolderServer(_Server, frozen=True, kw_only=True):
    """Folders of skills and subagents, which this process lists and reads."""

    folders: tuple[str, ...]
    start: Literal["eager", "demand"] = "eager"
    """Nothing is started: the folders are looked at again and again."""
    keys: ClassVar[tuple[str, ...]] = ()
    secrets: ClassVar[tuple[str, ...]] = ()


Server = StdioServer | HttpServer | FolderServer


class ServerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the gateway does with all servers."""

    max_risk: Risk = "destructive"
    """Tools of a higher risk are not offered."""
    pinned: tuple[str, ...] = ()
    """Tools to list as themselves: names as `server__tool`, patterns, or `server:NAME`."""
    all_meta_tools: bool = False
    """Whether to list the meta-tools that are rarely used, too."""
    max_result_chars: Count = 0
    """Characters of text of a result that are passed on; 0 for all."""


class Config(msgspec.Struct, frozen=True):
    """A whole file; servers are named by their prefixes."""

    servers: dict[str, Server]
    options: ServerOptions
    warnings: tuple[str, ...] = ()
    """What was ignored, or read otherwise than some host would, a line each."""
    disabled: tuple[str, ...] = ()
    """Servers that the file names and switches off."""
    overlay: Overlay = NO_OVERLAY
    """What the operator adds to tools."""

    @property
    def has_pins(self) -> bool:
        """Return whether tools of servers are to be listed as themselves."""
        return bool(self.options.pinned) or any(one.pinned for one in self.servers.values())


NO_SERVERS = Config({}, ServerOptions())


def is_permitted(name: str, allow: Iterable[str] | None, deny: Iterable[str]) -> bool:
    """Whether patterns, as of file names, let a name through.

    A name is denied as it is written, too: `[` may be a part of it.
    """
    if any(name == pattern or fnmatchcase(name, pattern) for pattern in deny):
        return False
    return allow is None or any(fnmatchcase(name, pattern) for pattern in allow)


def find_unmatched(patterns: Iterable[str] | None, names: Sequence[str]) -> list[str]:
    """Return the patterns that match no name; of an exact name with `*` or such, says that it is.

    Such a name may have been meant as a pattern.
    """
    left = [one for one in patterns or () if not any(fnmatchcase(name, one) for name in names)]
    left = [one for one in left if one not in names]
    written = [_ESCAPED.sub(r"\1", one) for one in left]
    return [
        name if name == one else f"{name} (an exact name)"
        for one, name in zip(left, written, strict=True)
    ]


def find_prefix(name: str) -> str:
    """Return the prefix of a server's tools: letters, digits, `-` and single `_`.

    It neither contains `__` nor ends in `_`, so that `prefix__tool` has one reading.
    """
    return re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9_-]", "_", name)).strip("_")
