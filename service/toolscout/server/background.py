"""What a process does beside its requests, from its start to its end."""

import asyncio
import gc
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from toolscout import __version__
from toolscout.server.service import Service
from toolscout.serving.connections import Steps, cancel_until_done
from toolscout.state.health import Health, examine
from toolscout.state.opening import find_sqlite_path
from toolscout.state.store import StoreUnavailable

SWITCH_S = 0.0001
"""How long a thread may keep the interpreter lock from the event loop: pages and traits of large
catalogs are made in threads. With Python's 5 ms, 8 callers of them quadrupled the longest stall."""

WATCH_STORE_S = 5.0
"""Between two looks whether the store works."""

TICK_S = 0.1
"""Housekeeping period in seconds: write records, flush the log, look after the worker."""


@asynccontextmanager
async def run_in_background(service: Service) -> AsyncIterator[None]:
    """Run what a process does beside its requests; then release threads, timers and the store."""
    service.log.info("start", version=__version__, pid=os.getpid())
    service.compiles.open()
    work = [_watch_store(service), _housekeep(service)]
    if service.learner is not None:
        follow = service.learner.follow
        tenants = service.keyring.tenants
        work.append(follow(tenants, lambda what: service.log.warning("state", detail=what)))
    if service.key_file is not None:
        work.append(service.key_file.files.follow())
    if service.overlay is not None:
        work.append(service.overlay.files.follow())
    tasks = list(map(asyncio.create_task, work))
    sys.setswitchinterval(SWITCH_S)
    service.admission.start()
    # What lives as long as the process need not be walked by every collection.
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        await asyncio.gather(*map(cancel_until_done, tasks))
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


async def _watch_store(service: Service) -> None:
    """Log a line where the store stops working, works again or may lose what it took."""
    path = find_sqlite_path(service.settings.store)
    is_made = path is not None and not path.parent.exists()
    before = Health()
    while True:
        health = await examine(service.guard.store)
        if health.fault and health.event != before.event:
            service.log.error(health.event, detail=health.fault)
        if before.fault and not health.fault:
            service.log.info("store_available")
        if health.risk and not before.risk:
            service.log.warning("store_may_evict", detail=health.risk)
        if path is not None and is_made and not health.fault:
            service.log.warning("store_folder_made", path=str(path.parent))
            is_made = False
        service.metrics.store_may_evict.set(bool(health.risk))
        before = health
        await asyncio.sleep(WATCH_STORE_S)


async def _housekeep(service: Service) -> None:
    """Write figures and the log, and look after the worker, until cancelled."""
    steps = Steps(service.log)
    while True:
        steps.run(service.records.write)
        steps.run(service.log.flush)
        steps.run(service.compiles.check_health)
        await asyncio.sleep(TICK_S)
