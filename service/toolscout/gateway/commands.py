"""The command `toolscout proxy`; what it needs is loaded when it runs."""

import argparse
import logging
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from toolscout.common.addresses import listen
from toolscout.errors import ConfigurationError, InvalidArgument
from toolscout.settings import Settings
from toolscout.settings_sources import load_serving
from toolscout.terminal import positive, whole_number

if TYPE_CHECKING:
    from toolscout.gateway.proxy import Proxy

KEY = "TOOLSCOUT_PROXY_KEY"
"""The variable with the key that callers send in `X-Toolscout-Key`."""

MAX_HELD_BYTES = 32 * 1024 * 1024

FAILED = 1


_FLAGS: tuple[tuple[str, str | None, Any, str], ...] = (
    ("--selector", "URL", "http://127.0.0.1:8080", "address of the service"),
    ("--host", None, "127.0.0.1", f"address to listen on; others than loopback need {KEY}"),
    ("--port", None, 8100, "port to listen on"),
    ("--always-keep", "NAME", [], "a tool that every model sees; may be repeated"),
    ("--scope-header", "NAME", [], "a further header that identifies callers; may be repeated"),
    ("--top-k", "COUNT", 5, "most tools that a search brings"),
    ("--defer-above", "COUNT", 10, "forward requests with at most this many tools unchanged"),
    ("--rollout", "MODE", "on", "off, dark, shadow, percent:N or on"),
    ("--drain", "SECONDS", 300, "how long open answers may take to finish after SIGTERM"),
    (
        *("--max-held-bytes", "COUNT", MAX_HELD_BYTES),
        "bytes of requests to hold at a time for searching; others are passed on unsearched",
    ),
    (
        *("--max-connections", "COUNT", 1_000),
        "connections to the provider; more requests wait for one",
    ),
    (
        *("--connect-timeout", "SECONDS", 10),
        "how long the provider may take to accept a connection, and a request to get one",
    ),
    (
        *("--read-timeout", "SECONDS", 0),
        "how long the provider may be silent before and within an answer; 0 sets no limit",
    ),
)
"""Each flag with the name of its value, its default and its help."""

_AT_LEAST_ONE = ("--top-k", "--max-connections", "--connect-timeout")


def add_proxy_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `toolscout proxy`, but for those of how HTTP is served."""
    about = "address of the provider, with its path"
    parser.add_argument("--upstream", metavar="URL", required=True, help=about)
    for flag, value, default, text in _FLAGS:
        options: dict[str, Any] = {"metavar": value, "default": default, "help": text}
        if isinstance(default, list):
            options["action"] = "append"
        elif isinstance(default, int):
            options["type"] = positive if flag in _AT_LEAST_ONE else whole_number
        parser.add_argument(flag, **options)
    about = "report to the service which tools were called after a search"
    parser.add_argument("--learn", choices=("on", "off"), default="on", help=about)


def proxy(parsed: argparse.Namespace) -> int:
    """Run the proxy; returns the exit status.

    Raises:
        ConfigurationError: a flag, the key, a file of TLS or the installation is at fault.
        OSError: nobody can listen at the address.
    """
    import httpx2

    from toolscout.discovery import AsyncTransport
    from toolscout.gateway.proxy import Proxy
    from toolscout.serving.callers import CallerGuard, check_key

    settings = load_serving(vars(parsed))
    key = os.environ.get(KEY) or None
    check_key(parsed.host, KEY, key, insecure=settings.insecure)
    wait = parsed.connect_timeout
    timeout = httpx2.Timeout(None, connect=wait, pool=wait, read=parsed.read_timeout or None)
    limits = httpx2.Limits(max_connections=parsed.max_connections, max_keepalive_connections=100)
    try:
        transport = AsyncTransport(
            parsed.selector,
            limits=limits,
            api_key=os.environ.get("TOOLSCOUT_API_KEY"),
            always_keep=parsed.always_keep,
            scope_headers=parsed.scope_header,
            top_k=parsed.top_k,
            defer_above=parsed.defer_above,
            rollout=parsed.rollout,
            learn=parsed.learn == "on",
        )
    except InvalidArgument as error:  # in the client's words
        raise ConfigurationError(str(error).replace("endpoint:", "selector:", 1)) from None
    guard = CallerGuard(parsed.host, settings.allowed_hosts)
    made = Proxy(
        parsed.upstream,
        transport,
        guard=guard,
        key=key,
        timeout=timeout,
        body_timeout_s=settings.caller_timeout_s,
        max_held_bytes=parsed.max_held_bytes,
    )
    try:
        return _serve(made, settings, parsed)
    except SystemExit:  # uvicorn exits if it cannot start, after printing the reason
        return FAILED


def _serve(proxy: "Proxy", settings: Settings, parsed: argparse.Namespace) -> int:
    from toolscout.serving.server import LimitedServer

    # uvicorn would say it in its own words.
    listen(parsed.host, parsed.port, "set another by --port").close()
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(message)s")
    # These write the URL of every request, and a query may hold a key.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    # An answer that the provider broke off is broken off by having no end.
    logging.getLogger("uvicorn.error").addFilter(lambda line: "without completing" not in line.msg)
    logger = logging.getLogger("toolscout.proxy")
    server = LimitedServer(
        proxy, settings, logger, parsed.drain, host=parsed.host, port=parsed.port
    )
    proxy.count_refusal = server.refused
    # The server raises the signal again that has ended it, and such an end is no failure.
    signal.signal(signal.SIGTERM, lambda *_: None)
    server.run()
    return 0 if server.started else FAILED
