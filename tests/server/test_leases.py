"""Processes that share a store allow a tenant its rate together, and wait for nothing."""

from pathlib import Path
from time import monotonic

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ACME_OLD
from tests.in_process import serving
from tests.support import Server, until
from toolscout.server.http.admission import LASTS_S, RateLimit
from toolscout.server.http.leases import Leases, part
from toolscout.state.guarded import Guard
from toolscout.state.memory import MemoryStore
from toolscout.state.store import StoreUnavailable, key

RATE = 100.0


class Replicas:
    """Processes on one store, whose clocks show the same time."""

    def __init__(self, count: int) -> None:
        self.now = 0.0
        self.store = MemoryStore()
        guard = Guard(self.store)
        self.limits = [RateLimit(RATE, clock=lambda: self.now) for _ in range(count)]
        self.leases = [Leases(guard, each, RATE, clock=lambda: self.now) for each in self.limits]

    async def run(self, seconds: int, *asked: int) -> list[int]:
        """Ask each process so often a second, evenly; return how many each allowed."""
        allowed = [0] * len(asked)
        for _ in range(seconds):
            for tick in range(100):
                self.now += 0.01
                for at, count in enumerate(asked):
                    for _ in range(count * (tick + 1) // 100 - count * tick // 100):
                        allowed[at] += self.limits[at].take("acme") == 0
            for lease, count in zip(self.leases, asked, strict=False):
                if count:
                    await lease.renew(1.0)
        return allowed


@pytest.mark.anyio
async def test_together_they_allow_the_rate():
    replicas = Replicas(3)
    await replicas.run(3, 200, 200, 200)
    assert sum(await replicas.run(10, 200, 200, 200)) == pytest.approx(10 * RATE, rel=0.05)


@pytest.mark.anyio
async def test_where_most_is_asked_most_is_allowed():
    replicas = Replicas(2)
    await replicas.run(3, 300, 20)
    busy, idle = await replicas.run(10, 300, 20)
    assert busy + idle == pytest.approx(10 * RATE, rel=0.05)
    assert busy == pytest.approx(15 * idle, rel=0.2)


@pytest.mark.anyio
async def test_nothing_is_refused_while_together_they_are_asked_less():
    replicas = Replicas(3)
    await replicas.run(3, 70, 20, 5)
    assert await replicas.run(10, 70, 20, 5) == [700, 200, 50]


@pytest.mark.anyio
async def test_the_part_of_one_that_is_gone_goes_to_the_others():
    replicas = Replicas(2)
    await replicas.run(3, 300, 300)
    await replicas.run(int(LASTS_S) + 1, 300)
    assert sum(await replicas.run(5, 300)) == pytest.approx(5 * RATE, rel=0.05)


@pytest.mark.anyio
async def test_a_refused_caller_is_told_no_longer_a_wait_than_the_part_of_others_is_kept():
    replicas = Replicas(2)
    await replicas.run(3, 1_000, 1)
    assert replicas.limits[1].rates["acme"] < 1 / (2 * LASTS_S)
    assert max(replicas.limits[1].take("acme") for _ in range(2)) == LASTS_S


def test_a_process_that_has_all_of_a_rate_tells_the_whole_wait():
    limit = RateLimit(0.02, clock=lambda: 0.0)
    limit.rates["acme"] = 0.02
    assert [limit.take("acme") for _ in range(2)] == [0.0, pytest.approx(50)]


@pytest.mark.anyio
async def test_without_the_store_the_last_parts_hold(monkeypatch: pytest.MonkeyPatch):
    replicas = Replicas(2)
    await replicas.run(3, 300, 300)

    async def away(_: str) -> bytes:
        raise StoreUnavailable

    monkeypatch.setattr(replicas.store, "get", away)
    assert sum(await replicas.run(10, 300, 300)) == pytest.approx(10 * RATE, rel=0.05)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "value", [b"", b"[]", b'{"x":[-1]}', b'{"x":[1e9,1e12]}', b'{"x":[-1000,3]}']
)
async def test_garbage_in_the_store_changes_nothing(value: bytes):
    replicas = Replicas(1)
    await replicas.store.put(key("rate", "acme"), value)
    assert sum(await replicas.run(5, 300)) == pytest.approx(5 * RATE, rel=0.3)
    kept = await replicas.store.get(key("rate", "acme"))
    assert len(msgspec.json.decode(kept or b"")) == 1


@given(st.floats(0.1, 1e6), st.lists(st.floats(0, 1e6), min_size=1, max_size=20))
def test_the_parts_make_up_the_rate(rate: float, asked: list[float]):
    parts = [part(rate, each, asked[:at] + asked[at + 1 :]) for at, each in enumerate(asked)]
    assert sum(parts) == pytest.approx(rate, rel=1e-6, abs=0.1)
    assert all(each > 0 for each in parts)


def test_two_services_on_one_store_allow_a_tenant_its_rate(tmp_path: Path):
    settings = {"store": f"sqlite:{tmp_path / 'state.db'}", "rate_limit": 20}
    keys = f"acme={ACME_OLD}"

    def passes(server: Server) -> bool:
        body = {"pattern": "read a file", "tools": [{"name": "read_file"}]}
        return server.post(body, headers={"x-api-key": ACME_OLD}).status_code == 200

    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with (
        serving(tmp_path / "one", api_keys=keys, **settings) as one,
        serving(tmp_path / "two", api_keys=keys, **settings) as two,
    ):
        allowed = lambda: [passes(server) for server in (one, two) for _ in range(5)]  # noqa: E731
        until(lambda: not all(allowed()))
        began, count = monotonic(), 0
        while monotonic() - began < 4:
            count += sum(allowed())
        # Each has a burst of half of a second's worth, where alone it would have twice the rate.
        assert count <= 20 * (monotonic() - began) + 2 * 20
