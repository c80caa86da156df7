"""The store keeps the contract behind Sentinel and in a Cluster, and outlives a server."""

import asyncio
import gc
import subprocess
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.network import Relay
from tests.redis_server import RedisServer, free_port, nodes
from tests.state.contract import StoreContract
from tests.support import PATIENCE_S, until
from toolscout.state.guarded import Guard
from toolscout.state.opening import open_store
from toolscout.state.redis import READ_S
from toolscout.state.registry import WRITE_S
from toolscout.state.store import StateStore, StoreUnavailable, make_key

pytestmark = pytest.mark.anyio

WATCH = """
port {port}
bind 127.0.0.1
sentinel monitor tools 127.0.0.1 {watched} 2
sentinel down-after-milliseconds tools 1000
sentinel failover-timeout tools 5000
"""
AT_ONCE = ("--repl-diskless-sync-delay", "0")
IN_CLUSTER = ("--cluster-enabled", "yes", "--cluster-node-timeout", "1000", *AT_ONCE)


@pytest.fixture(scope="module")
def sentinel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[RedisServer]]]:
    """Yield the URL of a server with two replicas and three Sentinels, and those three servers."""
    with nodes(tmp_path_factory.mktemp("watched"), 3, *AT_ONCE) as servers:
        first = servers[0]
        for replica in servers[1:]:
            replica.command("REPLICAOF", "127.0.0.1", str(first.port))
        until(lambda: followers(first) == 2)
        watchers, ports = [], [free_port() for _ in range(3)]
        for port in ports:
            file = tmp_path_factory.mktemp("sentinel") / "sentinel.conf"
            file.write_text(WATCH.format(port=port, watched=first.port))
            command = [first.binary, file, "--sentinel"]
            watchers.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))
        try:
            asked = RedisServer(first.binary, ports[0], Path())
            until(lambda: knows_all(asked))
            hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
            yield f"redis+sentinel://{hosts}/tools/0", servers
        finally:
            for watcher in watchers:
                watcher.kill()
                watcher.wait()


def followers(server: RedisServer) -> int:
    """Count the replicas that have everything."""
    return server.command("INFO replication").count(b"state=online")


def knows_all(watcher: RedisServer) -> bool:
    try:
        return b"slaves=2,sentinels=3" in watcher.command("INFO sentinel")
    except OSError:
        return False


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[RedisServer]]]:
    """Yield the URL of a Cluster of three servers, each with a replica, and all six."""
    with nodes(tmp_path_factory.mktemp("cluster"), 6, *IN_CLUSTER) as servers:
        hosts = [f"127.0.0.1:{server.port}" for server in servers]
        command = ["redis-cli", "--cluster", "create", *hosts, "--cluster-replicas", "1"]
        subprocess.run([*command, "--cluster-yes"], check=True, capture_output=True)
        for server in servers:
            until(lambda s=server: b"cluster_state:ok" in s.command("CLUSTER INFO"))  # type: ignore[misc]
        until(lambda: sum(map(followers, servers)) == 3)
        yield f"redis+cluster://{','.join(hosts[:3])}", servers


