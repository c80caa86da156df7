"""Turns across processes: two learners on one store stand for two processes."""

from collections import Counter
from time import time

import pytest

from tests.learning.test_learner import CATALOG, ENGINE, PATTERN, first, follow, learner, worked
from tests.learning.test_privacy import of_model
from toolscout.experience.reported import Observation
from toolscout.experience.turns import REPORTS, TURN_S, TURNS, ReportedTurn, Turns
from toolscout.learning.learner import Learner
from toolscout.ranking.ask import Ask
from toolscout.state.memory import MemoryStore

pytestmark = pytest.mark.anyio


async def search(one: Learner, turn: str = "turn-1", pattern: str = PATTERN, **fields: str) -> None:
    decision = ENGINE.decide(CATALOG, Ask(pattern=pattern, **fields))  # type: ignore[arg-type]
    await one.remember("acme", turn, decision)


def told(turn: str = "turn-1", success: bool = True) -> Observation:
    return Observation("", "resize_image", success, turn=turn)


async def accepted(one: Learner, *observations: Observation) -> int:
    return len(await one.record("acme", observations))


@pytest.mark.parametrize("ranker", ["auto", "bm25", "semantic", "regex"])
async def test_feedback_may_name_the_turn_of_a_search(ranker: str):
    one = learner(MemoryStore())
    await search(one, "a", ranker=ranker)
    await search(one, "b", ranker=ranker)
    assert await accepted(one, told("a"), told("b")) == 2
    assert first(one) == "resize_image"


async def test_feedback_of_an_unknown_turn_counts_nothing():
    one = learner(MemoryStore())
    assert await accepted(one, told("unheard-of"), worked()) == 1
    assert one.experience("acme").observations == 1


async def test_equal_reports_of_a_turn_count_once():
    one = learner(MemoryStore())
    same = worked(turn="t")
    assert await accepted(one, same, same) == 1
    assert await accepted(one, same) == 0
    assert await accepted(one, worked("read_file", turn="t"), worked(turn="other")) == 2
    assert await accepted(one, Observation(PATTERN, "resize_image", False, turn="t")) == 1
    chain = Observation(PATTERN, "", True, chain=("one", "two"), turn="t")
    assert await accepted(one, chain, chain) == 1
    assert one.experience("acme").observations == 4


async def test_turns_that_are_over_are_removed_from_the_store():
    """They hold what was asked, so they do not stay longer than they are of use."""
    now = [time()]
    store = MemoryStore(lambda: now[0])
    one, log = learner(store, lambda: now[0], lambda: now[0]), "learning-turns/acme"
    await store.append(log, [b'{"turn": ' + b"[" * 10_000], keep=10)
    await search(one, "old")
    await follow(one)
    now[0] += TURN_S - 1
    await search(one, "new")
    await follow(one)
    assert len(await store.read(log)) == 2
    now[0] += 61
    await follow(one)
    assert len(await store.read(log)) == 1
    assert await accepted(learner(store, clock=lambda: now[0]), told("new"), told("old")) == 1


async def test_reports_without_a_turn_all_count():
    assert await accepted(learner(MemoryStore()), worked(), worked()) == 2


async def test_what_two_processes_were_told_counts_once_in_each_and_in_a_third():
    store = MemoryStore()
    learners = [learner(store) for _ in range(3)]
    await learners[0].record("acme", [worked(turn="t")])
    await learners[1].record("acme", [worked(turn="t")])
    for one in learners:
        await follow(one)
    assert [one.experience("acme").observations for one in learners] == [1, 1, 1]
    assert await accepted(learners[2], worked(turn="t")) == 0


async def test_a_turn_is_known_to_another_process():
    store = MemoryStore()
    one, two = learner(store), learner(store)
    await search(one)
    assert await accepted(two, told()) == 0
    await follow(one)
    assert await accepted(two, told()) == 1


async def test_a_turn_of_another_model_is_unknown():
    store = MemoryStore()
    one, two = of_model(store, "one"), of_model(store, "two")
    await search(one)
    await follow(one)
    assert await accepted(two, told()) == 0


async def test_no_identifier_and_no_text_of_a_turn_is_stored():
    store = MemoryStore()
    one = learner(store)
    await search(one, "turn-plugh")
    await one.record("acme", [told("turn-plugh")])
    await follow(one)
    logs = ("learning-turns/acme", "learning/acme")
    entries = [entry.value for log in logs for entry in await store.read(log)]
    assert len(entries) == 2
    assert not [entry for entry in entries if b"plugh" in entry or b"parcel" in entry]


def test_the_latest_search_of_a_turn_stands_for_it_and_old_turns_make_room():
    turns = Turns()
    for number in range(TURNS + 2):
        turns.remember(str(number), ReportedTurn(0.0), write=True)
    turns.remember("2", ReportedTurn(0.0, "later"), write=True)
    assert [turns.find(name, 0.0) is None for name in ("0", "1", "2")] == [True, True, False]
    found = turns.find("2", 0.0)
    assert found is not None
    assert found.catalog == "later"
    assert len(turns.take_unwritten()) == TURNS
    assert turns.take_unwritten() == {}


def test_a_turn_that_is_read_late_does_not_replace_a_later_search():
    turns = Turns()
    turns.remember("a", ReportedTurn(2.0, "second"), write=True)
    turns.remember("a", ReportedTurn(1.0, "first"), write=False)
    found = turns.find("a", 2.0)
    assert found is not None
    assert found.catalog == "second"


def test_reports_of_long_ago_are_forgotten():
    turns = Turns()
    reports = [Observation("", "", True, report=str(number)) for number in range(REPORTS + 1)]
    for report in reports:
        turns.count(report)
    assert turns.count_in_batch(reports[0], Counter())
    assert not turns.count_in_batch(reports[1], Counter())


async def test_reports_of_one_key_count_thrice_for_a_pattern_and_a_tool():
    one = learner(MemoryStore())
    assert len(await one.record("acme", [worked()] * 5, "key-1")) == 3
    assert await one.record("acme", [worked()], "key-1") == []
    assert len(await one.record("acme", [worked("send_email"), worked()], "key-2")) == 2
    for turn in "abcde":
        await search(one, turn)
    told_by_turns = await one.record("acme", list(map(told, "abcde")), "key-3")
    assert len(told_by_turns) == 3
