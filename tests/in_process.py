"""The service inside the tests' process: the real application, model and index, without a socket.

For what is true of requests and answers. Sockets, timeouts, signals, certificates and what a
process writes need a process of their own: `tests.support.running`.
"""

import asyncio
import multiprocessing
import os
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal

from tests.prepared import FORKS
from tests.support import ENGINE, PATIENCE_S, Server, until
from toolscout.index.transfer import SEED
from toolscout.server.app import Application, create_app
from toolscout.server.compiling import worker
from toolscout.settings import Settings
from toolscout.settings_sources import load
from toolscout.tools.overlay import parse_overlay

URL = "http://127.0.0.1:8080"


class InProcess(Server):
    """A service in this process."""

    def __init__(self, folder: Path, transport: "Transport") -> None:
        self._transport = transport
        client = httpx2.Client(base_url=URL, transport=transport, timeout=PATIENCE_S)
        super().__init__(folder, client, URL)

    def async_client(self, **headers: str) -> httpx2.AsyncClient:
        transport = self._transport
        return httpx2.AsyncClient(
            base_url=URL, transport=transport, timeout=PATIENCE_S, headers=headers
        )


class Transport(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Hands requests to an application whose event loop runs in another thread."""

    def __init__(self, application: Application, portal: BlockingPortal) -> None:
        self._asgi = httpx2.ASGITransport(application)
        self._portal = portal

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        assert isinstance(request.stream, httpx2.SyncByteStream)
        return self._portal.call(self._answer, request, request.stream)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        chunks = [await request.aread()]
        answer = self._portal.start_task_soon(self._answer, request, chunks)
        return await asyncio.wrap_future(answer)

    async def _answer(self, request: httpx2.Request, chunks: Iterable[bytes]) -> httpx2.Response:
        sent = httpx2.Request(
            request.method, request.url, headers=request.headers, stream=_Body(chunks)
        )
        answer = await self._asgi.handle_async_request(sent)
        body = httpx2.ByteStream(await answer.aread())
        return httpx2.Response(answer.status_code, headers=answer.headers, stream=body)


class _Body(httpx2.AsyncByteStream):
    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk


class ForkedWorker:
    """A compile worker; the service can fork its own only while it has a single thread."""

    def __init__(self, settings: Settings, _: object = None, overlay: str = "") -> None:
        self.connection, theirs = multiprocessing.Pipe()
        args = theirs, settings, SEED, overlay
        self._process = FORKS.Process(target=_work, args=args, daemon=True)
        self._process.start()
        theirs.close()

    def measure_resident(self) -> int:
        return 0

    def end(self) -> None:
        self._process.kill()
        self._process.join()


def _work(connection: Connection, settings: Settings, seed: int, overlay: str) -> None:
    words = settings.synonyms or settings.domains or settings.model
    engine = worker.make_engine(settings) if words else ENGINE
    engine.compiler.overlay = parse_overlay(overlay, "overlay")
    worker.serve(connection, engine, settings, seed)


@contextmanager
def serving(folder: Path, **settings: Any) -> Iterator[Server]:
    """Yield a service that is ready, with its log in the file `stdout` of a folder."""
    # Of a store's URL with a password no flag may know.
    environ = {"TOOLSCOUT_STORE": settings.pop("store")} if "store" in settings else {}
    log = os.open(folder / "stdout", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with (
        start_blocking_portal(backend_options={"use_uvloop": True}) as portal,
        patch("toolscout.server.service.STDOUT", log),
        patch("toolscout.server.compiling.queue.WorkerProcess", ForkedWorker),
    ):
        application = create_app(load({"max_lag_ms": 30_000} | settings, environ))
        with portal.wrap_async_context_manager(application.lifespan()):
            server = InProcess(folder, Transport(application, portal))
            until(lambda: server.get("/readyz").status_code == 200)
            yield server
    os.close(log)
