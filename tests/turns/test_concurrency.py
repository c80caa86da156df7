"""Many sessions over one client: every one gets its own answer, and nothing piles up."""

import asyncio
import gc
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier, Event, Lock
from time import sleep
from typing import Any

import pytest

from tests.client.upstream import Exchange, peer
from tests.support import PATIENCE_S
from tests.turns.flows import DONE, PHANTOM, Model
from tests.turns.shapes import BY_NAME
from toolscout.client import AsyncSelector, Reason, Selector
from toolscout.client.breaker import BreakerPolicy
from toolscout.client.selector import LONG
from toolscout.discovery import AsyncToolDiscovery
from toolscout.turns.drivers import pieces
from toolscout.turns.drivers.flow import SEARCHED_AT_ONCE
from toolscout.turns.drivers.pieces import Places

SESSIONS = 200


def tools_of(session: int) -> list[dict[str, str]]:
    return [
        {"name": f"tool_{number}_of_{session}", "description": f"Does {number} for {session}"}
        for number in range(6)
    ]


def echo(exchange: Exchange) -> None:
    """Chooses the last tool it was sent, and the one whose number the pattern says."""
    body = exchange.json
    names = [tool["name"] for tool in body["tools"]]
    exchange.select(names[-1], names[int(body["pattern"])])


def test_two_hundred_tasks_get_their_own_answers_over_few_connections():
    async def one(selector: AsyncSelector, session: int) -> None:
        for turn in range(5):
            selection = await selector.select(str(turn), tools_of(session))
            expected = dict.fromkeys((f"tool_5_of_{session}", f"tool_{turn}_of_{session}"))
            assert selection.names == list(expected), selection.detail

    async def all_of_them(url: str) -> None:
        async with AsyncSelector(url, timeout=30, max_connections=20) as selector:
            await asyncio.gather(*(one(selector, session) for session in range(SESSIONS)))

    with peer(echo) as fake:
        asyncio.run(all_of_them(fake.url))
        assert len(fake.requests) == SESSIONS * 5
        assert fake.connections <= 20


def test_of_many_requests_at_once_some_are_searched_for_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
):
    """Else the time of most searches would be over before there is a connection for them."""
    monkeypatch.setattr(pieces, "HELD_S", PATIENCE_S)
    shape = BY_NAME["openai"]
    tools = [shape.tool(f"tool_{number}", "Does it") for number in range(30)]
    lock, full, go_on, searching, peaks = Lock(), Event(), Event(), [0], [0]

    def script(exchange: Exchange) -> None:
        with lock:
            searching[0] += 1
            peaks[0] = max(peaks[0], searching[0])
        if searching[0] == SEARCHED_AT_ONCE:
            full.set()
        if searching[0] > SEARCHED_AT_ONCE:
            go_on.set()
        go_on.wait(PATIENCE_S)
        with lock:
            searching[0] -= 1
        exchange.select("tool_7")

    async def all_of_them(url: str) -> list[list[str]]:
        model = Model(shape, DONE)

        async def forward(body: Any) -> Any:
            return model(body)

        discovery = AsyncToolDiscovery(url, timeout=PATIENCE_S)
        requests = [shape.request(f"do {number}", tools) for number in range(50)]
        answers = asyncio.gather(*(discovery.complete(one, forward) for one in requests))
        await asyncio.to_thread(full.wait, PATIENCE_S)
        for _ in range(2_000):  # time for another, in turns of the loop
            await asyncio.sleep(0)
        go_on.set()
        await answers
        await discovery.aclose()
        return [model.seen(number) for number in range(50)]

    with peer(script) as fake:
        for _ in range(2):  # in a second event loop, too
            assert asyncio.run(all_of_them(fake.url)) == [[PHANTOM, "call_tool", "tool_7"]] * 50
        assert len(fake.requests) == 100
    assert peaks == [SEARCHED_AT_ONCE]


def in_blocking_code(places: Places, enter: Callable[[], None], count: int) -> None:
    async def one() -> None:
        async with places.here():
            enter()

    with ThreadPoolExecutor(count) as threads:
        for ended in [threads.submit(pieces.run, one()) for _ in range(count)]:
            ended.result(PATIENCE_S)


