"""What a network does to replicas and their store: it parts them, is late, or forgets names."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from statistics import quantiles
from typing import Any, NamedTuple

import pytest

from loadtests.watch import Sample, sample
from tests import network, redis_server
from tests.contract.learning import FEEDBACK, LEARNING, WORKED
from tests.redis_server import RedisServer
from tests.support import TOOLS, Process, crowd, problem_of, running, until
from toolscout.settings import Settings
from toolscout.state.guarded import MAX_PAUSE_S
from toolscout.state.redis import CONNECT_S, CONNECTIONS, READ_S

pytestmark = [pytest.mark.integration, pytest.mark.alone]

LASTS_S = 15.0
"""Length of a trouble, in which the pauses of a store that fails become as long as they ever are:
three failures of 2 s each, and pauses of 1, 2 and 4 s."""

BUSY = 2
"""How much longer everything may take on a busy machine."""

RESOLVER_S = 5.0
"""Seconds that the C library waits for a name server, where nobody says otherwise."""


class Write(NamedTuple):
    """One write: what it was, when it began and ended, and its status."""

    method: str
    began: float
    ended: float
    status: int


@dataclass
class Calls:
    """What two callers of a replica did, one of which searches while the other one writes."""

    server: Process
    name: str
    searches: list[float] = field(default_factory=list)  # seconds
    writes: list[Write] = field(default_factory=list)
    reported: list[str] = field(default_factory=list)
    """Tools whose reports were acknowledged."""
    version: int = -1
    """The latest write of a catalog that was acknowledged, by its number."""

    def search(self) -> None:
        """Search a new list and a known one, and by digest and name: all are answered."""
        new = {"tools": crowd(5, f"{self.name}n{len(self.searches)}x")}
        digest = self.server.search("spin", TOOLS).headers["x-catalog-digest"]
        named = [{"catalog": self.name}] * (self.version >= 0)
        for way in (new, {"tools": TOOLS}, {"catalog": digest}, *named):
            began = time.monotonic()
            answer = self.server.post({"pattern": "spin", **way})
            self.searches.append(time.monotonic() - began)
            assert answer.status_code == 200, answer.text

    def write(self) -> None:
        """Report on a tool, and register a catalog anew; each is acknowledged, or refused."""
        number = len(self.writes)
        tool = f"{self.name}_{number}"
        if self._is_taken("POST", FEEDBACK, {"pattern": tool, "tool": tool, "success": True}):
            self.reported.append(tool)
        tools = {"tools": crowd(3, f"{self.name}v{number}v")}
        if self._is_taken("PUT", f"/v1/catalogs/{self.name}", tools):
            self.version = number

    def _is_taken(self, method: str, path: str, body: object) -> bool:
        began = time.monotonic()
        with self.server.new_client(None) as client:
            answer = client.request(method, path, json=body)
        self.writes.append(Write(method, began, time.monotonic(), answer.status_code))
        if answer.is_success:
            return True
        problem_of(answer, 503, "store_unavailable")
        assert answer.headers["retry-after"] == "1"
        return False

    def taken(self, since: float) -> dict[str, float]:
        """Return after how many seconds since a time a write of each kind was acknowledged."""
        first: dict[str, float] = {}
        for each in list(self.writes):
            if each.began > since and each.status != 503:
                first.setdefault(each.method, each.ended - since)
        return first

    def has_all(self, server: Process) -> bool:
        """Whether a replica knows all that was acknowledged, each report once."""
        counts = {tool["name"]: tool for tool in server.get(LEARNING).json()["tools"]}
        if not counts.keys() >= set(self.reported):
            return False
        assert all(counts[tool]["successes"] == 1 for tool in self.reported)
        names = server.search("spin", catalog=self.name).json().get("selected_names")
        return bool(names) and int(names[0].split("v")[1]) >= self.version


@contextmanager
def called(server: Process, name: str) -> Iterator[Calls]:
    """Yield the calls of two callers, who go on until the end of the block."""
    calls, over = Calls(server, name), threading.Event()
    server.client.timeout = BUSY * READ_S

    def repeat(call: Callable[[], None]) -> None:
        while not over.wait(0.05):
            call()

    with ThreadPoolExecutor(2) as callers:
        asking = [callers.submit(repeat, call) for call in (calls.search, calls.write)]
        try:
            until(lambda: calls.version >= 0 and len(calls.searches) > 40)
            yield calls
        finally:
            over.set()
        for each in asking:
            each.result()


CALLS = {"POST": 1, "PUT": 6}
"""Commands that a report and a registration send to the store, one after the other."""


def endure(trouble: AbstractContextManager[object], promised_s: float, *servers: Process) -> None:
    """Have all replicas called, the last of them in trouble, until all is well again."""
    with ExitStack() as stack:
        calls = [stack.enter_context(called(each, f"r{n}")) for n, each in enumerate(servers)]
        with trouble:
            time.sleep(LASTS_S)
        healed = time.monotonic()
        until(lambda: len(calls[-1].taken(healed)) == 2)
    until(lambda: all(each.has_all(server) for server in servers for each in calls))
    all_s, taken_s = time.monotonic() - healed, max(calls[-1].taken(healed).values())
    for each in calls:
        cuts = [1e3 * cut for cut in quantiles(each.searches, n=100)]
        refused = sum(write.status == 503 for write in each.writes)
        slowest_s = max(write.ended - write.began for write in each.writes)
        print(f"\n{len(each.searches)} searches, p50 {cuts[49]:.0f} ms, p99 {cuts[98]:.0f}", end="")
        print(
            f"; {refused} of {len(each.writes)} writes refused, at most {slowest_s:.1f} s", end=""
        )
        assert cuts[89] < Settings().cold_budget_ms
        assert all(w.ended - w.began < BUSY * CALLS[w.method] * READ_S for w in each.writes)
    assert refused or slowest_s > 1
    print(f"; taken again after {taken_s:.1f} s of {promised_s:.1f}, all there after {all_s:.1f} s")
    assert taken_s < BUSY * promised_s


@contextmanager
def far_away(folder: Path) -> Iterator[tuple[network.Apart, RedisServer]]:
    """Yield a network apart, and a Redis that can be reached from there."""
    with network.apart(folder) as far:
        reachable = ("--protected-mode", "no", "--bind", "127.0.0.1", far.here)
        with redis_server.nodes(folder, 1, *reachable) as (store,):
            yield far, store


@contextmanager
def replica(folder: Path, url: str, far: network.Apart | None = None) -> Iterator[Process]:
    """Yield a replica, here or far away."""
    folder.mkdir()
    place: dict[str, Any] = {}
    if far is not None:
        place = {"before": far.before, "host": far.there}
        place |= {"TOOLSCOUT_HOST": far.there, "TOOLSCOUT_INSECURE": "on"}
    with running(folder, "--store", url, **place) as server:
        yield server


@pytest.mark.parametrize("way", ["out", "back"])
def test_a_partition_costs_no_search_and_nothing_acknowledged(tmp_path: Path, way: str):
    with far_away(tmp_path) as (far, store):
        url = f"redis://{far.here}:{store.port}"
        with replica(tmp_path / "1", url) as near, replica(tmp_path / "2", url, far) as cut_off:
            endure(far.lost(store.port, way), READ_S + MAX_PAUSE_S, near, cut_off)


@pytest.mark.parametrize("late_s", [None, 3.0])
def test_a_silent_or_late_name_server_costs_no_search(tmp_path: Path, late_s: float | None):
    with far_away(tmp_path) as (far, store), network.Names(far.here).serving() as names:

        @contextmanager
        def forgotten() -> Iterator[None]:
            names.late_s = late_s
            store.command("CLIENT KILL TYPE normal")
            yield
            names.late_s = 0

        names.late_s = late_s
        with replica(tmp_path / "1", f"redis://store.test:{store.port}", far) as asking:
            until(lambda: "store_unavailable" in asking.stdout)
            assert asking.names("read a file", top_k=1) == ["read_file"]
            problem_of(asking.post(WORKED, FEEDBACK), 503, "store_unavailable")
            names.late_s = 0
            until(lambda: asking.post(WORKED, FEEDBACK).is_success)
            endure(forgotten(), CONNECT_S + MAX_PAUSE_S, asking)
            with forgotten():
                until(lambda: asking.post(WORKED, FEEDBACK).status_code == 503)
                began = time.monotonic()
                asking.process.terminate()
                assert asking.wait() == 0
                stopped_s = time.monotonic() - began
    print(f"stopped after {stopped_s:.1f} s, while names are looked up")
    assert stopped_s < RESOLVER_S


@pytest.mark.parametrize("late_s", [READ_S - 0.5, READ_S + 0.5])
def test_a_store_that_is_late_costs_no_search_and_piles_up_nothing(tmp_path: Path, late_s: float):
    relay = network.Relay()
    with relay.serving(), ExitStack() as stack:
        store = stack.enter_context(redis_server.running(tmp_path))
        url, relay.target = f"redis://127.0.0.1:{relay.port}", store.port
        near = stack.enter_context(replica(tmp_path / "1", store.url))
        behind = stack.enter_context(replica(tmp_path / "2", url))

        def used() -> tuple[int, Sample]:
            told = store.command("INFO clients").partition(b"connected_clients:")[2]
            return int(told.split()[0]), sample(behind.process.pid, 0)

        def ask(number: int) -> None:
            unknown = {"pattern": "spin", "catalog": sha256(b"%d" % number).hexdigest()}
            problem_of(behind.post(unknown), 404, "catalog_unknown")

        @contextmanager
        def late() -> Iterator[None]:
            (_, before), relay.late_s = used(), late_s
            with ThreadPoolExecutor(32) as callers:
                list(callers.map(ask, range(1_500)))
            problem_of(behind.post({"pattern": "spin", "catalog": "cog"}), 503, "store_unavailable")
            yield
            (connections, after), relay.late_s = used(), 0
            files, mib = after.files - before.files, after.memory_mib - before.memory_mib
            print(f"\n{connections} connections; {files} files and {mib:.0f} MiB more", end="")
            assert connections <= 2 * CONNECTIONS + 1
            assert files <= CONNECTIONS + 8
            assert mib < 32

        endure(late(), READ_S + MAX_PAUSE_S, near, behind)
