"""How tenants share slots, bytes and threads."""

import json
import threading
from collections.abc import Sequence
from hashlib import sha256
from multiprocessing import Pipe
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ACME_NEW, ACME_OLD, ZENITH
from tests.in_process import serving
from tests.support import ENGINE, GATEWAY, PATIENCE_S, TOOLS, Clock, Server, problem_of
from toolscout.common.fairness import ACTIVE_S, Shares, sum_ahead
from toolscout.common.threads import FairPool, trim_heap
from toolscout.errors import TooMuchWork
from toolscout.ranking.ladder import Costs
from toolscout.server.compiling import worker as worker_module
from toolscout.server.compiling.worker import SentList, Worker, compile_list
from toolscout.server.http.admission import Admission, AdmissionSlot, BytesInFlight, RateLimit
from toolscout.settings import Settings


def shares(capacity: int, tenants: int, clock: Clock | None = None) -> Shares:
    made = Shares(capacity, clock or Clock())
    made.tenants = tenants
    return made


def taken(resource: Shares, tenant: str) -> int:
    """How much a tenant gets that takes all it can, one by one."""
    got = 0
    while resource.take(tenant):
        got += 1
    return got


def test_the_only_tenant_may_have_everything():
    assert taken(shares(64, 1), "acme") == 64


def test_an_eighth_is_kept_for_who_has_less_than_its_share():
    resource = shares(64, 2)
    assert taken(resource, "acme") == 56
    assert taken(resource, "zenith") == 8


def test_what_one_gives_back_goes_to_the_other_until_both_have_the_same():
    resource = shares(64, 2)
    taken(resource, "acme")
    got = taken(resource, "zenith")
    while resource.used == 64:
        resource.give("acme")
        if not resource.take("acme"):
            got += resource.take("zenith")
        if got == 32:
            break
    assert got == 32


def test_who_was_quiet_for_long_has_no_share():
    clock = Clock()
    resource = shares(64, 3, clock)
    for tenant in ("acme", "zenith", "quiet"):
        assert resource.take(tenant)
        resource.give(tenant)
    assert resource.active("acme") == 3
    clock.now = ACTIVE_S + 1
    assert resource.active("acme") == 1


def test_one_always_may_where_nothing_is_used():
    resource = shares(8, 2)
    assert resource.take("acme", 100)
    assert not resource.take("zenith", 1)
    resource.give("acme", 100)
    assert resource.take("zenith", 4)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=200))
def test_no_more_is_taken_than_there_is(steps: list[tuple[str, bool]]):
    resource = shares(16, 3)
    held = dict.fromkeys("abc", 0)
    for tenant, takes in steps:
        if takes:
            held[tenant] += resource.take(tenant)
        elif held[tenant]:
            held[tenant] -= 1
            resource.give(tenant)
        assert resource.used == sum(held.values()) <= 16


def test_who_sends_more_than_the_others_is_known():
    resource = shares(64, 2)
    assert resource.ask("acme")  # nobody else does
    for _ in range(20):
        resource.ask("acme")
    assert not resource.ask("zenith")
    assert resource.ask("acme")


def test_threads_take_work_from_the_tenants_in_turn():
    pool = FairPool(1, "test")
    go, done = threading.Event(), threading.Event()
    order: list[str] = []
    pool.submit("acme", go.wait)
    for number in range(50):
        pool.submit("acme", order.append, f"acme {number}")
    for number in range(3):
        pool.submit("zenith", order.append, f"zenith {number}")
    pool.submit("acme", done.set)
    go.set()
    assert done.wait(30)
    assert order[:6:2] == ["acme 0", "acme 1", "acme 2"] or order[1:6:2] == [
        "acme 0",
        "acme 1",
        "acme 2",
    ]
    assert {"zenith 0", "zenith 1", "zenith 2"} <= set(order[:6])
    assert [line for line in order if line.startswith("acme")] == [f"acme {n}" for n in range(50)]


def order_of(sizes: Sequence[int], hurried: int | None = None) -> list[int]:
    """Return the order in which one thread does calls of these sizes that wait together."""
    order: list[int] = []
    pool = FairPool(1, "test", lambda size: size)
    go, begun = threading.Event(), threading.Event()
    pool.submit("acme", lambda _: begun.set() or go.wait(), 0)
    assert begun.wait(30)
    waiting = {size: pool.submit("acme", order.append, size) for size in sizes}
    if hurried is not None:
        pool.prioritize(waiting[hurried])
    go.set()
    for each in waiting.values():
        each.result(30)
        pool.prioritize(each)  # which waits no more
    return order


def test_the_smallest_need_not_wait_for_the_largest_nor_the_oldest_for_ever():
    assert order_of((900, 800, 3, 2, 1)) == [1, 900, 2, 800, 3]


def test_a_call_that_is_hurried_counts_as_the_smallest():
    assert order_of((5, 6, 7, 8), hurried=8) == [8, 5, 6, 7]


def test_work_brings_its_result_or_its_error():
    pool = FairPool(2, "test")
    assert pool.submit("acme", int, "7").result(30) == 7
    with pytest.raises(ValueError, match="seven"):
        pool.submit("acme", int, "seven").result(30)


def test_more_work_than_may_wait_is_refused_and_what_waits_is_done():
    pool = FairPool(1, "test", most_waiting=2)
    go, begun = threading.Event(), threading.Event()
    pool.submit("acme", lambda: begun.set() or go.wait())
    assert begun.wait(30)
    waiting = [pool.submit("acme", str, number) for number in range(2)]
    with pytest.raises(TooMuchWork):
        pool.submit("zenith", str)
    go.set()
    assert [future.result(30) for future in waiting] == ["0", "1"]


