"""What every state store promises; each store's own test module runs these tests on it."""

import asyncio
from time import time

import pytest

from tests.support import PATIENCE_S
from toolscout.state.store import StateStore


@pytest.mark.anyio
class StoreContract:
    """Facts about any store; a subclass provides the fixture `store`."""

    async def test_a_value_is_read_as_it_was_put(self, store: StateStore):
        assert await store.get("key") is None
        await store.put("key", b"\x00value\xff")
        assert await store.get("key") == b"\x00value\xff"
        await store.put("key", b"")
        assert await store.get("key") == b""

    async def test_a_value_is_gone_when_its_time_is_up(self, store: StateStore):
        await store.put("brief", b"value", ttl_s=0.05)
        await store.put("lasting", b"value", ttl_s=60)
        async with asyncio.timeout(PATIENCE_S):
            while await store.get("brief") is not None:
                await asyncio.sleep(0.01)
        assert await store.keys("") == ["lasting"]
        assert await store.swap("brief", None, b"new")

    async def test_its_time_is_that_of_the_machine(self, store: StateStore):
        """The real stores of the tests run here; only theirs counts where many hosts share one."""
        before = time()
        assert before - 1 <= await store.now() <= time() + 1

    async def test_a_changed_value_is_not_swapped(self, store: StateStore):
        assert await store.swap("key", None, b"one")
        assert not await store.swap("key", None, b"two")
        assert not await store.swap("key", b"other", b"two")
        assert await store.swap("key", b"one", b"two")
        assert await store.get("key") == b"two"

    async def test_a_value_is_deleted_only_as_it_was_read(self, store: StateStore):
        await store.put("key", b"one")
        assert not await store.swap("key", b"other", None)
        assert await store.swap("key", b"one", None)
        assert await store.get("key") is None

    async def test_a_value_can_be_removed_whatever_it_is(self, store: StateStore):
        await store.put("key", b"one")
        for _ in range(2):
            await store.delete("key")
            assert await store.get("key") is None

    async def test_of_many_swaps_one_wins(self, store: StateStore):
        await store.put("key", b"start")
        values = [str(number).encode() for number in range(20)]
        won = await asyncio.gather(*(store.swap("key", b"start", value) for value in values))
        assert won.count(True) == 1
        assert await store.get("key") == values[won.index(True)]

    async def test_the_share_of_keys_is_that_of_their_values(self, store: StateStore):
        for key in ("a/1", "a/2", "b/1"):
            await store.put(key, b"value" * 1_000)
        whole = await store.share("")
        assert await store.share("c/") == 0 <= whole < 1
        assert await store.share("a/") == pytest.approx(whole * 2 / 3)

    async def test_keys_are_listed_by_their_beginning(self, store: StateStore):
        for key in ("a/2", "a/1", "b/1", "a*"):
            await store.put(key, b"value")
        assert await store.keys("a/") == ["a/1", "a/2"]
        assert await store.keys("a*") == ["a*"]
        assert await store.keys("c") == []

    async def test_a_log_is_read_in_order_from_any_position(self, store: StateStore):
        await store.append("log", [b"one", b"two"], keep=100)
        await store.append("log", [b"three"], keep=100)
        entries = await store.read("log")
        assert [entry.value for entry in entries] == [b"one", b"two", b"three"]
        behind = await store.read("log", entries[0].position)
        assert [entry.value for entry in behind] == [b"two", b"three"]
        assert await store.read("log", entries[-1].position) == []
        assert [entry.value for entry in await store.read("log", limit=2)] == [b"one", b"two"]

    async def test_logs_are_apart(self, store: StateStore):
        await store.append("one", [b"1"], keep=100)
        await store.append("two", [b"2"], keep=100)
        assert [entry.value for entry in await store.read("one")] == [b"1"]

    async def test_a_log_keeps_its_last_entries_and_not_many_more(self, store: StateStore):
        for start in range(0, 2_000, 100):
            values = [str(number).encode() for number in range(start, start + 100)]
            await store.append("log", values, keep=500)
        kept = [int(entry.value) for entry in await store.read("log", limit=10_000)]
        assert 500 <= len(kept) <= 1_000
        assert kept == list(range(2_000 - len(kept), 2_000))

    async def test_positions_grow_after_a_log_was_dropped(self, store: StateStore):
        await store.append("log", [b"old"], keep=100)
        (old,) = await store.read("log")
        await store.drop("log")
        assert await store.read("log") == []
        await store.append("log", [b"new"], keep=100)
        assert [entry.value for entry in await store.read("log", old.position)] == [b"new"]

    async def test_dropping_a_log_that_is_not_there_is_fine(self, store: StateStore):
        await store.drop("nothing")
        assert await store.read("nothing") == []

    async def test_removed_entries_are_gone_and_the_others_stay(self, store: StateStore):
        await store.append("log", [b"one", b"two", b"three"], keep=100)
        one, two, three = await store.read("log")
        assert await store.remove("log", [one.position, three.position]) == 2
        assert await store.remove("log", [one.position]) == 0
        assert await store.remove("log", []) == 0
        assert await store.read("log") == [two]

    async def test_an_entry_is_there_as_it_was_read_until_it_is_removed(self, store: StateStore):
        await store.append("log", [b"one", b"two"], keep=10)
        first, last = await store.read("log")
        assert await store.has_entry("log", last)
        assert not await store.has_entry("log", last._replace(value=b"other"))
        assert not await store.has_entry("other", last)
        await store.remove("log", [last.position])
        assert not await store.has_entry("log", last)
        assert await store.has_entry("log", first)
        await store.drop("log")
        assert not await store.has_entry("log", first)

    async def test_logs_are_listed_by_their_beginning(self, store: StateStore):
        for log in ("logs/b%20c", "logs/a", "logs", "logs-of/d", "logs/a2", "logt/e"):
            await store.append(log, [b"one", b"two"], keep=10)
        await store.put("logs/value", b"one")
        assert await store.logs("logs/") == ["logs/a", "logs/a2", "logs/b%20c"]
        assert await store.logs("none/") == []

    async def test_an_entry_is_removed_once(self, store: StateStore):
        await store.append("log", [b"%d" % number for number in range(50)], keep=100)
        positions = [entry.position for entry in await store.read("log")]
        removals = (store.remove("log", positions[start:]) for start in (0, 20, 0, 10))
        assert sum(await asyncio.gather(*removals)) == 50
        assert await store.read("log") == []
