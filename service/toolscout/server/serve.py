"""Running it: uvicorn with a shutdown that loses no request."""

import os
import signal
import socket
import sys
from contextlib import suppress
from datetime import datetime
from functools import partial
from math import nan
from pathlib import Path
from time import perf_counter
from types import FrameType
from typing import cast

from toolscout import __version__, playground
from toolscout.common.addresses import listen, write_host
from toolscout.common.threads import is_any_running
from toolscout.index.lexicon import find_labels
from toolscout.index.static_model import BUNDLED_MODEL
from toolscout.server.compiling.worker import make_engine
from toolscout.server.http.auth import Keyring
from toolscout.server.http.expiring import find_expiring
from toolscout.server.service import Service, hash_model, open_tracing
from toolscout.serving import tls
from toolscout.serving.callers import check_reachable
from toolscout.serving.limited import LimitedServer
from toolscout.settings import Settings
from toolscout.state.opening import check_store
from toolscout.tools.overlay import read_overlay

BACKLOG = 2_048

LOOKUP = "timeout:1 attempts:1"
"""Options of the C library's resolver. A name server that is silent would hold the two threads that
look names up, and the end of the process, for ten seconds at a time; no store waits for one longer
than a second. A variable `RES_OPTIONS` that is set already is left as it is."""

SAME_SIGNAL_S = 1.0
"""Within this time a second SIGTERM is taken for an echo of the first."""


class Server(LimitedServer):
    """uvicorn's server, which prints its address and stops immediately on Ctrl-C.

    On SIGTERM it reports that it is not ready, and serves for `drain_s` more seconds, so that
    balancers notice first; answers carry `Connection: close` meanwhile. Then uvicorn closes idle
    connections and finishes open requests. A second SIGTERM skips the wait.

    On SIGHUP it reloads the API keys, the overlay and the TLS certificate.
    """

    def __init__(self, settings: Settings) -> None:
        from toolscout.server.app import create_app

        super().__init__(
            partial(create_app, settings),
            settings,
            factory=True,
            host=settings.host,
            port=settings.port,
            loop="uvloop",
            lifespan="on",
            log_level="warning",
            backlog=BACKLOG,
            timeout_graceful_shutdown=settings.shutdown_s,
        )
        self._draining_since = 0.0

    @property
    def service(self) -> Service:
        """What the application serves."""
        return cast(Service, self.config.loaded_app.service)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Load, listen, and say where."""
        self.connections = self.service.connections
        await super().startup(sockets)
        if self.started:
            self._loop.add_signal_handler(signal.SIGHUP, self._read_files)
            if certificate := self.certificate:
                ends = self.service.metrics.certificate_expiry.labels(self._settings.tls_cert)
                ends.set_function(lambda: _count_seconds(certificate.expires))
            if self.service.is_tested:
                self.service.log.info("ready", host=self._settings.host, port=self._settings.port)
            with suppress(OSError, AttributeError):  # closed, without a reader, or its disk full
                os.write(sys.stderr.fileno(), write_banner(self._settings).encode())

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop, or drain first; on Ctrl-C wait no longer than it takes to notice."""
        if sig == signal.SIGINT:
            self.config.timeout_graceful_shutdown = 1
        if sig == signal.SIGINT or not self.started:
            self.should_exit = True
        elif not self._draining_since:
            self._draining_since = perf_counter()
            self.service.draining = True
            self._loop.call_soon_threadsafe(self._drain)
        # A process group's signal and its parent's arrive together and mean one thing.
        elif perf_counter() - self._draining_since > SAME_SIGNAL_S:
            self._stop()

    def _drain(self) -> None:
        self.service.log.info("draining", seconds=self._settings.drain_s)
        self._loop.call_later(self._settings.drain_s, self._stop)

    def _stop(self) -> None:
        self.service.stopping = self.should_exit = True

    def _read_files(self) -> None:
        for each in (self.service.key_file, self.service.overlay, self.certificate):
            if each is not None:
                each.files.check()
        self.service.log.info("files_read", signal="SIGHUP")


