"""The gateway over streamable HTTP: its address, its key, and a server that others may stop."""

import asyncio
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from hmac import compare_digest

from fastmcp import FastMCP
from fastmcp.server.auth import AccessToken, TokenVerifier

from toolscout.common.loopback import is_loopback
from toolscout.errors import ConfigurationError
from toolscout.serving.server import LimitedServer
from toolscout.settings_sources import load_serving

KEY = "TOOLSCOUT_MCP_KEY"
"""The variable with the key that hosts send."""

MIN_KEY_CHARS = 32

PATH = "/mcp"

GRACE_S = 5
"""Seconds that open calls may take to finish after a signal."""


class KeyVerifier(TokenVerifier):
    """Lets hosts in that send the one key there is."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key.encode()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return who sends a token; None unless it is the key."""
        if compare_digest(token.encode(), self._key):
            return AccessToken(token=token, client_id="host", scopes=[])
        return None


def read_address(text: str) -> tuple[str, int]:
    """Return host and port of `HOST:PORT` or `PORT`.

    Raises:
        ConfigurationError: it is neither.
    """
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 65_536:
        raise ConfigurationError(f"http: expected HOST:PORT, got {text!r}")
    return host.strip("[]") or "127.0.0.1", int(port)


def check_key(host: str, key: str | None) -> None:
    """Check that only who has a key can reach the gateway.

    Raises:
        ConfigurationError: others can reach the address and there is no key, or it is short.
    """
    if key is None and not is_loopback(host):
        raise ConfigurationError(f"http: {host} can be reached by others: set {KEY}")
    if key is not None and len(key) < MIN_KEY_CHARS:
        raise ConfigurationError(f"{KEY}: at least {MIN_KEY_CHARS} characters")


async def serve_http(server: "FastMCP[None]", listener: socket.socket, stop: asyncio.Event) -> None:
    """Serve until the event is set, and then until open calls are over."""
    host = listener.getsockname()[0]
    # No page in a browser may call a loopback address, by whatever name.
    names = [host] if is_loopback(host) else None
    application = server.http_app(PATH, host_origin_protection="auto", allowed_hosts=names)
    web = _Web(application, load_serving(), logging.getLogger("toolscout.mcp"), GRACE_S)

    async def end() -> None:
        await stop.wait()
        web.should_exit = True

    ending = asyncio.ensure_future(end())
    await web.serve([listener])
    ending.cancel()


class _Web(LimitedServer):
    """Leaves signals alone: the servers behind the gateway have to be ended, too."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
