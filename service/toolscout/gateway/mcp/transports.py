"""Transports to the configured servers, with what they write to standard error made safe."""

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from fastmcp.client.transports import (
    ClientTransport,
    SSETransport,
    StdioTransport,
    StreamableHttpTransport,
)

from toolscout.gateway.mcp.servers import HttpServer, Server, StdioServer

MIN_SECRET_CHARS = 4
"""Shorter values, such as `1` or `on`, are no secrets, and may be part of any word."""

MAX_LINE_CHARS = 2_000
"""Characters of a line of a server's standard error that are logged."""

logger = logging.getLogger("toolscout.mcp")


@contextmanager
def transport_to(name: str, server: Server) -> Iterator[ClientTransport]:
    """Yield a transport for one connection to a server.

    A subprocess gets the variables of its own configuration and those that hosts pass on (`PATH`,
    `HOME`, `USER` and the like), not the rest of this process's environment. Its standard error
    goes to the log.
    """
    if isinstance(server, StdioServer):
        with _logged(name, server.secrets) as written:
            yield StdioTransport(
                server.command,
                list(server.args),
                env=server.env,
                cwd=server.cwd,
                keep_alive=False,
                log_file=written,
            )
    else:
        yield _http(server)


def _http(server: HttpServer) -> ClientTransport:
    ends_in_sse = server.url.partition("?")[0].rstrip("/").endswith("/sse")
    if server.transport == "sse" or (server.transport is None and ends_in_sse):
        return SSETransport(server.url, headers=server.headers)
    return StreamableHttpTransport(server.url, headers=server.headers)


def redacted(text: str, secrets: tuple[str, ...]) -> str:
    """Return a text without the values of secrets."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= MIN_SECRET_CHARS:
            text = text.replace(secret, "***")
    return text


@contextmanager
def _logged(name: str, secrets: tuple[str, ...]) -> Iterator[object]:
    """Yield the writing end of a pipe whose lines are logged under a server's name."""
    source, target = os.pipe()

    def relay() -> None:
        with os.fdopen(source, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                text = redacted(line.rstrip("\n")[:MAX_LINE_CHARS], secrets)
                logger.info("%s: %s", name, text)

    # Ends when the last process with the other end has gone, and holds up no exit.
    threading.Thread(target=relay, name=f"stderr of {name}", daemon=True).start()
    with os.fdopen(target, "w", encoding="utf-8") as written:
        yield written
