"""Serve the gateway over stdio or streamable HTTP until it is told to stop."""

import asyncio
import gc
import os
import signal
import socket
import sys
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from toolscout.common.addresses import listen
from toolscout.gateway.mcp.gateway import Gateway
from toolscout.gateway.mcp.log import log_to_stderr
from toolscout.gateway.mcp.web import serve_http
from toolscout.settings import Settings


def serve(
    gateway: Gateway, http: tuple[str, int] | None, key: str | None, settings: Settings
) -> int:
    """Serve until the host closes standard input, or a signal; returns the exit status.

    Args:
        gateway: what to serve.
        http: host and port; None for stdio.
        key: that of hosts.
        settings: limits.

    Raises:
        OSError: nobody can listen at the address.
    """
    listener = None if http is None else listen(*http)
    log_to_stderr()
    asyncio.run(_serve(gateway, settings, key, listener))
    return 0


async def _serve(
    gateway: Gateway, settings: Settings, key: str | None, listener: socket.socket | None
) -> None:
    gc.collect()
    gc.freeze()  # a collection would walk all that was loaded, and hold every call up meanwhile
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    has_terminal = sys.stdin.isatty()

    def read_files_or_end() -> None:
        """Read all files again; end where the terminal that it was started from is gone."""
        gateway.read_files()
        if has_terminal and not sys.stdin.isatty():
            stop.set()

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, read_files_or_end)
    async with gateway.running():
        server = gateway.hosts.server
        if listener is not None:
            # It takes the signals over when it serves, and raises here again what has ended it.
            await serve_http(server, key, listener, settings, stop, gateway.keys)
            return
        main = asyncio.ensure_future(_serve_stdio(server))
        stopped = asyncio.ensure_future(stop.wait())
        await asyncio.wait((main, stopped), return_when=asyncio.FIRST_COMPLETED)
    if not main.done():
        os._exit(0)  # nothing ends the thread that reads standard input
    stopped.cancel()


async def _serve_stdio(server: "Server[Any]") -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
