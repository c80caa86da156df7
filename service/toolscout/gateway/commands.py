"""The command `toolscout proxy`; what it needs is loaded when it runs."""

import argparse
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from toolscout.commands.terminal import read_positive, read_whole_number
from toolscout.common.addresses import listen
from toolscout.common.threads import end_with_parent
from toolscout.errors import ConfigurationError, InvalidArgument
from toolscout.settings import Settings
from toolscout.settings_sources import load_serving

if TYPE_CHECKING:
    from toolscout.serving.limited import LimitedServer
    from toolscout.turns.config import DiscoveryConfig

KEY = "TOOLSCOUT_PROXY_KEY"
"""The variable with the key that callers send in `X-Toolscout-Key`."""

WHOSE_KEY = "proxy in X-Toolscout-Key"

MAX_HELD_BYTES = 192 * 1024 * 1024
"""Three of the largest requests that are looked into."""

FAILED = 1

START_S = 10.0
"""Seconds in which a worker that fails is one that cannot start."""

RESTART_PAUSE_S = 1.0
"""Seconds before another worker is started in place of one that has ended by itself."""

SELECTOR = "http://127.0.0.1:8080"


def add_proxy_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `toolscout proxy`, but for those of how HTTP is served.

    A key of `pipes.tool_discovery` that decides something is a flag of the same name.
    """
    add = parser.add_argument
    add("--upstream", metavar="URL", required=True, help="address of the provider, with its path")
    about = "YAML file with the section pipes.tool_discovery; flags go before it"
    add("--config", metavar="FILE", help=about)
    about = f"address of the service; {SELECTOR} without a file"
    add("--selector", metavar="URL", help=about)
    about = "how long a search may take, such as 800ms"
    add("--selector-timeout", metavar="DURATION", help=about)
    about = "hybrid-first, api, tool-search, relevance or passthrough"
    add("--strategy", metavar="NAME", help=about)
    about = "a tool, pattern or server:NAME that every model sees"
    add("--always-keep", metavar="NAME", action="append", help=about)
    add("--max-search-results", metavar="COUNT", help="most tools that a search brings")
    add("--defer-above", metavar="COUNT", help="pass requests with at most this many tools on")
    about = (
        "call found tools through one constant tool: auto (without a file), from the second find "
        "on; on; or off (with a file)"
    )
    add("--dispatch", metavar="MODE", help=about)
    add("--defer-above-tokens", metavar="COUNT", help="the same by the tokens of their definitions")
    add("--ask-every-turn", metavar="BOOL", help="ask for tools at each message of a user")
    add("--rollout", metavar="MODE", help="off, dark, shadow, percent:N or on")
    about = "bring all tools back when nothing fits a search"
    add("--restore-on-no-match", metavar="BOOL", help=about)
    add("--search-tool-name", metavar="NAME", help="what models know the search as")
    add("--min-tools", metavar="COUNT", help="fewest tools that relevance keeps")
    add("--max-tools", metavar="COUNT", help="most tools that relevance keeps")
    add("--target-ratio", metavar="SHARE", help="share of the tools that relevance keeps")
    about = f"address to listen on; others than loopback need {KEY}"
    add("--host", default="127.0.0.1", help=about)
    add("--port", type=read_whole_number, default=8100, help="port to listen on")
    about = "port of /metrics and /healthz; 0 for neither"
    add("--metrics-port", metavar="PORT", type=read_whole_number, default=0, help=about)
    about = "a further header that identifies callers; may be repeated"
    add("--scope-header", metavar="NAME", action="append", default=[], help=about)
    about = "how long open answers may take to finish after SIGTERM"
    add("--drain", metavar="SECONDS", type=read_whole_number, default=300, help=about)
    about = "bytes of requests to hold at a time for searching; others are passed on unsearched"
    add(
        "--max-held-bytes",
        metavar="COUNT",
        type=read_whole_number,
        default=MAX_HELD_BYTES,
        help=about,
    )
    about = "connections to the provider; more requests wait for one"
    add("--max-connections", metavar="COUNT", type=read_positive, default=1_000, help=about)
    about = "how long the provider may take to accept a connection, and a request to get one"
    add("--connect-timeout", metavar="SECONDS", type=read_positive, default=10, help=about)
    about = "how long the provider may be silent before and within an answer; 0 sets no limit"
    add("--read-timeout", metavar="SECONDS", type=read_whole_number, default=0, help=about)
    about = "processes that share the port; each has its own conversations, connections and breaker"
    add("--workers", metavar="COUNT", type=read_positive, default=1, help=about)
    about = "report to the service which tools were called after a search"
    add("--learn", choices=("on", "off"), default="on", help=about)


def proxy(parsed: argparse.Namespace) -> int:
    """Run the proxy; returns the exit status.

    Raises:
        ConfigurationError: a flag, the key, a file or the installation is at fault.
        OSError: nobody can listen at the address.
    """
    from toolscout.serving.callers import check_key

    settings = load_serving(vars(parsed))
    check_key(parsed.host, KEY, os.environ.get(KEY) or None, insecure=settings.insecure)
    _log_to_stderr()
    with TemporaryDirectory() if parsed.workers > 1 else nullcontext() as figures:
        if figures is not None:  # read by the library when it is loaded
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = figures
        server = _make_server(
            parsed, settings
        )  # what is wrong is said here, before anything listens
        sockets = [listen(parsed.host, parsed.port, "set another by --port")]
        if parsed.metrics_port:
            another = "set another by --metrics-port"
            sockets.append(listen(parsed.host, parsed.metrics_port, another))
        if parsed.workers == 1:
            return _serve(server, sockets)
        return _run_workers(parsed.workers, lambda: _serve(_make_server(parsed, settings), sockets))


def _run_workers(count: int, serve: Callable[[], int]) -> int:
    """Serve in forks of this process until it gets a signal, which ends them all.

    One that ends by itself is replaced; one that cannot start, at the beginning, ends the others.
    """
    logger = logging.getLogger("toolscout.proxy")
    began = monotonic()
    started: set[int] = set()
    signals = (signal.SIGTERM, signal.SIGINT)
    status: list[int] = []

    def end(*_: object) -> None:
        status.append(0)
        for process in started:
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(process, signal.SIGTERM)

    def worker() -> NoReturn:
        end_with_parent(signal.SIGTERM)
        for each in signals:
            signal.signal(each, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
        code = FAILED
        try:
            code = serve()
        except Exception:
            logger.exception("a worker could not go on")
        finally:
            os._exit(code)

    for each in signals:
        signal.signal(each, end)
    while not status or started:
        while len(started) < count and not status:
            signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # until it is known whom to end
            started.add(os.fork() or worker())
            signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
        process, ended = os.wait()
        started.discard(process)
        if status:
            continue
        logger.error("worker %d has ended", process)
        if os.waitstatus_to_exitcode(ended) == FAILED and monotonic() < began + START_S:
            status.append(FAILED)
            end()
        else:
            sleep(RESTART_PAUSE_S)
    return status[0]


def _make_server(parsed: argparse.Namespace, settings: Settings) -> "LimitedServer":
    """Make the server of one process."""
    import httpx2
    from prometheus_client import CollectorRegistry, ProcessCollector
    from prometheus_client.multiprocess import MultiProcessCollector

    from toolscout.client.events import log_event, log_turn
    from toolscout.client.metrics import PrometheusMetrics
    from toolscout.gateway.callers import CallerCheck
    from toolscout.gateway.proxy import Proxy
    from toolscout.serving.limited import make_server
    from toolscout.turns.drivers.transport import AsyncTransport

    wait = parsed.connect_timeout
    timeout = httpx2.Timeout(None, connect=wait, pool=wait, read=parsed.read_timeout or None)
    limits = httpx2.Limits(max_connections=parsed.max_connections, max_keepalive_connections=100)
    config = _load_config(parsed)
    registry = CollectorRegistry()
    is_one = parsed.workers == 1
    shown = registry if is_one else CollectorRegistry()  # of several, each shows the sums of all
    collect: Any = ProcessCollector if is_one else MultiProcessCollector
    collect(registry=shown)
    figures = PrometheusMetrics(registry)
    try:
        transport = AsyncTransport(
            config,
            limits=limits,
            scope_headers=parsed.scope_header,
            learn=parsed.learn == "on",
            observers=[log_event, figures],
            turn_observers=[log_turn, figures],
            api_key=os.environ.get("TOOLSCOUT_API_KEY") or config.api.api_key or None,
        )
    except InvalidArgument as error:  # in the client's words
        raise ConfigurationError(str(error).replace("endpoint:", "selector:", 1)) from None
    key = os.environ.get(KEY) or None
    made = Proxy(
        upstream=parsed.upstream,
        transport=transport,
        callers=CallerCheck(parsed.host, settings.allowed_hosts, key, WHOSE_KEY),
        timeout=timeout,
        body_timeout_s=settings.caller_timeout_s,
        max_held_bytes=parsed.max_held_bytes,
        metrics_port=parsed.metrics_port,
        registry=shown,
    )
    log = logging.getLogger("toolscout.proxy")
    server = make_server(made, settings, log, parsed.drain, host=parsed.host, port=parsed.port)
    made.count_refusal = server.connections.refused
    return server


def _load_config(parsed: argparse.Namespace) -> "DiscoveryConfig":
    """Return what the file says, and the flags instead of it."""
    from toolscout.turns.config import DiscoveryConfig, load

    flags = {name: value for name, value in vars(parsed).items() if value is not None}
    changes = {key: flags[key] for key in DiscoveryConfig.__struct_fields__ if key in flags}
    names = {"endpoint": "selector", "timeout": "selector_timeout"}
    of_api = {key: flags[flag] for key, flag in names.items() if flag in flags}
    if parsed.config is not None:
        return load(parsed.config, {**changes, "api": of_api})
    alone = {
        "enabled": True,
        "strategy": "hybrid-first",
        "restore_on_no_match": False,
        "dispatch": "auto",
    }
    return DiscoveryConfig.of({**alone, **changes, "api": {"endpoint": SELECTOR, **of_api}})


def _serve(server: "LimitedServer", sockets: list[socket.socket]) -> int:
    # One that comes before it serves ends it, too. The server raises the signal again that has
    # ended it, and such an end is no failure.
    signal.signal(signal.SIGTERM, server.handle_exit)
    try:
        server.run(sockets)
    except SystemExit:  # uvicorn exits if it cannot start, after printing the reason
        return FAILED
    return 0 if server.started else FAILED


_EVENTS = ("tool_search", "turn")
"""Attributes of records that hold the fields of an event."""


class _JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object, with the fields of its event."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        fields |= {name: vars(record)[name] for name in _EVENTS if name in vars(record)}
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(fields, enc_hook=str).decode()


def _log_to_stderr() -> None:
    """Log JSON lines, text on a terminal, and nothing that could hold a secret."""
    handler = logging.StreamHandler(sys.stderr)
    text = logging.Formatter("%(levelname)s %(message)s")
    handler.setFormatter(text if sys.stderr.isatty() else _JsonFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    # It writes the URL of every request, and a query may hold a key.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    # An answer that the provider broke off is broken off by having no end.
    logging.getLogger("uvicorn.error").addFilter(lambda line: "without completing" not in line.msg)
