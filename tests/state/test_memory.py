"""The store in memory keeps the contract."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.state.contract import StoreContract
from tests.support import Clock
from toolscout.state.memory import MemoryStore
from toolscout.state.store import StoreUnavailable


class TestMemory(StoreContract):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()


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
    store = MemoryStore(Clock(), max_bytes=1_000)
    for _ in range(5_000):
        await store.put("key", b"x" * 500, 100)


@pytest.mark.anyio
async def test_a_full_store_refuses_more_and_keeps_what_it_has():
    store = MemoryStore(max_bytes=1_000)
    await store.put("kept", b"x" * 500)
    with pytest.raises(StoreUnavailable, match="full"):
        await store.put("more", b"x" * 500)
    with pytest.raises(StoreUnavailable, match="full"):
        await store.append("log", [b"x" * 500], keep=10)
    with pytest.raises(StoreUnavailable, match="full"):
        await store.swap("kept", b"x" * 500, b"x" * 900)
    assert await store.get("kept") == b"x" * 500
    assert await store.read("log") == []
    await store.delete("kept")
    await store.append("log", [b"x" * 500], keep=10)


@pytest.mark.anyio
async def test_in_a_full_store_a_log_makes_room_for_its_latest():
    store = MemoryStore(max_bytes=2_000)
    for number in range(100):
        await store.append("log", [b"%d" % number], keep=1_000)
    assert [entry.value for entry in await store.read("log")][-1] == b"99"


NAMES = st.sampled_from("abc")
STEPS = st.one_of(
    st.tuples(st.just("put"), NAMES, st.binary(max_size=50), st.none() | st.just(1.0)),
    st.tuples(st.just("delete"), NAMES),
    st.tuples(st.just("append"), NAMES, st.lists(st.binary(max_size=50)), st.just(3)),
    st.tuples(st.just("drop"), NAMES),
)


@given(steps=st.lists(STEPS))
def test_room_that_is_given_up_can_be_taken_again(steps: list[tuple]):
    async def play() -> None:
        clock = Clock()
        store = MemoryStore(clock, max_bytes=100_000)
        for step, *arguments in steps:
            await getattr(store, step)(*arguments)
        clock.now = 2
        for name in "abc":
            await store.delete(name)
            await store.drop(name)
        await store.put("all", b"x" * 99_800)

    asyncio.run(play())
