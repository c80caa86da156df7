"""The store in memory keeps the contract."""

import pytest

from tests.state.contract import StoreContract
from toolscout.state.memory import MemoryStore


class TestMemory(StoreContract):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.anyio
async def test_what_expired_is_forgotten_though_nobody_asks_for_it():
    clock = Clock()
    store = MemoryStore(clock)
    for number in range(100):
        await store.put(f"short{number}", b"", 1)
    await store.put("long", b"", 100)
    await store.put("short0", b"again", 100)
    clock.now = 2
    await store.put("other", b"")
    assert len(store) == 3
    assert await store.get("short0") == b"again"


@pytest.mark.anyio
async def test_setting_one_value_again_and_again_takes_no_more_room():
    store = MemoryStore(Clock())
    for _ in range(5_000):
        await store.put("key", b"", 100)
    assert len(store._until) < 2_000
