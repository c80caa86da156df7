"""Serve the gateway over stdio or streamable HTTP."""

import asyncio
import logging
import signal
import sys
from hmac import compare_digest

import fastmcp
from fastmcp import FastMCP
from fastmcp.server.auth import AccessToken, TokenVerifier

from toolscout import __version__
from toolscout.common.loopback import is_loopback
from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.config import Config
from toolscout.gateway.mcp.definitions import instructions
from toolscout.gateway.mcp.gateway import Gateway
from toolscout.gateway.mcp.requests import Requests

KEY = "TOOLSCOUT_MCP_KEY"
"""The variable with the key that hosts send over HTTP."""

MIN_KEY_CHARS = 32

PATH = "/mcp"

GRACE_S = 5
"""Seconds that open calls may take to finish after SIGTERM."""

LIBRARIES = ("asyncio", "fastmcp", "httpcore2", "httpx2", "mcp", "sse_starlette", "uvicorn")
"""Loggers that write addresses, arguments and stack traces; what matters is logged here."""


class _Key(TokenVerifier):
    """Lets hosts in that send the one key there is."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key.encode()

    async def verify_token(self, token: str) -> AccessToken | None:
        if compare_digest(token.encode(), self._key):
            return AccessToken(token=token, client_id="host", scopes=[])
        return None


def address(text: str) -> tuple[str, int]:
    """Return host and port of `HOST:PORT` or `PORT`.

    Raises:
        ConfigurationError: it is neither.
    """
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 65_536:
        raise ConfigurationError(f"http: expected HOST:PORT, got {text!r}")
    return host.strip("[]") or "127.0.0.1", int(port)


def serve(config: Config, store: str, http: tuple[str, int] | None, key: str | None) -> int:
    """Serve until the host closes standard input, or a signal; returns the exit status.

    Raises:
        ConfigurationError: an address that others can reach has no key, or the key is short.
    """
    if http is not None:
        _check_key(http[0], key)
    _log_to_stderr()
    try:
        return asyncio.run(_serve(config, store, http, key))
    except KeyboardInterrupt:
        return 0


async def _serve(config: Config, store: str, http: tuple[str, int] | None, key: str | None) -> int:
    gateway = Gateway(config, store)
    server: FastMCP[None] = FastMCP(
        "toolscout",
        instructions(config),
        version=__version__,
        middleware=[Requests(gateway)],
        auth=_Key(key) if http and key else None,
        mask_error_details=True,
        dereference_schemas=False,
    )
    async with gateway.running():
        if http is None:
            main = asyncio.ensure_future(server.run_stdio_async(show_banner=False))
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, main.cancel)
        else:
            host, port = http
            quiet = {"log_config": None, "access_log": False, "timeout_graceful_shutdown": GRACE_S}
            main = asyncio.ensure_future(
                server.run_http_async(
                    show_banner=False,
                    host=host,
                    port=port,
                    path=PATH,
                    host_origin_protection="auto",  # no page in a browser may call a loopback
                    uvicorn_config=quiet,
                )
            )
        await asyncio.wait((main,))
    if main.cancelled():
        return 0
    return 0 if main.exception() is None else 1


def _check_key(host: str, key: str | None) -> None:
    if key is None and not is_loopback(host):
        raise ConfigurationError(f"http: {host} can be reached by others: set {KEY}")
    if key is not None and len(key) < MIN_KEY_CHARS:
        raise ConfigurationError(f"{KEY}: at least {MIN_KEY_CHARS} characters")


def _log_to_stderr() -> None:
    """Log in lines, never a stack trace: hosts keep what is written to standard error."""
    fastmcp.settings.log_enabled = False
    logging.raiseExceptions = False
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(message)s")
    for name in LIBRARIES:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