def test_no_more_of_others_comes_first_than_one_has():
    assert sum_ahead({"acme": 100, "zenith": 3}, "zenith") == 6
    assert sum_ahead({"acme": 100, "zenith": 3}, "acme") == 103
    assert sum_ahead({"acme": 100}, "zenith") == 0


def test_unknown_tools_of_others_do_not_stand_in_the_way():
    admission, costs = Admission(max_in_flight=256, max_lag_ms=400), Costs()
    admission.serve(2)
    with admission.count_unknown("acme", 1_000_000, costs, left_ms=1):
        for _ in range(10):
            with admission.count_unknown("zenith", 1, costs, left_ms=148):
                pass


def test_bytes_are_counted_as_they_come_and_given_back_with_the_slot():
    admission = Admission(max_in_flight=4, max_lag_ms=1e9, max_bytes=1_000)
    admission.serve(2)
    acme, zenith = admission.enter("acme"), admission.enter("zenith")
    assert isinstance(acme, AdmissionSlot)
    assert isinstance(zenith, AdmissionSlot)
    acme.hold(800)
    with pytest.raises(BytesInFlight):
        acme.hold(100)
    zenith.hold(200)
    admission.leave(acme)
    zenith.hold(300)
    admission.leave(zenith)
    assert admission.in_flight == 0


# A tenant that asks too often gets 429 and is told when to come back; others are not touched.


BODY = {"pattern": "read a file", "tools": [{"name": "read_file"}]}


def ask(server: Server, key: str, **kwargs: str):
    return server.post(BODY, headers={"authorization": f"Bearer {key}"}, **kwargs)


def test_one_tenant_is_limited_over_all_its_keys_and_no_other(tmp_path: Path):
    keys = f"acme={ACME_OLD},acme={ACME_NEW},{ZENITH}"
    with serving(tmp_path, rate_limit=0.02, api_keys=keys) as server:
        assert ask(server, ACME_OLD).status_code == 200
        refused = ask(server, ACME_NEW)
        problem_of(refused, 429, "rate_limited")
        assert 1 <= int(refused.headers["retry-after"]) <= 50
        assert problem_of(ask(server, ACME_OLD, path=GATEWAY), 429, "rate_limited")
        assert ask(server, ZENITH).status_code == 200
        assert server.get("/readyz").status_code == 200
        assert server.metric('toolscout_requests_total{outcome="rate_limited"}') == 2


def test_a_wrong_key_takes_nothing_from_a_tenant(tmp_path: Path):
    keys = f"acme={ACME_OLD}"
    with serving(tmp_path, rate_limit=0.02, api_keys=keys) as server:
        for _ in range(3):
            assert ask(server, ZENITH).status_code == 401
        assert ask(server, ACME_OLD).status_code == 200


@pytest.mark.parametrize("rate", [0.5, 1, 3, 100])
def test_a_burst_is_one_second_and_at_least_one_request(rate: float):
    limit = RateLimit(rate, clock=lambda: 0.0)
    allowed = sum(limit.take("acme") == 0 for _ in range(1_000))
    assert allowed == max(1, int(rate))


@given(st.floats(0.1, 1_000), st.lists(st.floats(0, 10, allow_subnormal=False), max_size=200))
def test_never_more_than_the_rate_and_one_burst(rate: float, pauses: list[float]):
    now = 0.0
    limit = RateLimit(rate, clock=lambda: now)
    allowed = 0
    for pause in pauses:
        now += pause
        allowed += limit.take("acme") == 0
    assert allowed <= max(1.0, rate) + now * rate + 1e-6


@given(st.floats(0.1, 1_000))
def test_after_the_time_it_names_a_request_is_allowed(rate: float):
    now = 0.0
    limit = RateLimit(rate, clock=lambda: now)
    wait = 0.0
    while not wait:
        wait = limit.take("acme")
    now += wait + 1e-6
    assert limit.take("acme") == 0


GO = threading.Event()


def wait_for_go(_: Worker) -> None:
    assert GO.wait(PATIENCE_S)


def test_a_list_that_is_asked_for_again_is_compiled_before_those_asked_for_once(
    monkeypatch: pytest.MonkeyPatch,
):
    ours, theirs = Pipe()
    monkeypatch.setattr(worker_module, "THREADS", {"call": 1, "compile": 1})
    threading.Thread(target=Worker(theirs, ENGINE, Settings()).run, daemon=True).start()
    ours.send((1, "compile", "acme", wait_for_go, ()))
    lists = [json.dumps(TOOLS[:count]).encode() for count in (1, 2, 3, 4)]
    for number, raw in enumerate(lists, 2):
        sent = SentList("acme", sha256(raw).digest(), raw)
        ours.send((number, "compile", "acme", compile_list, (sent,)))
    ours.send((6, "call", "acme", Worker.prioritize, ("acme", sha256(lists[3]).digest())))
    while ours.recv()[0] != 6:
        pass
    GO.set()
    order: list[int] = []
    while len(order) < len(lists):
        number, reply = ours.recv()
        if isinstance(reply, tuple):
            order.append(number)
    assert order[0] == 5
    ours.close()


def test_a_heap_that_cannot_be_trimmed_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch):
    """As that of musl."""
    monkeypatch.setattr("toolscout.common.threads.ctypes.CDLL", lambda _: object())
    trim_heap()