def in_code_that_waits(places: Places, enter: Callable[[], None], count: int) -> None:
    async def one() -> None:
        async with places.here():
            await asyncio.to_thread(enter)

    async def all_of_them() -> None:
        await asyncio.gather(*(one() for _ in range(count)))

    asyncio.run(all_of_them())


BOTH = pytest.mark.parametrize(
    ("together", "waits"), [(in_blocking_code, False), (in_code_that_waits, True)]
)


@BOTH
def test_behind_a_slow_service_the_next_searches_begin_all_the_same(
    together: Any, waits: bool, monkeypatch: pytest.MonkeyPatch
):
    for name in ("HELD_S", "HELD_BY_THREAD_S"):
        monkeypatch.setattr(pieces, name, 0.001)
    all_are_searching = Barrier(4)
    together(Places(1, waits=waits), partial(all_are_searching.wait, PATIENCE_S), 4)


@BOTH
def test_until_a_search_has_ended_or_waits_long_the_next_one_does_not_begin(
    together: Any, waits: bool, monkeypatch: pytest.MonkeyPatch
):
    for name in ("HELD_S", "HELD_BY_THREAD_S"):
        monkeypatch.setattr(pieces, name, 10 * PATIENCE_S)
    alone = Lock()

    def enter() -> None:
        assert alone.acquire(blocking=False)
        for _ in range(1_000):  # time for another, in turns of the threads
            sleep(0)
        alone.release()

    together(Places(1, waits=waits), enter, 20)


def test_a_task_that_is_cancelled_gives_its_place_back():
    async def cancelled() -> None:
        places = Places(1, waits=True)
        for _ in range(3):
            async with places.here():
                waiting = asyncio.create_task(places.here().__aenter__())
                await asyncio.sleep(0)
                waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

    asyncio.run(cancelled())


def test_memory_is_bounded_over_ever_new_catalogs():
    def name_digest(exchange: Exchange) -> None:
        digest = f"{exchange.number:064x}"
        exchange.select(exchange.json["tools"][0]["name"], headers=[("X-Catalog-Digest", digest)])
        exchange.body = b""  # what the peer remembers is not the client's

    with peer(name_digest) as fake, Selector(fake.url, timeout=30) as selector:

        def calls(sessions: range) -> None:
            for session in sessions:
                selector.select("1", tools_of(session))
            fake.requests.clear()

        tracemalloc.start()  # from the first: what replaces another list adds nothing
        calls(range(1_200))  # more than are remembered
        gc.collect()  # what only awaits collection is not kept
        before, _ = tracemalloc.get_traced_memory()
        calls(range(3_000, 3_250))
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert (
        after - before < 400_000
    )  # 250 lists would take a megabyte; tables of a map grow in leaps


def test_a_cancelled_call_is_cancelled_and_nothing_is_left_of_it():
    async def run(url: str) -> None:
        async with AsyncSelector(url, timeout=30) as selector:
            call = asyncio.create_task(selector.select("0", tools_of(1)))
            while not fake.requests:
                await asyncio.sleep(0.005)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert not selector.breaker.failures
        assert asyncio.all_tasks() == {asyncio.current_task()}

    def silent(exchange: Exchange) -> None:
        exchange.stopping.wait(5)

    with peer(silent) as fake:
        asyncio.run(run(fake.url))


def test_a_probe_that_is_cancelled_while_its_tools_are_written_lets_another_through():
    writing, cancelled = Event(), Event()

    def redact(tool: dict[str, Any]) -> dict[str, Any]:
        writing.set()
        cancelled.wait(PATIENCE_S)
        return tool

    async def run(url: str) -> None:
        policy = BreakerPolicy(consecutive=1, first_pause_s=0.001)
        async with AsyncSelector(url, timeout=60, breaker=policy, redact=redact) as selector:
            ticket = selector.breaker.admit(0)
            assert ticket is not None
            selector.breaker.record(ticket, True, 0)
            many = [{"name": f"tool_{number}"} for number in range(LONG + 1)]
            call = asyncio.create_task(selector.select("0", many))
            await asyncio.to_thread(writing.wait, PATIENCE_S)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            cancelled.set()
            async with asyncio.timeout(PATIENCE_S):
                while (await selector.select("0", tools_of(1))).reason is Reason.CIRCUIT_OPEN:
                    await asyncio.sleep(0.005)
            assert not selector.breaker.is_open

    with peer(echo) as fake:
        asyncio.run(run(fake.url))
