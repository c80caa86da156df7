"""The command `toolscout proxy`; what it needs is loaded when it runs."""

import argparse
import logging
import os
import signal
import sys
from typing import TYPE_CHECKING

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


def add_proxy_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `toolscout proxy`, but for those of how HTTP is served."""
    add = parser.add_argument
    add("--upstream", metavar="URL", required=True, help="address of the provider, with its path")
    add("--selector", metavar="URL", default="http://127.0.0.1:8080", help="address of the service")
    add(
        "--host", default="127.0.0.1", help=f"address to listen on; others than loopback need {KEY}"
    )
    add("--port", type=whole_number, default=8100, help="port to listen on")
    add(
        "--always-keep",
        metavar="NAME",
        action="append",
        default=[],
        help="a tool that every model sees; may be repeated",
    )
    add(
        "--scope-header",
        metavar="NAME",
        action="append",
        default=[],
        help="a further header that identifies callers; may be repeated",
    )
    most = "most tools that a search brings"
    add("--top-k", type=positive, metavar="COUNT", default=5, help=most)
    few = "forward requests with at most this many tools unchanged"
    add("--defer-above", type=whole_number, metavar="COUNT", default=10, help=few)
    add("--rollout", metavar="MODE", default="on", help="off, dark, shadow, percent:N or on")
    add(
        "--learn",
        choices=("on", "off"),
        default="on",
        help="report to the service which tools were called after a search",
    )
    add(
        "--drain",
        type=whole_number,
        metavar="SECONDS",
        default=300,
        help="how long open answers may take to finish after SIGTERM",
    )
    add(
        "--max-held-bytes",
        type=whole_number,
        metavar="COUNT",
        default=MAX_HELD_BYTES,
        help="bytes of requests to hold at a time for searching; others are passed on unsearched",
    )
    add(
        "--max-connections",
        type=positive,
        metavar="COUNT",
        default=1_000,
        help="connections to the provider; more requests wait for one",
    )
    add(
        "--connect-timeout",
        type=positive,
        metavar="SECONDS",
        default=10,
        help="how long the provider may take to accept a connection, and a request to get one",
    )
    add(
        "--read-timeout",
        type=whole_number,
        metavar="SECONDS",
        default=0,
        help="how long the provider may be silent before and within an answer; 0 sets no limit",
    )


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
