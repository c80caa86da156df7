"""A registered catalog is whole, whatever becomes of a write."""

import re

import pytest

from toolscout.state.guarded import Guard
from toolscout.state.memory import MemoryStore
from toolscout.state.registry import Changed, Place, Registry, join_tools
from toolscout.state.store import StoreUnavailable

pytestmark = pytest.mark.anyio

PLACE = Place("acme", "office")


class Late(MemoryStore):
    """A store that makes the change, and whose answer is lost."""

    async def swap(self, *arguments: object, **more: object) -> bool:
        await super().swap(*arguments, **more)  # type: ignore[arg-type]
        raise StoreUnavailable("no answer")


async def test_a_change_whose_answer_was_lost_leaves_the_tools_it_names():
    store = Late()
    registry = Registry(Guard(store))
    with pytest.raises(StoreUnavailable):
        await registry.put(PLACE, None, "d1", [b'{"name":"a"}'], None)
    found = await registry.find(PLACE)
    assert found is not None
    assert found[0].digest == "d1"
    assert found[1] == b'[{"name":"a"}]'


async def test_a_writer_that_came_too_late_leaves_nothing_behind():
    store = MemoryStore()
    registry = Registry(Guard(store))
    await registry.put(PLACE, None, "d1", [b'{"name":"a"}'], None)
    kept = len(store)
    with pytest.raises(Changed):
        await registry.put(PLACE, None, "d2", [b'{"name":"b"}'], None)
    assert len(store) == kept


@pytest.mark.parametrize("other", [b'"of":"a later release",', b""])
async def test_what_another_release_registered_can_be_replaced_and_deleted(other: bytes):
    store = MemoryStore()
    registry = Registry(Guard(store))
    await registry.put(PLACE, None, "d1", [b'{"name":"a"}'], None)
    (place,) = [name for name in await store.keys("") if "registered/" in name]
    written = await store.get(place)
    assert written is not None
    # One field more, or one less: an earlier release did not know of tools elsewhere.
    changed = written.replace(b'"digest"', other + b'"digest"').replace(b',"external":false', b"")
    await store.put(place, changed)
    known = await registry.record(PLACE)
    fresh = await registry.put(PLACE, known, "d2", [b'{"name":"b"}'], None)
    assert (fresh.version, await registry.record(PLACE)) == (2, fresh)
    await store.put(place, changed)
    known = await registry.record(PLACE)
    assert known is not None
    await registry.delete(PLACE, known)
    assert await registry.record(PLACE) is None


DAMAGES = (
    b"{",
    b'"expires":1e300',
    b'"created":-1e300',
    b'"digest":"\xc3\xa9"',
    b'"digest":""',
)


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_record_that_cannot_be_read_is_replaced(damage: bytes):
    store = MemoryStore()
    registry = Registry(Guard(store))
    await registry.put(PLACE, None, "d1", [b'{"name":"a"}'], None)
    (place,) = [name for name in await store.keys("") if "registered/" in name]
    kept = await store.get(place)
    assert kept is not None
    name = damage.partition(b":")[0]
    value = re.sub(rb"%s:[^,}]+" % name, damage, kept) if b":" in damage else damage
    assert value != kept
    await store.put(place, value)
    assert await registry.record(PLACE) is None
    await registry.put(PLACE, None, "d2", [b'{"name":"b"}'], None)
    found = await registry.find(PLACE)
    assert found is not None
    assert found[1] == b'[{"name":"b"}]'


@pytest.mark.parametrize("tools", [[], [b"1"], [b"1", b"2", b"3"]])
def test_tools_are_joined_to_a_json_array(tools: list[bytes]):
    assert join_tools(tools) == b"[" + b",".join(tools) + b"]"
