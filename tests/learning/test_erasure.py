"""What a person reported is forgotten by every process, whatever fails on the way."""

from functools import partial
from typing import Any

import pytest

from tests.learning.test_learner import CATALOG, ENGINE, PATTERN, follow, learner, worked
from tests.learning.test_privacy import LOG, observed
from toolscout.learning.learner import Learner
from toolscout.ranking.ask import Ask
from toolscout.state.memory import MemoryStore
from toolscout.state.store import StoreUnavailable

pytestmark = pytest.mark.anyio

ALICE = ("alice",)


class Failing(MemoryStore):
    """A store that fails one of its next writes, before it is done or just after."""

    def __init__(self) -> None:
        super().__init__()
        self.writes_left = -1
        self.after = False

    async def put(self, *args: Any, **kwargs: Any) -> None:
        await self._write(super().put(*args, **kwargs))

    async def remove(self, *args: Any) -> int:
        found: int = await self._write(super().remove(*args))
        return found

    async def _write(self, action: Any) -> Any:
        self.writes_left -= 1
        if self.writes_left == 0 and not self.after:
            action.close()
        result = None if self.writes_left == 0 and not self.after else await action
        if self.writes_left == 0:
            raise StoreUnavailable("full")
        return result


async def taught(store: MemoryStore) -> tuple[Learner, Learner]:
    """Return two processes that know three reports of Alice and one of Bob."""
    one, two = learner(store), learner(store)
    for subjects in (ALICE, ALICE, ALICE, ("bob",)):
        await one.record("acme", [worked(subjects=subjects)])
    await follow(one)
    await follow(two)
    assert (observed(one), observed(two)) == (4, 4)
    return one, two


async def broken_off(number: int, *, after: bool) -> tuple[Failing, Learner, Learner]:
    """Return a store of which a write failed in an erasure, and the two that learned by it."""
    store = Failing()
    one, two = await taught(store)
    store.writes_left, store.after = number, after
    with pytest.raises(StoreUnavailable):
        await one.forget("acme", ALICE)
    return store, one, two


async def is_forgotten(store: MemoryStore, *learners: Learner) -> bool:
    for one in learners:
        await follow(one)
        await follow(one)
    return [observed(one) for one in learners] == [1] * len(learners) and (
        len(await store.read(LOG)) == 1
    )


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", [1, 2, 3])
async def test_what_a_failing_write_leaves_is_finished_by_trying_again(number: int, after: bool):
    store, one, two = await broken_off(number, after=after)
    assert await one.forget("acme", ALICE)
    assert await is_forgotten(store, one, two)
    assert not await one.forget("acme", ALICE)  # now nobody knows of her


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", [2, 3])
async def test_what_a_killed_process_leaves_is_finished_by_another(number: int, after: bool):
    store, _, two = await broken_off(number, after=after)
    assert await is_forgotten(store, two)
    assert await is_forgotten(store, two, learner(store))


async def test_nothing_is_removed_where_it_cannot_be_said_that_it_is():
    store, _, two = await broken_off(1, after=False)
    await follow(two)
    assert (len(await store.read(LOG)), observed(two)) == (4, 4)


async def test_an_erasure_is_not_lost_over_another():
    store = Failing()
    one, two = await taught(store)
    store.writes_left = 2
    with pytest.raises(StoreUnavailable):
        await one.forget("acme", ALICE)
    assert await two.forget("acme", ["bob"])
    await follow(one)
    await follow(two)
    assert (observed(one), observed(two), await store.read(LOG)) == (0, 0, [])


async def test_what_only_memory_knows_is_forgotten_too():
    """A log keeps the latest entries; those before were learned all the same."""
    store = MemoryStore()
    one, two = await taught(store)
    await store.remove(LOG, [entry.position for entry in (await store.read(LOG))[:3]])
    assert await one.forget("acme", ALICE)
    assert await is_forgotten(store, one, two)


async def test_who_is_unknown_changes_nothing():
    store = MemoryStore()
    one, two = await taught(store)
    assert not await one.forget("acme", ["nobody"])
    assert not await one.forget("acme", ["alice", "bob"])
    await follow(two)
    assert (observed(one), observed(two)) == (4, 4)


async def test_turns_of_a_tenant_that_is_forgotten_while_others_are_read_are_not_written():
    class Slow(MemoryStore):
        """A store in whose first read of another tenant's log everything is forgotten."""

        forget: Any = None

        async def get(self, key: str) -> bytes | None:
            forget, self.forget = self.forget, None
            if forget is not None:
                await forget()
            return await super().get(key)

    store = Slow()
    one = learner(store)
    decision = ENGINE.decide(CATALOG, Ask(pattern=PATTERN))
    for tenant in ("first", "acme"):
        await one.remember(tenant, "a turn", decision)
    store.forget = partial(one.reset, "acme")
    await follow(one)
    names = await store.logs("")
    assert names
    assert not any("acme" in name for name in names)
