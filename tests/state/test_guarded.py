"""A guarded store answers or gives up in time."""

import asyncio

import pytest

from tests.support import PATIENCE_S, Clock
from toolscout.state.guarded import FAILURES, PAUSE_S, Guard
from toolscout.state.memory import MemoryStore
from toolscout.state.store import StoreUnavailable

pytestmark = pytest.mark.anyio


async def failing() -> bytes:
    raise StoreUnavailable("down")


async def hanging() -> bytes:
    await asyncio.Event().wait()
    return b"late"


async def fail(guard: Guard, times: int) -> None:
    for _ in range(times):
        with pytest.raises(StoreUnavailable):
            await guard.run("get", failing(), 1)


async def test_what_takes_too_long_is_given_up():
    guard = Guard(MemoryStore())
    with pytest.raises(StoreUnavailable, match="no answer within"):
        await guard.run("get", hanging(), 0.01)


async def test_failures_are_counted_by_what_failed():
    failed: list[str] = []
    await fail(Guard(MemoryStore(), failed.append), 2)
    assert failed == ["get", "get"]


async def test_a_failing_store_is_left_alone_and_tried_again():
    clock = Clock()
    guard = Guard(MemoryStore(), clock=clock)
    await fail(guard, FAILURES)
    with pytest.raises(StoreUnavailable, match="left alone"):
        await guard.run("get", guard.store.get("key"), 1)
    clock.now += PAUSE_S
    assert await guard.run("get", guard.store.get("key"), 1) is None
    assert not guard.is_open("get")


async def test_each_failed_try_doubles_the_pause():
    clock = Clock()
    guard = Guard(MemoryStore(), clock=clock)
    await fail(guard, FAILURES)
    clock.now += PAUSE_S
    await fail(guard, 1)
    clock.now += 1.5 * PAUSE_S
    assert guard.is_open("get")
    clock.now += 0.5 * PAUSE_S
    assert not guard.is_open("get")


async def test_a_store_that_was_away_for_long_is_tried_within_five_seconds():
    clock = Clock()
    guard = Guard(MemoryStore(), clock=clock)
    await fail(guard, FAILURES)
    for _ in range(20):
        clock.now += 5.0
        assert not guard.is_open("get")
        await fail(guard, 1)


async def test_what_fails_together_lengthens_the_pause_once():
    clock = Clock()
    guard = Guard(MemoryStore(), clock=clock)

    together = asyncio.Barrier(10 * FAILURES)

    async def failing_later() -> bytes:
        await together.wait()
        return await failing()

    crowd = [guard.run("get", failing_later(), PATIENCE_S) for _ in range(10 * FAILURES)]
    answers = await asyncio.gather(*crowd, return_exceptions=True)
    assert all(isinstance(answer, StoreUnavailable) for answer in answers)
    clock.now += PAUSE_S
    assert not guard.is_open("get")


async def test_a_store_that_takes_nothing_more_can_be_read():
    guard = Guard(MemoryStore())
    for _ in range(FAILURES):
        with pytest.raises(StoreUnavailable):
            await guard.run("put", failing(), 1)
    with pytest.raises(StoreUnavailable, match="left alone"):
        await guard.run("append", failing(), 1)
    assert await guard.run("get", guard.store.get("key"), 1) is None
