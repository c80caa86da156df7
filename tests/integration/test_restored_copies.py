"""A store goes back under living replicas: what is acknowledged afterwards is known to all."""

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.integration.stores import (
    SHARED,
    KeptPostgres,
    KeptRedis,
    Reporter,
    kept,
    known,
    replica,
)
from tests.support import Process, until

pytestmark = [pytest.mark.integration, pytest.mark.alone]

BEFORE = 15
"""Reports to each replica before and after the copy was made."""

AFTER = 60
"""Reports to each replica that are acknowledged after the copy was restored, or more."""

STOPS = 10
"""How often a replica is stopped, each time at whatever it does under load."""

BEFORE_A_STOP, DURING_A_STOP = 6, 8
"""Reports of each of six callers at most: a replica lists 1,000 tools, those of all stops."""


def report(count: int, *reporters: Reporter) -> None:
    """Have all of them report so often, one after the other, and be acknowledged."""
    for _ in range(count):
        for each in reporters:
            each.report()
    assert sum(each.refused for each in reporters) == 0


def agree(folder: Path, url: str, acknowledged: set[str], *replicas: Process) -> dict[str, int]:
    """Wait until replicas know what a process knows that begins now; return that."""
    with replica(folder, "fresh", url) as fresh:
        until(lambda: acknowledged <= known(fresh).keys())
        for each in replicas:
            until(lambda each=each: known(each) == known(fresh))  # type: ignore[misc]
        return known(fresh)


@pytest.mark.parametrize("kind", SHARED)
def test_an_older_copy_under_two_replicas_costs_only_what_it_lacks(tmp_path: Path, kind: str):
    with ExitStack() as stack:
        store = stack.enter_context(kept(kind, tmp_path))
        one, two = (stack.enter_context(replica(tmp_path, name, store.url)) for name in "12")
        reporters = Reporter(one, "one"), Reporter(two, "two")
        report(BEFORE, *reporters)
        store.save()
        report(BEFORE, *reporters)
        until(lambda: len(known(one)) == len(known(two)) == 4 * BEFORE)
        with reporters[0].reporting() as first, reporters[1].reporting() as second:
            store.restore()
            restored = time.monotonic()
            until(lambda: all(len(r.acknowledged(restored)) > AFTER for r in reporters))
        acknowledged = first.acknowledged(restored) | second.acknowledged(restored)
        found = agree(tmp_path, store.url, acknowledged, one, two)
        lost = (first.acknowledged() | second.acknowledged()) - found.keys()
        print(
            f"\n{kind}: {len(acknowledged)} acknowledged after the restore, all found by three;",
            end=" ",
        )
        print(f"{len(lost)} of before are gone, {first.refused + second.refused} refused meanwhile")
        assert len(lost) >= 2 * BEFORE
        assert set(found.values()) == {1}


def test_a_primary_of_redis_whose_clock_is_behind_hides_no_report(tmp_path: Path):
    with ExitStack() as stack:
        store = stack.enter_context(kept("redis", tmp_path))
        assert isinstance(store, KeptRedis)
        one, two = (stack.enter_context(replica(tmp_path, name, store.url)) for name in "12")
        reporters = Reporter(one, "one"), Reporter(two, "two")
        report(BEFORE, *reporters)
        store.save()
        log = store.server.command("KEYS toolscout:1:learning/*").split()[-1].decode()
        ahead_ms = 1_000 * (int(time.time()) + 600)
        assert str(ahead_ms) in store.server.command(f"XADD {log} {ahead_ms}-1 v junk").decode()
        report(1, *reporters)
        until(lambda: len(known(one)) == len(known(two)) == 2 * BEFORE + 2)
        store.restore()
        restored = time.monotonic()
        report(BEFORE, *reporters)
        acknowledged = set().union(*(each.acknowledged(restored) for each in reporters))
        agree(tmp_path, store.url, acknowledged, one, two)
        print(f"\nredis: {len(acknowledged)} acknowledged 600 s behind, all found by three")
        assert len(acknowledged) == 2 * BEFORE


def test_a_postgres_whose_sequence_is_behind_hides_no_report(tmp_path: Path):
    """As after a switch to a logical replica, which gets tables and no sequences."""
    with ExitStack() as stack:
        store = stack.enter_context(kept("postgres", tmp_path))
        assert isinstance(store, KeptPostgres)
        one, two = (stack.enter_context(replica(tmp_path, name, store.url)) for name in "12")
        reporters = Reporter(one, "one"), Reporter(two, "two")
        report(BEFORE, *reporters)
        until(lambda: len(known(one)) == len(known(two)) == 2 * BEFORE)
        with reporters[0].reporting() as first, reporters[1].reporting() as second:
            store.server.ask("SELECT setval('toolscout.entries_position_seq', 1);")
            until(lambda: all(len(each.acknowledged()) > AFTER for each in reporters))
        acknowledged = first.acknowledged() | second.acknowledged()
        found = agree(tmp_path, store.url, acknowledged, one, two)
        refused = first.refused + second.refused
        print(
            f"\npostgres: {len(acknowledged)} acknowledged, all found by three; {refused} refused"
        )
        assert found.keys() == acknowledged


@contextmanager
def stopped(server: Process) -> Iterator[None]:
    """Stop a process, as a paused machine does, and let it go on afterwards."""
    server.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.signal(signal.SIGCONT)


@pytest.mark.parametrize("kind", SHARED)
def test_a_stopped_replica_loses_nothing_and_holds_up_no_other(tmp_path: Path, kind: str):
    """Except on SQLite, whose lock a process keeps that is stopped amid a write: others get 503."""
    with ExitStack() as stack:
        store = stack.enter_context(kept(kind, tmp_path))
        servers = [stack.enter_context(replica(tmp_path, name, store.url)) for name in "123"]
        reporters = [Reporter(server, f"caller{n}") for n, server in enumerate(servers * 2)]
        others = [each for each in reporters if each.server is not servers[0]]
        waits_s = []
        with ExitStack() as reporting:
            for each in reporters:
                reporting.enter_context(each.reporting(0.005))
            for _ in range(STOPS):
                for each in reporters:
                    each.left = BEFORE_A_STOP
                began = time.monotonic()
                until(lambda: all(each.acknowledged(began) for each in reporters))  # noqa: B023
                with stopped(servers[0]):
                    waits_s.append(answered(DURING_A_STOP, others, may_refuse=kind == "sqlite"))
        acknowledged = set[str]().union(*(each.acknowledged() for each in reporters))
        agree(tmp_path, store.url, acknowledged, *servers)
        refused = sum(each.refused for each in reporters)
        print(f"\n{kind}: {STOPS} stops of one of three; {DURING_A_STOP} reports of each", end="")
        print(f" other caller took {max(waits_s):.1f} s at most, {refused} were refused;", end="")
        print(f" {len(acknowledged)} acknowledged, all found by four")
        assert kind == "sqlite" or refused == 0


def answered(count: int, reporters: list[Reporter], *, may_refuse: bool) -> float:
    """Have so many reports of each acknowledged, or one refused; return the seconds."""
    began = time.monotonic()
    for each in reporters:
        each.left = count + 1  # one may have begun before

    def has_ended(reporter: Reporter) -> bool:
        refused = may_refuse and reporter.refused_since(began)
        return bool(refused) or len(reporter.acknowledged(began)) >= count

    until(lambda: all(map(has_ended, reporters)))
    return time.monotonic() - began