async def works_again(store: StateStore, name: str) -> None:
    """Wait until a value can be written; meanwhile the store is unavailable, and nothing else."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                await store.put(name, b"after")
            except StoreUnavailable:
                await asyncio.sleep(0.1)
            else:
                return


@pytest.mark.integration
class TestSentinel(StoreContract):
    @pytest.fixture
    async def store(self, sentinel: tuple[str, list[RedisServer]]) -> AsyncIterator[StateStore]:
        url, servers = sentinel
        servers[0].empty()
        store = open_store(url)
        yield store
        await store.close()


@pytest.mark.integration
class TestCluster(StoreContract):
    @pytest.fixture
    async def store(self, cluster: tuple[str, list[RedisServer]]) -> AsyncIterator[StateStore]:
        url, servers = cluster
        for server in servers[:3]:
            server.empty()
        store = open_store(url)
        yield store
        await store.close()


@pytest.mark.integration
async def test_a_tenant_is_on_one_node(cluster: tuple[str, list[RedisServer]]):
    url, servers = cluster
    store = open_store(url)
    await store.put(make_key("registered", "acme", "tools"), b"record")
    await store.append(make_key("learning", "acme"), [b"entry"], keep=10)
    names = ("toolscout:1:{acme}registered/acme/tools", "toolscout:1:{acme}learning/acme")
    slots = {servers[0].command("CLUSTER KEYSLOT", name) for name in names}
    assert len(slots) == 1
    assert await store.keys("registered/") == ["registered/acme/tools"]
    assert await store.logs("learning/") == ["learning/acme"]
    await store.close()


@pytest.mark.integration
async def test_a_replica_takes_over_behind_sentinel(sentinel: tuple[str, list[RedisServer]]):
    url, servers = sentinel
    store = open_store(url)
    await store.put("before", b"value")
    servers[0].kill()
    await works_again(store, "after")
    assert await store.get("before") == b"value"
    assert await store.get("after") == b"after"
    await store.close()


@pytest.mark.integration
async def test_sentinels_that_are_gone_cost_no_write(sentinel: tuple[str, list[RedisServer]]):
    store = open_store(sentinel[0].replace("://", "://127.0.0.1:1,127.0.0.1:2,"))
    await Guard(store).within(WRITE_S).put("any", b"value")
    await store.close()


@pytest.mark.integration
@pytest.mark.parametrize("scheme", ["redis", "redis+cluster"])
async def test_a_write_that_is_answered_late_is_done_once(tmp_path: Path, scheme: str):
    relay, flags = Relay(), ["--cluster-enabled", "yes"] if "cluster" in scheme else []
    with relay.serving(), nodes(tmp_path, 1, *flags) as (server,):
        relay.target = server.port
        if flags:
            server.command(f"CONFIG SET cluster-announce-port {relay.port}")
            server.command("CLUSTER ADDSLOTSRANGE 0 16383")
            until(lambda: b"cluster_state:ok" in server.command("CLUSTER INFO"))
        store = open_store(f"{scheme}://127.0.0.1:{relay.port}")
        await store.append("learning/acme", [b"before"], keep=10)
        relay.late_s = 2 * READ_S
        writing = asyncio.create_task(store.append("learning/acme", [b"once"], keep=10))
        await asyncio.sleep(READ_S / 2)  # it was sent; what is sent from now on is answered at once
        relay.late_s = 0
        with pytest.raises(StoreUnavailable):
            await writing
        kept = await store.read("learning/acme")
        assert [entry.value for entry in kept] == [b"before", b"once"]
        await store.close()


@pytest.mark.integration
async def test_a_replica_takes_over_in_a_cluster(cluster: tuple[str, list[RedisServer]]):
    url, servers = cluster
    store = open_store(url)
    names = [make_key("registered", f"tenant{number}", "tools") for number in range(30)]
    for name in names:
        await store.put(name, b"value")
    servers[0].kill()
    for name in names:
        assert await read(store, name) == b"value"
        await works_again(store, name)
    assert set(await store.keys("registered/tenant")) == set(names)
    await store.close()
    with warnings.catch_warnings(action="ignore"):  # the client leaves dropped nodes connected
        del store
        gc.collect()


async def read(store: StateStore, name: str) -> bytes | None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                return await store.get(name)
            except StoreUnavailable:
                await asyncio.sleep(0.1)


@pytest.mark.parametrize(
    "hosts", ["[::1]:1,[::1]:2", "h1,[::1]:2", "[::1],[::2]", "user:p%40ss@[::1]", "redis,h2:2"]
)
async def test_addresses_may_be_names_and_of_ipv6(hosts: str):
    for url in (f"redis+sentinel://{hosts}/tools", f"redis+cluster://{hosts}"):
        await open_store(url).close()
