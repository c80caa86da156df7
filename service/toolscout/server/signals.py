"""SIGTERM stops the service without losing a request, SIGHUP reads its files again.

SIGTERM: not ready at once, but serve on for `drain_s`, so that balancers notice first; answers
carry `Connection: close` meanwhile. Then uvicorn closes idle connections and finishes open
requests. A second SIGTERM skips the wait.

SIGHUP: what is read from files again and again (keys, certificates) is read at once.
"""

import asyncio
import signal
import threading
from functools import partial
from time import perf_counter
from types import FrameType

import uvicorn

from toolscout.server.service import Service
from toolscout.serving.tls import Certificate

SAME_SIGNAL_S = 1.0
"""Within this time a second SIGTERM is taken for an echo of the first."""


def serving() -> uvicorn.Server | None:
    """Return the uvicorn server that runs this application and takes its signals, if one does."""
    if threading.current_thread() is not threading.main_thread():
        return None
    server = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    return server if isinstance(server, uvicorn.Server) else None


def install(service: Service, server: uvicorn.Server) -> None:
    """Take SIGTERM over from a server, and SIGHUP; follow the certificate, if there is one."""
    _stop_on_term(service, server)
    _read_on_hup(service, server)


def _stop_on_term(service: Service, server: uvicorn.Server) -> None:
    loop = asyncio.get_running_loop()
    first = 0.0

    def stop() -> None:
        service.stopping = True
        server.should_exit = True

    def on_term(_: int, __: FrameType | None) -> None:
        nonlocal first
        if service.draining:
            # A process group's signal and its parent's arrive together and mean one thing.
            if perf_counter() - first > SAME_SIGNAL_S:
                stop()
            return
        first = perf_counter()
        service.draining = True
        drain_s = service.settings.drain_s
        loop.call_soon_threadsafe(partial(service.log.info, "draining", seconds=drain_s))
        loop.call_soon_threadsafe(loop.call_later, drain_s, stop)

    signal.signal(signal.SIGTERM, on_term)


def _read_on_hup(service: Service, server: uvicorn.Server) -> None:
    certificate: Certificate | None = None
    if service.settings.tls_cert and server.config.ssl is not None:
        certificate = Certificate(service.settings, server.config.ssl, service.log)
        service.run(certificate.files.follow())

    def reread() -> None:
        if service.key_file is not None:
            service.key_file.files.check()
        if certificate is not None:
            certificate.files.check()
        service.log.info("files_read", signal="SIGHUP")

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reread)
