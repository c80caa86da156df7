"""What a server process does beside its requests, from its start to its end."""

import asyncio
import gc
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

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


@asynccontextmanager
async def in_background(service: Service) -> AsyncIterator[None]:
    """Do it; at the end, release threads, timers and the store."""
    service.log.info("start", version=__version__, pid=os.getpid())
    service.compiles.open()
    work = [_check_store(service), _housekeep(service)]
    if service.learner is not None:
        follow, tenants = service.learner.follow, service.keyring.tenants
        work.append(follow(tenants, lambda what: service.log.warning("state", detail=what)))
    if service.key_file is not None:
        work.append(service.key_file.files.follow())
    tasks = list(map(asyncio.create_task, work))
    sys.setswitchinterval(SWITCH_S)
    service.admission.start()
    # What lives as long as the process need not be walked by every collection.
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        for task in tasks:
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


async def _check_store(service: Service) -> None:
    """Log one line where the store cannot be used; searches go on without it."""
    try:
        await service.guard.within(CHECK_STORE_S).get(key("checked", ""))
    except StoreUnavailable as error:
        service.log.error("store_unavailable", detail=str(error))


async def _housekeep(service: Service) -> None:
    """Write figures and the log, and look after the worker, until cancelled."""
    steps = Steps(service.log)
    while True:
        steps.run(service.records.write)
        steps.run(service.log.flush)
        steps.run(service.compiles.check_health)
        await asyncio.sleep(TICK_S)
