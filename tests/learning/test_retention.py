"""Reports go at their age, and none because a clock is wrong."""

from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from time import time
from typing import Any

import pytest

from tests.learning.test_learner import CATALOG, ENGINE, worked
from tests.learning.test_privacy import LOG, observed
from toolscout.experience.reported import DAY_S
from toolscout.learning.learner import Learner
from toolscout.learning.retention import TIDY_S
from toolscout.state.guarded import Guard
from toolscout.state.memory import MemoryStore
from toolscout.state.opening import open_store
from toolscout.state.sqlite import SqliteStore
from toolscout.state.store import StateStore

pytestmark = pytest.mark.anyio

KEPT_DAYS = 10


class Clock:
    """The time of a machine, and the seconds that really pass."""

    def __init__(self) -> None:
        self.set_to = 1_000_000.0
        self.passed = 0.0

    def wait(self, seconds: float) -> None:
        self.set_to += seconds
        self.passed += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
async def store(
    request: pytest.FixtureRequest, tmp_path: Path, clock: Clock
) -> AsyncIterator[StateStore]:
    def now() -> float:
        return clock.set_to

    is_memory = request.param == "memory"
    made = MemoryStore(now) if is_memory else SqliteStore(tmp_path / "state.db", clock=now)
    yield made
    await made.close()


def process(store: StateStore | None, clock: Clock, **options: Any) -> Learner:
    return Learner(
        None if store is None else Guard(store),
        ENGINE.embedder,
        lambda *_: CATALOG,
        lambda: clock.set_to,
        kept_s=KEPT_DAYS * DAY_S,
        steady=lambda: clock.passed,
        **options,
    )


async def look(*learners: Learner) -> None:
    """Let each read the logs once, as it does all the time."""
    for one in learners:
        one.experience("acme")
        await one.catch_up(lambda _: None)


async def entries(store: StateStore) -> int:
    return len(await store.read(LOG))


async def reporting(one: Learner, clock: Clock, days: int) -> None:
    """Report once a day."""
    for _ in range(days):
        await one.record("acme", [worked()])
        clock.wait(DAY_S)


async def test_reports_go_at_their_age(store: StateStore, clock: Clock):
    one = process(store, clock)
    await reporting(one, clock, KEPT_DAYS + 3)
    await look(one)
    assert await entries(store) == KEPT_DAYS
    await look(one)  # reads what is left again
    assert observed(one) == KEPT_DAYS
    assert one.held_logs == 0


async def test_a_clock_that_jumps_removes_nothing_and_is_told(store: StateStore, clock: Clock):
    said: list[str] = []
    one, other = (process(store, clock, suspected=said.append) for _ in range(2))
    await reporting(one, clock, KEPT_DAYS)
    await look(one, other)
    clock.set_to += 400 * DAY_S
    for _ in range(3):
        clock.wait(TIDY_S)
        await look(one, other)
    assert await entries(store) == KEPT_DAYS
    assert (one.held_logs, other.held_logs) == (1, 1)
    assert len(said) == 2  # once a process
    assert f"{KEPT_DAYS} of {KEPT_DAYS}" in said[0]
    clock.set_to -= 400 * DAY_S
    clock.wait(TIDY_S)
    await look(one, other)
    again = process(store, clock)
    await look(again)
    assert (await entries(store), observed(again)) == (KEPT_DAYS, KEPT_DAYS)
    assert (one.held_logs, again.held_logs) == (0, 0)


async def test_a_process_that_starts_with_a_wrong_clock_removes_nothing(
    store: StateStore, clock: Clock
):
    await reporting(process(store, clock), clock, KEPT_DAYS)
    clock.set_to += 400 * DAY_S
    wrong = process(store, clock)
    await look(wrong)
    await store.append("learning/gone", [one.value for one in await store.read(LOG)], 100)
    clock.wait(DAY_S)
    await look(wrong)
    assert wrong.held_logs == 2
    assert len(await store.read("learning/gone")) == KEPT_DAYS  # of a tenant without a key


async def test_what_nobody_used_for_long_goes_part_by_part(store: StateStore, clock: Clock):
    await reporting(process(store, clock), clock, KEPT_DAYS)
    clock.set_to += 400 * DAY_S
    one = process(store, clock)
    left = []
    for _ in range(40):
        await look(one)
        left.append(await entries(store))
        clock.wait(DAY_S)
    assert left[0] == KEPT_DAYS
    assert all(before - after <= max(1, before // 2) for before, after in pairwise(left))
    assert left[-1] == 0


@pytest.mark.parametrize("days", [400, -400])
async def test_memory_alone_is_forgotten_at_its_age_whatever_the_clock(clock: Clock, days: int):
    one = process(None, clock)
    await one.record("acme", [worked()])
    clock.set_to += days * DAY_S
    clock.wait(DAY_S)
    await look(one)
    assert observed(one) == len(one.experience("acme")) == 1
    clock.wait(KEPT_DAYS * DAY_S)
    await look(one)
    assert not len(one.experience("acme"))


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["redis", "postgres"])
@pytest.mark.parametrize("days", [400, -400])
async def test_no_host_decides_by_its_clock_over_a_shared_store(
    request: pytest.FixtureRequest, clock: Clock, kind: str, days: int
):
    server = request.getfixturevalue(f"{kind}_server")
    store = open_store(server.url)
    await store.drop(LOG)
    clock.set_to = time()
    right = process(store, clock)
    for _ in range(5):
        await right.record("acme", [worked()])
    clock.set_to += days * DAY_S
    wrong = process(store, clock)
    await wrong.record("acme", [worked()])
    await look(wrong)
    assert (await entries(store), wrong.held_logs) == (6, 0)
    clock.set_to -= days * DAY_S
    again = process(store, clock)
    await look(again)
    assert observed(again) == 6
    await store.drop(LOG)
    await store.close()
