"""Stopping without losing a request.

SIGTERM: not ready at once, but serve on for `drain_s`, so that balancers notice first; answers
carry `Connection: close` meanwhile. Then uvicorn closes idle connections and finishes open
requests. A second SIGTERM skips the wait.
"""

import asyncio
import signal
import threading
from types import FrameType

import uvicorn

from toolscout.server.service import Service


def install(service: Service) -> None:
    """Take over SIGTERM from the uvicorn server that runs this application, if one does."""
    if threading.current_thread() is not threading.main_thread():
        return
    server = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    if not isinstance(server, uvicorn.Server):
        return
    loop = asyncio.get_running_loop()

    def stop() -> None:
        service.stopping = True
        server.should_exit = True

    def on_term(_: int, __: FrameType | None) -> None:
        if service.draining:
            stop()
            return
        service.draining = True
        loop.call_soon_threadsafe(loop.call_later, service.settings.drain_s, stop)

    signal.signal(signal.SIGTERM, on_term)
