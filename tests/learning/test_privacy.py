"""Patterns in the store: as vectors, never as texts."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.learning.test_learner import CATALOG, ENGINE, PATTERN, first, follow, learner, worked
from tests.learning.test_prior import point
from toolscout.experience.reported import Observation
from toolscout.index.pattern_vectors import WORDS_KEPT, pack, read_pattern, unpack
from toolscout.learning.learner import Learner
from toolscout.state.guarded import Guard
from toolscout.state.memory import MemoryStore
from toolscout.state.sqlite import SqliteStore
from toolscout.state.store import StateStore
from toolscout.text.query import analyse

pytestmark = pytest.mark.anyio

LOG = "learning/acme"
WORDS = (b"ship", b"parcel")


def of_model(store: StateStore | None, model: str, **options: Any) -> Learner:
    guard = None if store is None else Guard(store)
    return Learner(guard, ENGINE.embedder, lambda *_: CATALOG, model=model, **options)


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
    entries = await store.read(LOG)
    assert len(entries) == 2
    assert not [word for word in WORDS for entry in entries if word in entry.value]


async def test_without_a_store_it_learns_and_forgets_all_the_same():
    one = of_model(None, "model")
    await one.record("acme", [worked()] * 2)
    await follow(one)
    assert first(one) == "resize_image"
    await one.reset("acme")
    assert observed(one) == 0


async def test_vectors_of_another_model_are_skipped_and_told_of_once(store: StateStore):
    reports: list[str] = []
    await of_model(store, "one").record("acme", [worked()] * 3)
    two = of_model(store, "two")
    await follow(two, reports)
    await of_model(store, "one").record("acme", [worked()])
    await follow(two, reports)
    assert observed(two) == 0
    assert len(reports) == 1
    assert "3 observations" in reports[0]


async def test_the_reports_with_all_subjects_are_forgotten_by_every_process(store: StateStore):
    one, two = of_model(store, "m"), of_model(store, "m")
    for subjects in (("ann", "app"), ("bob", "app"), ()):
        await one.record("acme", [worked(subjects=subjects)])
    await follow(two)
    await two.forget("acme", ["ann", "app"])
    await follow(one)
    await follow(two)
    assert (observed(one), observed(two)) == (2, 2)
    await two.forget("acme", ["nobody"])
    await follow(one)
    assert observed(one) == 2


def packed(pattern: str) -> bytes:
    query = analyse(pattern)
    return pack(read_pattern(query, ENGINE.embedder.query(query.embedding_words)))


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
