"""The commands `toolscout mcp` and `toolscout import`; what they need is loaded when they run.

The gateway is served over stdio or streamable HTTP until it is told to stop.
"""

import argparse
import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import fastmcp
import msgspec
from fastmcp import FastMCP

from toolscout import __version__
from toolscout.common.addresses import listen
from toolscout.contract.fields import Risk
from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.definitions import instructions, prompts
from toolscout.gateway.mcp.gateway import Gateway
from toolscout.gateway.mcp.requests import Requests
from toolscout.gateway.mcp.web import KEY, serve_http
from toolscout.serving.callers import check_key
from toolscout.settings import Settings
from toolscout.settings_sources import load_serving
from toolscout.terminal import YELLOW, painted

LIBRARIES = ("asyncio", "fastmcp", "httpcore2", "httpx2", "mcp", "sse_starlette", "uvicorn")
"""Loggers that write addresses, arguments and stack traces; what matters is logged here."""

logger = logging.getLogger("toolscout.mcp")


def serve(
    gateway: Gateway, http: tuple[str, int] | None, key: str | None, settings: Settings
) -> int:
    """Serve until the host closes standard input, or a signal; returns the exit status.

    Raises:
        ConfigurationError: an address that others can reach has no key, or the key is short.
    """
    _log_to_stderr()
    listener = None
    if http is not None:
        check_key(http[0], KEY, key, insecure=settings.insecure)
        try:
            listener = listen(*http)
        except OSError as error:
            logger.error("%s", error)
            return 1
    return asyncio.run(_serve(gateway, listener, key, settings))


async def _serve(
    gateway: Gateway, listener: socket.socket | None, key: str | None, settings: Settings
) -> int:
    server: FastMCP[None] = FastMCP(
        "toolscout",
        instructions(gateway.config),
        version=__version__,
        middleware=[Requests(gateway)],
        mask_error_details=True,
        dereference_schemas=False,
    )
    for prompt in prompts(gateway):
        server.add_prompt(prompt)
    gc.collect()
    gc.freeze()  # a collection would walk all that was loaded, and hold every call up meanwhile
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with gateway.running():
        if listener is not None:
            await serve_http(server, listener, stop, key, settings)
            return 0
        main = asyncio.ensure_future(server.run_stdio_async(show_banner=False))
        stopped = asyncio.ensure_future(stop.wait())
        await asyncio.wait((main, stopped), return_when=asyncio.FIRST_COMPLETED)
    if not main.done():
        os._exit(0)  # nothing ends the thread that reads standard input
    stopped.cancel()
    return 0


def _log_to_stderr() -> None:
    """Log in lines, never a stack trace: hosts keep what is written to standard error."""
    fastmcp.settings.log_enabled = False
    logging.raiseExceptions = False
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(message)s")
    for name in LIBRARIES:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


PACKAGES = ("fastmcp", "faiss", "model2vec", "rapidfuzz")
"""Some of what the extra brings, without which nothing works."""


def add_gateway_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `toolscout mcp`."""
    _add_file(parser, "--config")
    add = parser.add_argument
    add("--http", metavar="HOST:PORT", help="serve streamable HTTP at /mcp instead of stdio")
    add("--max-risk", choices=get_args(Risk), help="offer no tool of a higher risk")
    add("--pin", nargs="+", default=(), metavar="TOOL", help="tools to list as themselves")
    pins = "file of accepted definitions, other ones are refused; written if there is none"
    add("--pin-definitions", metavar="FILE", type=Path, help=pins)
    accept = "accept tools as they are now, by SERVER__TOOL or a pattern such as git__*, and end"
    add("--accept", nargs="+", default=(), metavar="NAME", help=accept)
    add("--store", metavar="URL", default="memory", help="keep what was learned: sqlite:PATH")


def add_import_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `toolscout import`."""
    _add_file(parser, "--mcp")
    add = parser.add_argument
    add("--catalog", metavar="NAME", required=True, help="name of the catalog")
    add("--url", default="http://127.0.0.1:8080", help="address of the service")


def gateway(parsed: argparse.Namespace) -> int:
    """Run the gateway; returns the exit status.

    Raises:
        ConfigurationError: the file, a flag or the installation is at fault.
    """
    from toolscout.gateway.mcp.config import read_config

    config = read_config(parsed.config, os.environ)
    _warn(parsed.config, config.warnings)
    _check_installed()
    from toolscout.gateway.mcp import importing, web
    from toolscout.gateway.mcp.gateway import Gateway
    from toolscout.gateway.mcp.pins import Pins

    given = config.options
    options = msgspec.structs.replace(
        given,
        max_risk=parsed.max_risk or given.max_risk,
        pinned=tuple(dict.fromkeys((*given.pinned, *parsed.pin))),
    )
    config = msgspec.structs.replace(config, options=options)
    if parsed.accept and parsed.pin_definitions is None:
        raise ConfigurationError("accept: expected --pin-definitions FILE, too")
    pins = parsed.pin_definitions and Pins(parsed.pin_definitions, tuple(parsed.accept))
    if parsed.accept:
        print(importing.accept(config, pins))  # noqa: T201  # a command prints
        return 0
    http = None if parsed.http is None else web.read_address(parsed.http)
    settings = load_serving(vars(parsed))
    key = os.environ.get(web.KEY)
    return serve(Gateway(config, parsed.store, pins), http, key, settings)


def import_servers(parsed: argparse.Namespace) -> int:
    """Register the tools of the servers at a service; returns the exit status.

    Raises:
        ConfigurationError: the file, a server, the service or the installation is at fault.
    """
    from toolscout.gateway.mcp.config import read_config

    config = read_config(parsed.mcp, os.environ)
    _warn(parsed.mcp, config.warnings)
    _check_installed()
    from toolscout.gateway.mcp import importing

    key = os.environ.get("TOOLSCOUT_API_KEY")
    print(importing.run(config, parsed.catalog, parsed.url, key))  # noqa: T201  # a command prints
    return 0


def _add_file(parser: argparse.ArgumentParser, flag: str) -> None:
    text = "JSON file with mcpServers, as hosts have it"
    parser.add_argument(flag, type=Path, metavar="FILE", required=True, help=text)


def _warn(path: Path, warnings: Iterable[str]) -> None:
    for warning in warnings:
        sys.stderr.write(f"{painted('toolscout:', YELLOW, sys.stderr)} {path}: {warning}\n")


def _check_installed() -> None:
    for name in PACKAGES:
        if find_spec(name) is None:
            raise ConfigurationError(f"{name} is not installed: pip install '.[mcp]' in the clone")
