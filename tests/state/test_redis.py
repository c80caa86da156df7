"""The store on Redis keeps the contract, on a real server."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from unittest.mock import AsyncMock, patch

import pytest

from tests.attacks.peers import STORES
from tests.attacks.peers import store as peer
from tests.redis_server import RedisServer
from tests.state.contract import StoreContract
from toolscout.errors import ConfigurationError
from toolscout.state.guarded import FAILURES, Guard
from toolscout.state.health import Health, examine
from toolscout.state.opening import open_store
from toolscout.state.redis import RedisStore
from toolscout.state.store import StoreFull, StoreRefused, StoreUnavailable

pytestmark = pytest.mark.anyio


@pytest.mark.integration
class TestRedis(StoreContract):
    @pytest.fixture
    async def store(self, redis_server: RedisServer) -> AsyncIterator[RedisStore]:
        redis_server.empty()
        store = RedisStore(redis_server.url)
        yield store
        await store.close()


async def fill(store: RedisStore) -> None:
    for number in range(100):
        await store.put(f"key{number}", b"x" * 1_000_000)


@pytest.mark.integration
async def test_a_server_that_hangs_makes_the_store_unavailable(redis_server: RedisServer):
    store = RedisStore(redis_server.url)
    await store.put("key", b"value")
    with redis_server.hanging():
        began = asyncio.get_running_loop().time()
        with pytest.raises(StoreUnavailable):
            await store.get("key")
        assert asyncio.get_running_loop().time() - began < 10
    assert await store.get("key") == b"value"
    await store.close()


@pytest.mark.integration
async def test_a_full_server_makes_writes_unavailable(redis_server: RedisServer):
    store = RedisStore(redis_server.url)
    with redis_server.full(), pytest.raises(StoreUnavailable):
        await fill(store)
    redis_server.empty()
    await store.put("key", b"value")
    await store.close()


@pytest.mark.integration
async def test_an_entry_of_somebody_else_hides_none_behind_it(redis_server: RedisServer):
    redis_server.empty()
    store = RedisStore(redis_server.url)
    await store.append("log", [b"one"], keep=10)
    await store._redis.xadd("toolscout:1:log", {b"other": b"thing"})
    await store.append("log", [b"two"], keep=10)
    assert [entry.value for entry in await store.read("log")] == [b"one", b"", b"two"]
    await store.close()


@pytest.mark.parametrize(
    "address",
    ["redis://127.0.0.1:1/0", "redis+sentinel://127.0.0.1:1/tools", "redis+cluster://127.0.0.1:1"],
)
async def test_no_server_sentinel_or_node_makes_the_store_unavailable(address: str):
    store = RedisStore(address)
    with pytest.raises(StoreUnavailable):
        await store.get("key")
    await store.close()


@pytest.mark.parametrize("answers", ["rubbish", "no number", "other types", "nested", "errors"])
async def test_what_is_no_redis_is_no_store(answers: str):
    with peer(STORES[answers]) as url:
        store = RedisStore(url)
        for action in (store.get("key"), store.put("key", b"value"), store.read("log")):
            with pytest.raises(StoreUnavailable):
                await action
        await store.close()


@pytest.mark.parametrize(
    "url",
    [
        *("", "sqlite", "sqlite:", "mysql://host", "redis://host:port/0"),
        *("redis+sentinel://h1,h2", "redis+other://h", "redis+cluster://h:x"),
    ],
)
def test_an_unknown_store_or_a_malformed_address_is_refused(url: str):
    with pytest.raises(ConfigurationError, match="store"):
        open_store(url)


@pytest.mark.integration
async def test_a_key_of_another_kind_is_refused_to_whoever_asks_for_it(redis_server: RedisServer):
    redis_server.empty()
    store = RedisStore(redis_server.url)
    redis_server.command("LPUSH", "toolscout:1:registered/acme/x", "junk")
    guard = Guard(store)
    for _ in range(3 * FAILURES):
        with pytest.raises(StoreRefused):
            await guard.within(2).get("registered/acme/x")
        with pytest.raises(StoreRefused):
            await guard.within(2).append("registered/acme/x", [b"entry"], keep=10)
    await guard.within(2).put("registered/zenith/x", b"value")
    assert await guard.within(2).get("registered/zenith/x") == b"value"
    await store.close()
    redis_server.empty()


@pytest.mark.integration
async def test_a_full_server_still_deletes(redis_server: RedisServer):
    redis_server.empty()
    store = RedisStore(redis_server.url)
    await store.put("key", b"value")
    guard = Guard(store)
    with redis_server.full():
        with pytest.raises(StoreFull):
            await fill(store)
        for _ in range(2 * FAILURES):
            with pytest.raises(StoreFull):
                await guard.within(2).put("more", b"x" * 1_000_000)
        await guard.within(2).delete("key")
    await store.close()
    redis_server.empty()


@pytest.mark.integration
async def test_rights_that_a_user_lacks_are_refused_and_open_no_breaker(redis_server: RedisServer):
    redis_server.empty()
    redis_server.command("ACL SETUSER app on >pw ~* +@all -@dangerous -eval")
    store = RedisStore(redis_server.url.replace("//", "//app:pw@"))
    guard = Guard(store)
    for _ in range(FAILURES):
        with pytest.raises(StoreRefused):
            await guard.within(2).swap("key", None, b"value")
    await guard.within(2).put("key", b"value")
    assert await examine(store) == Health()  # INFO is dangerous, too, and nothing needs it
    await store.close()
    redis_server.command("ACL", "DELUSER", "app")


@pytest.mark.integration
async def test_a_replica_is_said_to_take_no_writes(redis_server: RedisServer):
    redis_server.empty()
    store = RedisStore(redis_server.url)
    redis_server.command("REPLICAOF 127.0.0.1 1")
    assert "reports are refused" in (await examine(store)).fault
    redis_server.command("REPLICAOF NO ONE")
    assert await examine(store) == Health()
    await store.close()


@pytest.mark.parametrize("about", [{"used_memory": 1}, {"node": {}}, {"node": {"maxmemory": 1}}])
async def test_a_server_that_names_no_policy_is_no_risk(about: dict[str, Any]):
    store = RedisStore("redis://127.0.0.1:1/0")
    with patch("redis.asyncio.Redis.info", AsyncMock(return_value=about)):
        assert await store.risk() == ""
    await store.close()


@pytest.mark.integration
async def test_a_policy_that_may_evict_what_has_no_end_is_a_risk(redis_server: RedisServer):
    store = RedisStore(redis_server.url)
    assert await store.risk() == ""
    redis_server.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    assert await store.risk() == ""  # without a limit nothing is evicted
    redis_server.command("CONFIG", "SET", "maxmemory", "100mb")
    assert "maxmemory-policy is allkeys-lru" in await store.risk()
    redis_server.command("CONFIG", "SET", "maxmemory-policy", "volatile-lru")
    assert await store.risk() == ""
    redis_server.command("CONFIG", "SET", "maxmemory", "0")
    redis_server.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
    await store.close()
