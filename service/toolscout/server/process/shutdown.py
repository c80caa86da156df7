"""Stopping without losing a request.

SIGTERM: not ready at once, but serve on for `drain_s`, so that balancers notice first; answers
carry `Connection: close` meanwhile. Then uvicorn closes idle connections and finishes open
requests. A second SIGTERM skips the wait.
"""

import asyncio
import signal
import threading
from functools import partial
from time import perf_counter
from types import FrameType

import uvicorn

from toolscout.server.service import Service

SAME_SIGNAL_S = 1.0
"""Within this time a second SIGTERM is taken for an echo of the first."""


def serving() -> uvicorn.Server | None:
    """The uvicorn server that runs this application and takes its signals, if one does."""
    if threading.current_thread() is not threading.main_thread():
        return None
    server = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    return server if isinstance(server, uvicorn.Server) else None


def install(service: Service, server: uvicorn.Server) -> None:
    """Take over SIGTERM from a server."""
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