def _count_seconds(time: datetime | None) -> float:
    """Return a time for a metric; one that is unknown is no number, and sets off no alert."""
    return nan if time is None else time.timestamp()


def serve(settings: Settings) -> int:
    """Serve until told to stop; returns the exit status.

    Where threads still compute, whoever they worked for is gone, and the process ends here: the
    interpreter would tear one down in the middle of a native call.

    Raises:
        ConfigurationError: the address is open to others and no key is set, or the model, a word
            list, a certificate or a package that a setting needs cannot be loaded.
        OSError: nobody can listen at the address.
    """
    check(settings)
    os.environ.setdefault("RES_OPTIONS", LOOKUP)
    # uvicorn would say it in its own words
    listen(settings.host, settings.port, "set another by TOOLSCOUT_PORT or --port").close()
    server = Server(settings)
    server.run()
    status = 0 if server.started else 1
    if is_any_running():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    return status


def check(settings: Settings) -> None:
    """Check what would keep the service from starting, but for the address.

    Raises:
        ConfigurationError: as `serve`.
    """
    keys = Keyring(settings.api_keys)
    check_reachable(
        settings.host, "TOOLSCOUT_API_KEYS", has_key=bool(len(keys)), insecure=settings.insecure
    )
    if settings.tracing:
        open_tracing().close()
    if settings.mcp:
        from toolscout.server.app import load_mcp_facade

        load_mcp_facade()
    tls.make_options(settings)
    check_store(settings.store)
    if settings.overlay:
        read_overlay(Path(settings.overlay))
    make_engine(settings)


_EXAMPLE = (
    '{"pattern":"read a file","top_k":1,"tools":['
    '{"name":"read_file","description":"Read a text file from disk"},'
    '{"name":"send_email","description":"Send a message to an address"}]}'
)


def write_banner(settings: Settings) -> str:
    """Return a few lines for a person, on standard error."""
    keys = len(Keyring(settings.api_keys))
    host = write_host(settings.host)
    # Nobody can connect to "all addresses"; the example calls the loopback one.
    shown = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)  # noqa: S104
    model = settings.model or BUNDLED_MODEL
    scheme = "https" if settings.tls_cert else "http"
    url = f"{scheme}://{shown}:{settings.port}"
    key = " -H 'Authorization: Bearer YOUR_KEY'" if keys else ""
    trust = ""
    tls = "off"
    if settings.tls_cert:
        trust = " --cacert CA.pem"
        tls = "on"
    if settings.tls_client_ca:
        trust += " --cert CLIENT.pem --key CLIENT.key"
        tls = "on, callers need a certificate"
    lines = [
        f"Toolscout {__version__} is ready at {scheme}://{host}:{settings.port}",
        f"  auth    {f'{keys} key(s)' if keys else 'off: anyone who reaches this address'}",
        f"  tls     {tls}",
        f"  model   {settings.model or 'bundled'} ({hash_model(model)})",
        f"  limits  {settings.max_tools:,} tools, {_write_size(settings.max_body_bytes)}, "
        f"{settings.latency_budget_ms} ms budget, {settings.cold_budget_ms} ms for new tools",
        *(f"  warning {warning}" for warning in list_warnings(settings)),
        *([f"  play    {url}/"] if playground.is_on(settings) else []),
        f"  docs    {url}/docs",
        f"  try     curl -s{trust} "
        f"{url}/v1/tool-discovery/search -H 'Content-Type: application/json'{key} -d '{_EXAMPLE}'",
    ]
    return "\n".join(lines) + "\n"


def list_warnings(settings: Settings) -> list[str]:
    """Return what keeps no service from starting, but may not be as it was meant."""
    labels = find_labels(Path(settings.synonyms)) if settings.synonyms else []
    return [
        *find_expiring(Keyring(settings.api_keys), settings.tls_cert),
        *(f"synonyms: {label} is a label, and finds nothing by itself" for label in labels),
    ]


def _write_size(nbytes: int) -> str:
    power, unit = (20, "MiB") if nbytes >= 1 << 20 else (10, "KiB")
    return f"{nbytes / (1 << power):,.4g} {unit}"
