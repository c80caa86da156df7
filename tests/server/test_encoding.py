"""When the serving process asks its worker for the encoder's vectors, and how long it waits."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
import pytest

from tests.support import TOOLS, compiled, crowd
from toolscout.errors import Overloaded
from toolscout.index.cache import CatalogCache
from toolscout.index.encoder import DIMENSION
from toolscout.server.compiling import encoding as encoding_module
from toolscout.server.compiling.encoding import (
    MIN_WAIT_S,
    MOST_ASKED,
    TOOLS_AT_A_TIME,
    Encoding,
)
from toolscout.server.compiling.worker import encode_tools

pytestmark = pytest.mark.anyio

VECTOR = np.ones(DIMENSION, np.float32)


class Asked:
    """Stands for the queue of the worker: answers as it is told, and remembers the tenants."""

    def __init__(self, answer: Callable[..., Awaitable[Any]]) -> None:
        self.messages: list[str] = []
        self._answer = answer

    async def ask(self, seconds: float, _: str, tenant: str, work: Any, *args: Any) -> Any:
        self.messages.append(tenant)
        async with asyncio.timeout(seconds):
            return await self._answer(work, *args)


async def turns() -> None:
    """Give whatever goes on in this loop more turns than it takes."""
    for _ in range(1_000):
        await asyncio.sleep(0)


async def at_once(work: Any, *args: Any) -> Any:
    await asyncio.sleep(0)
    if work is encode_tools:
        return np.ones((len(args[1]), DIMENSION), np.float32)
    return VECTOR


async def never(*_: Any) -> Any:
    await asyncio.Event().wait()


async def failing(*_: Any) -> Any:
    raise Overloaded("the worker ended")


def encoding(answer: Callable[..., Awaitable[Any]]) -> tuple[Encoding, Asked, CatalogCache]:
    asked, cache = Asked(answer), CatalogCache()
    return Encoding(asked, cache), asked, cache  # type: ignore[arg-type]


async def test_a_query_is_asked_once():
    found, asked, _ = encoding(at_once)
    for _ in range(2):
        assert await found.query("acme", "read a file", 1.0) is VECTOR
    await found.query("zenith", "read a file", 1.0)
    assert len(asked.messages) == 2


async def test_with_little_time_left_nothing_is_asked():
    found, asked, _ = encoding(at_once)
    assert await found.query("acme", "read a file", MIN_WAIT_S / 2) is None
    assert asked.messages == []


async def test_what_is_late_is_there_for_the_next_one():
    arrives = asyncio.Event()

    async def later(*_: Any) -> Any:
        await arrives.wait()
        return VECTOR

    found, asked, _ = encoding(later)
    assert await found.query("acme", "read a file", 0.02) is None
    arrives.set()
    await turns()
    assert await found.query("acme", "read a file", 0.0) is VECTOR
    assert len(asked.messages) == 1


async def test_equal_queries_are_one():
    found, asked, _ = encoding(at_once)
    results = await asyncio.gather(*(found.query("acme", "read a file", 1.0) for _ in range(9)))
    assert all(each is VECTOR for each in results)
    assert len(asked.messages) == 1


async def test_a_failure_is_done_without():
    found, asked, _ = encoding(failing)
    for _ in range(3):
        assert await found.query("acme", "read a file", 1.0) is None
    assert len(asked.messages) == 3


async def test_no_more_is_put_to_the_worker_than_it_can_do_in_time():
    found, asked, _ = encoding(never)
    waiting = [found.query("acme", f"file {number}", 0.05) for number in range(100)]
    assert await asyncio.gather(*waiting) == [None] * len(waiting)
    assert len(asked.messages) == MOST_ASKED
    assert await found.query("acme", "another file", 0.02) is None
    assert len(asked.messages) == MOST_ASKED


async def test_catalogs_are_encoded_in_parts_and_tenants_take_turns():
    found, asked, cache = encoding(at_once)
    large, small = compiled(crowd(3 * TOOLS_AT_A_TIME)), compiled(TOOLS)
    cache.add("acme", large)
    cache.add("zenith", small)
    found.add("acme", large)
    found.add("zenith", small)
    await turns()
    assert asked.messages == ["acme", "zenith", "acme", "acme"]
    for tenant, catalog in (("acme", large), ("zenith", small)):
        held = cache.by_digest(tenant, catalog.digest)
        assert held is not None
        assert held.encoded is not None
        assert held.nbytes == catalog.nbytes + held.encoded.nbytes


async def test_a_catalog_that_cannot_be_encoded_is_left_as_it_is():
    found, asked, cache = encoding(failing)
    catalog = compiled(TOOLS)
    cache.add("acme", catalog)
    found.add("acme", catalog)
    await turns()
    assert len(asked.messages) == 1
    assert cache.by_digest("acme", catalog.digest) is catalog


async def test_huge_catalogs_are_not_encoded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(encoding_module, "MAX_ENCODED", 5)
    found, asked, cache = encoding(at_once)
    catalog = compiled(TOOLS)
    cache.add("acme", catalog)
    found.add("acme", catalog)
    await turns()
    assert asked.messages == []
