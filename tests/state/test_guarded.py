"""A guarded store answers or gives up in time."""

import asyncio

import pytest

from tests.support import PATIENCE_S, Clock
from toolscout.state.guarded import FAILURES, PAUSE_S, Guard
from toolscout.state.memory import MemoryStore
from toolscout.state.store import StoreFull, StoreRefused, StoreUnavailable

pytestmark = pytest.mark.anyio


class Store(MemoryStore):
    """A store that can be down, or full."""

    is_down = is_full = False

    async def get(self, key: str) -> bytes | None:
        if self.is_down:
            raise StoreUnavailable("down")
        return await super().get(key)

    async def put(self, key: str, value: bytes, ttl_s: float | None = None) -> None:
        if self.is_full:
            raise StoreUnavailable("full")
        await super().put(key, value, ttl_s)


class HangingStore(MemoryStore):
    async def get(self, key: str) -> bytes | None:
        await asyncio.Event().wait()
        return b"late"


async def get(guard: Guard) -> bytes | None:
    return await guard.within(1).get("key")


async def fail(guard: Guard, times: int) -> None:
    assert isinstance(guard.store, Store)
    guard.store.is_down = True
    for _ in range(times):
        with pytest.raises(StoreUnavailable):
            await get(guard)
    guard.store.is_down = False


async def test_what_takes_too_long_is_given_up():
    guard = Guard(HangingStore())
    with pytest.raises(StoreUnavailable, match="no answer within"):
        await guard.within(0.01).get("key")


async def test_failures_are_counted_by_what_failed():
    failed: list[str] = []
    await fail(Guard(Store(), failed.append), 2)
    assert failed == ["get", "get"]


async def test_a_failing_store_is_left_alone_and_tried_again():
    clock = Clock()
    guard = Guard(Store(), clock=clock)
    await fail(guard, FAILURES)
    with pytest.raises(StoreUnavailable, match="left alone"):
        await get(guard)
    clock.now += PAUSE_S
    assert await get(guard) is None
    assert not guard.is_open("get")


async def test_each_failed_try_doubles_the_pause():
    clock = Clock()
    guard = Guard(Store(), clock=clock)
    await fail(guard, FAILURES)
    clock.now += PAUSE_S
    await fail(guard, 1)
    clock.now += 1.5 * PAUSE_S
    assert guard.is_open("get")
    clock.now += 0.5 * PAUSE_S
    assert not guard.is_open("get")


async def test_a_store_that_was_away_for_long_is_tried_within_five_seconds():
    clock = Clock()
    guard = Guard(Store(), clock=clock)
    await fail(guard, FAILURES)
    for _ in range(20):
        clock.now += 5.0
        assert not guard.is_open("get")
        await fail(guard, 1)


async def test_what_fails_together_lengthens_the_pause_once():
    together = asyncio.Barrier(10 * FAILURES)

    class FailingLater(MemoryStore):
        async def get(self, key: str) -> bytes | None:
            await together.wait()
            raise StoreUnavailable("down")

    clock = Clock()
    guard = Guard(FailingLater(), clock=clock)
    crowd = [guard.within(PATIENCE_S).get("key") for _ in range(10 * FAILURES)]
    answers = await asyncio.gather(*crowd, return_exceptions=True)
    assert all(isinstance(answer, StoreUnavailable) for answer in answers)
    clock.now += PAUSE_S
    assert not guard.is_open("get")


async def test_a_store_that_takes_nothing_more_can_be_read():
    store = Store()
    store.is_full, guard = True, Guard(store)
    for _ in range(FAILURES):
        with pytest.raises(StoreUnavailable):
            await guard.within(1).put("key", b"value")
    with pytest.raises(StoreUnavailable, match="left alone"):
        await guard.within(1).append("log", [b"entry"], 1)
    assert await get(guard) is None


async def test_what_the_store_refuses_leaves_it_open_to_everybody():
    failed: list[str] = []
    guard = Guard(MemoryStore(max_bytes=1_000), failed.append)
    for _ in range(3 * FAILURES):
        with pytest.raises(StoreFull):
            await guard.within(1).put("key", b"x" * 2_000)
    await guard.within(1).delete("key")
    await guard.within(1).put("other", b"value")
    assert await guard.within(1).get("other") == b"value"
    assert failed == ["put"] * 3 * FAILURES


async def test_whatever_a_store_refuses_is_counted():
    class Refusing(MemoryStore):
        async def put(self, key: str, value: bytes, ttl_s: float | None = None) -> None:
            raise StoreRefused("the user lacks a right")

    failed: list[str] = []
    with pytest.raises(StoreRefused):
        await Guard(Refusing(), failed.append).within(1).put("key", b"value")
    assert failed == ["put"]
