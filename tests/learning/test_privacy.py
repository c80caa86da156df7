"""Patterns in the store: as vectors, or as texts where that is wanted."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import time

import msgspec
import pytest

from tests.learning.test_learner import CATALOG, ENGINE, PATTERN, first, follow, learner, worked
from tests.learning.test_prior import point
from toolscout.learning.experience import Observation
from toolscout.learning.learner import Learner
from toolscout.learning.patterns import WORDS_KEPT, pack, read_pattern, unpack
from toolscout.state.guarded import Guard
from toolscout.state.memory import MemoryStore
from toolscout.state.sqlite import SqliteStore
from toolscout.state.store import Entry, StateStore, StoreUnavailable
from toolscout.text.query import analyse

pytestmark = pytest.mark.anyio

TEXTS, VECTORS = "learning/acme", "learning-vectors/acme"
WORDS = (b"ship", b"parcel")


def with_texts(store: StateStore, clock: Callable[[], float] = time) -> Learner:
    return Learner(Guard(store), ENGINE.embedder, 30, lambda *_: CATALOG, clock, keeps_text=True)


def of_model(store: StateStore, model: str, **options: bool) -> Learner:
    return Learner(Guard(store), ENGINE.embedder, 30, lambda *_: CATALOG, model=model, **options)


async def told(store: StateStore, count: int = 1) -> None:
    """Leave observations in the store as releases did that kept every text."""
    old = [
        msgspec.json.encode(
            {"pattern": PATTERN, "tool": "resize_image", "success": True, "time": time()}
        )
        for _ in range(count)
    ]
    await store.append(TEXTS, old, keep=100_000)


async def follow_until(
    count: int, *learners: Learner, report: Callable[[str], None] = print
) -> None:
    """Let processes read the logs until each has as many observations."""
    tasks = [asyncio.create_task(one.follow(["acme"], report)) for one in learners]
    async with asyncio.timeout(60):
        while [observed(one) for one in learners] != [count] * len(learners):
            await asyncio.sleep(0.05)
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def observed(one: Learner) -> int:
    return one.experience("acme").observations


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[StateStore]:
    made = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "state.db")
    yield made
    await made.close()


async def test_the_store_gets_no_text(store: StateStore):
    await learner(store).record(
        "acme", [worked(), Observation(PATTERN, "", True, chain=("a", "b"))]
    )
    assert await store.read(TEXTS) == []
    entries = await store.read(VECTORS)
    assert len(entries) == 2
    assert not [word for word in WORDS for entry in entries if word in entry.value]


async def test_the_store_gets_texts_where_that_is_wanted(store: StateStore):
    await with_texts(store).record("acme", [worked()])
    (entry,) = await store.read(TEXTS)
    assert all(word in entry.value for word in WORDS)
    again = with_texts(store)
    await follow(again)
    assert observed(again) == 1


async def test_without_a_store_nothing_is_written():
    class Untouched(MemoryStore):
        async def append(self, *_: object) -> None:
            raise AssertionError

        put = swap = drop = read = append  # type: ignore[assignment]

    one = of_model(Untouched(), "model", lasting=False)
    await one.record("acme", [worked()] * 2)
    await follow(one)
    assert first(one) == "resize_image"
    await one.reset("acme")
    assert observed(one) == 0


async def test_texts_of_an_older_release_are_replaced_by_vectors_and_learned(store: StateStore):
    await told(store, 3)
    one = learner(store)
    await follow(one)
    assert first(one) == "resize_image"
    assert observed(one) == 3
    assert await store.read(TEXTS) == []
    assert not [word for word in WORDS for e in await store.read(VECTORS) if word in e.value]


async def test_texts_of_a_tenant_whose_key_was_removed_are_replaced_too(store: StateStore):
    await with_texts(store).record("for mer/ly", [worked()])
    await follow(learner(store))
    assert await store.read("learning/for%20mer%2Fly") == []
    (entry,) = await store.read("learning-vectors/for%20mer%2Fly")
    assert not [word for word in WORDS if word in entry.value]


async def test_processes_that_replace_texts_together_count_each_once(store: StateStore):
    await told(store, 1_200)
    learners = [learner(store) for _ in range(3)]
    await follow_until(1_200, *learners)
    assert len(await store.read(VECTORS, limit=10_000)) == 1_200


async def test_texts_that_could_not_be_replaced_stay_until_they_can():
    class Failing(MemoryStore):
        fails = True

        async def move(self, source: str, target: str, entries: Sequence[Entry], keep: int) -> int:
            if self.fails and len(entries) == 200:
                raise StoreUnavailable("down")
            return await super().move(source, target, entries, keep)

    store, reports = Failing(), []
    await told(store, 700)
    one = learner(store)
    await one.record("acme", [worked()])
    await follow_until(501, one, report=reports.append)
    assert reports == ["learning: down"]
    assert len(await store.read(TEXTS)) == 200
    store.fails = False
    await follow_until(701, learner(store))
    assert await store.read(TEXTS) == []


@pytest.mark.parametrize(
    "damaged", [b'{"pattern": "ship the parcel"', b'{"pattern": "ship", "a": ' + b"[" * 10_000]
)
async def test_a_damaged_text_is_removed_and_reported(store: StateStore, damaged: bytes):
    reports: list[str] = []
    await store.append(TEXTS, [damaged], keep=10)
    await follow(learner(store), reports)
    assert len(reports) == 1
    assert await store.read(TEXTS) == await store.read(VECTORS) == []


async def test_texts_are_embedded_again_by_another_model(store: StateStore):
    await of_model(store, "one", keeps_text=True).record("acme", [worked()])
    two = of_model(store, "two", keeps_text=True)
    await follow(two)
    assert observed(two) == 1


async def test_vectors_of_another_model_are_passed_over_and_told_of_once(store: StateStore):
    reports: list[str] = []
    await of_model(store, "one").record("acme", [worked()] * 3)
    two = of_model(store, "two")
    await follow(two, reports)
    await of_model(store, "one").record("acme", [worked()])
    await follow(two, reports)
    assert observed(two) == 0
    assert len(reports) == 1
    assert "3 observations" in reports[0]


async def test_no_text_is_left_in_the_file(tmp_path: Path):
    path = tmp_path / "state.db"
    store = SqliteStore(path)
    await told(store, 1_000)
    await follow_until(1_000, learner(store))
    assert not [f for f in tmp_path.iterdir() if PATTERN.encode() in f.read_bytes()]
    await store.close()
    with sqlite3.connect(path) as file:
        assert file.execute("SELECT COUNT(*) FROM entries").fetchone() == (1_000,)


def packed(pattern: str) -> bytes:
    query = analyse(pattern)
    return pack(read_pattern(query, ENGINE.embedder.query(query.spoken)))


@pytest.mark.parametrize("pattern", [PATTERN, "소포를 보내", "", "word " * 300])
async def test_a_packed_vector_is_nearly_the_vector(pattern: str):
    assert len(packed(pattern)) < 250
    assert unpack(packed(pattern)) == pytest.approx(point(pattern), abs=0.003)


async def test_the_heaviest_words_of_a_long_pattern_are_packed():
    long = " ".join(f"word{number}" for number in range(200))
    assert len(packed(long)) == len(packed("")) + 3 * WORDS_KEPT


@pytest.mark.parametrize(
    "damaged",
    [b"", b"x", packed(PATTERN)[:-1], packed(PATTERN) + b"x", b"\xff" * len(packed(PATTERN))],
)
async def test_what_is_no_packed_vector_is_refused(damaged: bytes):
    with pytest.raises(ValueError, match="a vector"):
        unpack(damaged)
