"""What a server process does beside its requests, from its start to its end."""

import asyncio
import gc
import os
import sys
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from toolscout import __version__
from toolscout.server.service import Service
from toolscout.serving.connections import Steps
from toolscout.state.store import StoreUnavailable, key

SWITCH_S = 0.0001
"""How long a thread may keep the interpreter lock from the event loop: pages and traits of large
catalogs are made in threads. With Python's 5 ms, 8 callers of them quadrupled the longest stall."""

CHECK_STORE_S = 2.0
"""How long the store may take to answer as the service starts; nothing waits for it."""

TICK_S = 0.1
"""Housekeeping period in seconds: write records, flush the log, look after the worker."""


class Background:
    """The tasks of one service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start them; call from the running loop."""
        service = self._service
        service.log.info("start", version=__version__, pid=os.getpid())
        service.compiles.open()
        if service.learner is not None:
            self._run(service.learner.follow(service.keyring.tenants, self._warn))
        self._run(self._check_store())
        if service.key_file is not None:
            self._run(service.key_file.files.follow())
        sys.setswitchinterval(SWITCH_S)
        service.admission.start()
        self._run(self._housekeep())
        # What lives as long as the process need not be walked by every collection.
        gc.collect()
        gc.freeze()

    async def stop(self) -> None:
        """Release threads, timers and the store."""
        service = self._service
        for task in self._tasks:
            task.cancel()
        with suppress(StoreUnavailable):
            await service.guard.store.close()
        service.admission.stop()
        service.compiles.close()
        if service.tracing is not None:
            await asyncio.to_thread(service.tracing.close)
        service.connections.report()
        service.records.write()
        service.log.info("stop", pid=os.getpid())
        service.log.close()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.create_task(work))

    def _warn(self, what: str) -> None:
        self._service.log.warning("state", detail=what)

    async def _check_store(self) -> None:
        """Log one line where the store cannot be used; searches go on without it."""
        try:
            await self._service.guard.within(CHECK_STORE_S).get(key("checked", ""))
        except StoreUnavailable as error:
            self._service.log.error("store_unavailable", detail=str(error))

    async def _housekeep(self) -> None:
        """Write figures and the log, and look after the worker, until cancelled."""
        service, steps = self._service, Steps(self._service.log)
        while True:
            steps.run(service.records.write)
            steps.run(service.log.flush)
            steps.run(service.compiles.check_health)
            await asyncio.sleep(TICK_S)
