"""Learning across processes: two learners on one store stand for two processes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic, time
from typing import Any

import pytest
from msgspec.structs import replace

from tests.support import TOOLS
from toolscout import Engine
from toolscout.experience.reported import Observation
from toolscout.learning import learner as learning
from toolscout.learning import log as log_module
from toolscout.learning.learner import Learner
from toolscout.ranking.ask import Ask
from toolscout.state.guarded import Guard
from toolscout.state.memory import MemoryStore
from toolscout.state.sqlite import SqliteStore
from toolscout.state.sqlite_file import back_up
from toolscout.state.store import Entry, StateStore, StoreFull, StoreRefused, StoreUnavailable

pytestmark = pytest.mark.anyio

ENGINE = Engine(TOOLS)
CATALOG = ENGINE.catalog
PATTERN = "ship the parcel"


def learner(
    store: StateStore,
    clock: Callable[[], float] = time,
    steady: Callable[[], float] = monotonic,
) -> Learner:
    def known(tenant: str, digest: str):
        return CATALOG if digest == CATALOG.digest else None

    return Learner(Guard(store), ENGINE.embedder, known, clock, steady=steady)


def first(learner: Learner, tenant: str = "acme", pattern: str = PATTERN) -> str | None:
    """Return the tool that a search selects first."""
    prior = learner.prior(tenant, CATALOG)
    names = ENGINE.decide(CATALOG, Ask(pattern=pattern), prior=prior).names
    return names[0] if names else None


def worked(tool: str = "resize_image", **fields: object) -> Observation:
    return Observation(PATTERN, tool, True, **fields)  # type: ignore[arg-type]


async def follow(learner: Learner, reports: list[str] | None = None) -> None:
    """Read the logs once, as the service does all the time."""
    learner.experience("acme")
    await learner.catch_up((reports if reports is not None else []).append)


async def test_a_new_process_knows_what_was_recorded(tmp_path: Path):
    store = SqliteStore(tmp_path / "state.db")
    await learner(store).record("acme", [worked()] * 2)
    await store.close()
    again = SqliteStore(tmp_path / "state.db")
    one = learner(again)
    await follow(one)
    assert first(one) == "resize_image"
    await again.close()


async def test_what_one_process_saw_another_learns_once():
    store = MemoryStore()
    one, two = learner(store), learner(store)
    await one.record("acme", [worked()])
    await follow(one)
    await follow(two)
    await follow(two)
    assert one.experience("acme").observations == two.experience("acme").observations == 1


async def test_forgetting_reaches_the_other_process(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(learning, "FOLLOW_S", 0.01)
    store = MemoryStore()
    one, two = learner(store), learner(store)
    await one.record("acme", [worked()] * 2)
    await follow(two)
    assert first(two) == "resize_image"
    await one.reset("acme")
    await follow(two)
    assert first(one) != "resize_image"
    assert first(two) != "resize_image"
    await one.record("acme", [worked()])
    await follow(two)
    assert two.experience("acme").observations == 1


async def test_reports_that_do_not_count_push_out_none_that_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(log_module, "KEEP", 10)
    store = MemoryStore()
    one, two = learner(store), learner(store)
    await one.record("acme", [worked("read_file")], "honest")
    for _ in range(3):
        counted = await one.record("acme", [worked()] * 20, "insistent")
    assert counted == []
    await follow(two)
    assert {name for (name, _), _ in two.experience("acme")} == {"read_file", "resize_image"}
    assert one.experience("acme").observations == two.experience("acme").observations == 4


async def test_a_report_that_is_repeated_in_a_batch_takes_no_other_ones_place():
    one = learner(MemoryStore())
    told = [worked(turn=turn) for turn in ("t1", "t1", "t2", "t3", "t4")]
    assert len(await one.record("acme", told, "a key")) == 3


async def test_an_observation_belongs_to_the_content_of_the_latest_list():
    one = learner(MemoryStore())
    await one.record("acme", [worked()])
    assert [digest for (_, digest), _ in one.experience("acme")] == [""]
    first(one)
    await one.record("acme", [worked(), worked("unheard_of")])
    digests = {name: digest for (name, digest), _ in one.experience("acme") if digest}
    assert list(digests) == ["resize_image"]


async def test_what_the_store_does_not_take_is_not_learned():
    class Down(MemoryStore):
        async def append(self, *_: object) -> None:
            raise StoreUnavailable("down")

    one = learner(Down())
    with pytest.raises(StoreUnavailable):
        await one.record("acme", [worked()])
    assert one.experience("acme").observations == 0


async def test_what_is_refused_and_stored_all_the_same_is_learned_once_everywhere():
    """As where only the answer of the store is lost, or a process is stopped amid a write."""

    class Silent(MemoryStore):
        async def append(self, log: str, values: Sequence[bytes], keep: int) -> None:
            await super().append(log, values, keep)
            raise StoreUnavailable("no answer")

    store = Silent()
    one, two = learner(store), learner(store)
    for tool in ("read_file", "send_email"):
        with pytest.raises(StoreUnavailable):
            await one.record("acme", [worked(tool)])
    for each in (one, two, one, two):
        await follow(each)
        assert each.experience("acme").observations == 2


async def test_a_broken_entry_is_reported_and_skipped():
    store, reports = MemoryStore(), []
    await store.append("learning/acme", [b"{", b'{"pattern": 1}'], keep=10)
    await learner(store).record("acme", [worked()])
    one = learner(store)
    await follow(one, reports)
    assert one.experience("acme").observations == 1
    assert len(reports) == 2


async def test_what_is_recorded_while_the_log_is_read_counts_once():
    store = MemoryStore()
    await learner(store).reset("acme")
    await learner(store).record("acme", [worked("read_file")] * 3)

    class Reading(MemoryStore):
        async def read(self, *arguments: object, **more: object):
            entries = await store.read(*arguments, **more)  # type: ignore[arg-type]
            if not one.experience("acme").observations:
                await one.record("acme", [worked()])
                entries = await store.read(*arguments, **more)  # type: ignore[arg-type]
            return entries

    reading = Reading()
    reading.get, reading.append = store.get, store.append  # type: ignore[method-assign]
    one = learner(reading)
    await follow(one)
    assert one.experience("acme").observations == 4


async def test_what_is_forgotten_is_not_read_by_another_process_meanwhile():
    class Watched(MemoryStore):
        is_followed = False

        async def put(self, *arguments: object, **more: object) -> None:
            await super().put(*arguments, **more)  # type: ignore[arg-type]
            await self.followed()

        async def drop(self, log: str) -> None:
            await super().drop(log)
            await self.followed()

        async def followed(self) -> None:
            """Have the other process read; what it finishes is not followed again."""
            if not self.is_followed:
                self.is_followed = True
                await follow(two)
                self.is_followed = False

    store = Watched()
    one, two = learner(store), learner(store)
    await one.record("acme", [worked()])
    await follow(two)
    await one.reset("acme")
    await follow(two)
    assert two.experience("acme").observations == 0


async def test_what_is_recorded_amid_forgetting_is_known_as_in_the_log():
    class Watched(MemoryStore):
        async def drop(self, log: str) -> None:
            await super().drop(log)
            await one.record("acme", [worked()])

    one = learner(Watched())
    await one.record("acme", [worked("read_file")] * 3)
    await one.reset("acme")
    await follow(one)
    assert one.experience("acme").observations == 1


async def test_a_chain_is_told_as_it_was_reported_whatever_its_tools_are_called():
    one = learner(MemoryStore())
    chain = ("odd\x1fname", "read_file")
    await one.record("acme", [Observation(PATTERN, "", True, chain=chain)] * 3)
    known = one.find_insight("acme", PATTERN)
    assert known is not None
    assert known.chain.names == chain


@pytest.mark.parametrize("more", [0, 1, 2, 9])
async def test_replicas_read_anew_what_an_older_copy_has(tmp_path: Path, more: int):
    """As after a backup was restored under them, or a primary took over that had not everything.

    By then it may have more entries than they have read, at the same positions.
    """
    path, copy = tmp_path / "state.db", tmp_path / "copy.db"
    stores = [SqliteStore(path) for _ in range(2)]
    one, two = map(learner, stores)
    await one.record("acme", [worked("read_file")] * 3)
    back_up(path, copy)
    await one.record("acme", [worked("send_email")] * 2)
    for each in (one, two):
        await follow(each)
        assert each.experience("acme").observations == 5
    for suffix in ("-wal", "-shm", ""):
        path.with_name(path.name + suffix).unlink()
    copy.rename(path)
    stores.append(SqliteStore(path))
    await learner(stores[-1]).record("acme", [worked("get_weather")] * more)
    for each in (one, two):
        reports: list[str] = []
        await follow(each, reports)  # is told that the file is another one
        await follow(each, reports)
        assert any("an older copy" in report for report in reports)
        assert each.experience("acme").observations == 3 + more
    await one.record("acme", [worked("send_email")])
    await follow(two)
    assert two.experience("acme").observations == 4 + more
    for store in stores:
        await store.close()


async def test_a_reset_that_could_not_begin_removes_nothing():
    class Full(MemoryStore):
        async def put(self, key: str, value: bytes, ttl_s: float | None = None) -> None:
            raise StoreFull("full")

    store = Full()
    one, two = learner(store), learner(store)
    await one.record("acme", [worked()])
    await follow(two)
    with pytest.raises(StoreFull):
        await one.reset("acme")
    for each in (one, two, learner(store)):
        await follow(each)
        assert each.experience("acme").observations == 1


async def test_a_reset_that_was_broken_off_is_finished_by_another_process():
    class Dying(MemoryStore):
        is_dead = False

        async def drop(self, log: str) -> None:
            if self.is_dead:
                raise StoreUnavailable("gone")
            await super().drop(log)

    store = Dying()
    one, two = learner(store), learner(store)
    await one.record("acme", [worked()])
    await follow(two)
    store.is_dead = True
    with pytest.raises(StoreUnavailable):
        await one.reset("acme")
    store.is_dead = False
    for _ in range(3):
        await follow(two)
    assert two.experience("acme").observations == 0
    fresh = learner(store)
    await follow(fresh)
    assert fresh.experience("acme").observations == 0


async def test_a_log_that_is_refused_is_reported_once_and_holds_up_no_other():
    class Refusing(MemoryStore):
        async def read(self, log: str, *args: Any, **more: Any) -> list[Entry]:
            if log.endswith("/acme"):
                raise StoreRefused("a value of another kind")
            return await super().read(log, *args, **more)

    store, reports = Refusing(), list[str]()
    one, two = learner(store), learner(store)
    for tenant in ("acme", "zenith"):
        two.experience(tenant)
    for number in range(1, 4):
        await one.record("zenith", [worked()])
        await follow(two, reports)
        assert two.experience("zenith").observations == number
    assert reports == ["learning of acme: a value of another kind"]


async def test_a_process_whose_turns_are_not_taken_reads_the_logs_all_the_same():
    class Full(MemoryStore):
        async def append(self, log: str, values: Sequence[bytes], keep: int) -> None:
            if log.startswith("learning-turns/"):
                raise StoreFull("no room")
            await super().append(log, values, keep)

    store = Full()
    one, two = learner(store), learner(store)
    await one.record("acme", [worked()])
    await follow(two)
    await one.reset("acme")
    await two.remember("acme", "a turn", ENGINE.decide(CATALOG, Ask(pattern=PATTERN)))
    await follow(two)
    assert two.experience("acme").observations == 0


async def test_a_report_means_the_same_while_the_embeddings_of_its_list_are_made():
    (whole,) = await learner(MemoryStore()).record("acme", [worked(catalog=CATALOG.digest)])
    by_words = replace(CATALOG, vectors=None)
    early = Learner(None, ENGINE.embedder, lambda *_: by_words)
    (seen,) = await early.record("acme", [worked(catalog=CATALOG.digest)])
    assert seen.vector == whole.vector
