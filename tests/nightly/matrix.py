"""Use stores as operators run them; a line for each."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests import postgres_server, redis_server
from tests.balancer import Replica
from tests.contract.learning import FEEDBACK, WORKED
from tests.nightly.soak import Caller, ask, calling, check
from tests.postgres_server import PostgresServer, pooler, standby
from tests.redis_server import RedisServer
from tests.support import SEARCH, TOOLS, free_port, until

CALLS = 60
"""Calls of each of four callers, or more."""

READS = 20
"""Reads and writes of a store that takes no writes."""

ISOLATION = "default_transaction_isolation"


def try_stores(folder: Path) -> bool:
    """Use each store in each of its configurations."""
    with ExitStack() as stack:
        for name in ("postgres", "redis"):
            (folder / name).mkdir()
        postgres = stack.enter_context(postgres_server.running(folder / "postgres"))
        redis = stack.enter_context(redis_server.running(folder / "redis"))
        found = [
            use("postgres", postgres.url),
            behind_a_pooler(postgres, folder),
            use("serializable", postgres.with_setting(ISOLATION, "serializable")),
            use("statement_timeout", postgres.with_setting("statement_timeout", "1s")),
            read_only(postgres, folder / "standby"),
            use("redis", redis.url),
            evicting(redis),
            full(redis),
            valkey(folder / "valkey"),
        ]
    return all(found)


@contextmanager
def two_replicas(url: str) -> Iterator[list[Replica]]:
    """Yield two replicas on a store."""
    replicas = [Replica(TOOLSCOUT_STORE=url) for _ in range(2)]
    try:
        for replica in replicas:
            until(replica.ready)
        yield replicas
    finally:
        for replica in replicas:
            replica.kill()


def use(name: str, url: str) -> bool:
    """Do everything, of which nothing may be refused, lost, or wrong."""
    is_external = url.startswith("postgres")
    with two_replicas(url) as replicas:
        callers = [
            Caller(f"{name}{number}x", replicas, is_external=is_external) for number in range(4)
        ]
        with calling(callers):
            until(lambda: all(caller.statuses.total() >= CALLS for caller in callers))
        is_kept, said = check(callers, replicas, url)
    refused = sum(caller.statuses[503] for caller in callers)
    print(f"stores: {name}: {said}")
    return is_kept and not refused


def behind_a_pooler(postgres: PostgresServer, folder: Path) -> bool:
    """Use PostgreSQL behind PgBouncer, which gives each transaction another session."""
    with pooler(postgres, folder) as url:
        return use("pgbouncer", url)


def read_only(postgres: PostgresServer, folder: Path) -> bool:
    """Use a hot standby, which searches and refuses writes."""
    with standby(postgres, folder) as url, two_replicas(url) as replicas:
        return refuses_writes_alone("hot_standby", replicas)


def refuses_writes_alone(name: str, replicas: list[Replica]) -> bool:
    """Search, read and report; return whether reports are refused, and nothing else is."""
    search = {"pattern": "read a file", "tools": TOOLS}
    reads, writes = [], []
    for number in range(READS):
        port = replicas[number % 2].port
        reads.append(ask(port, "POST", SEARCH, search)[0])
        reads.append(ask(port, "GET", "/v1/catalogs/unknown")[0])
        writes.append(ask(port, "POST", FEEDBACK, WORKED)[0])
    print(f"stores: {name}: reads {counts(reads)}; writes {counts(writes)}")
    return set(reads) == {200, 404} and set(writes) == {503}


def counts(statuses: list[int]) -> str:
    """Return how often each status came."""
    return ", ".join(f"{statuses.count(each)} × {each}" for each in sorted(set(statuses)))


def evicting(redis: RedisServer) -> bool:
    """Use a Redis that may evict anything, of which operators are told."""
    redis.command("CONFIG SET maxmemory-policy allkeys-lru")
    redis.command("CONFIG SET maxmemory 200mb")
    with two_replicas(redis.url) as replicas:
        for replica in replicas:
            until(lambda port=replica.port: MAY_EVICT in ask(port, "GET", "/metrics")[1])  # type: ignore[misc]
    print("stores: allkeys-lru: both replicas say that it may evict")
    is_kept = use("allkeys-lru", redis.url)
    redis.command("CONFIG SET maxmemory-policy noeviction")
    redis.command("CONFIG SET maxmemory 0")
    return is_kept


MAY_EVICT = b"toolscout_store_may_evict 1.0"


def full(redis: RedisServer) -> bool:
    """Use a Redis without room, and then with room again."""
    with two_replicas(redis.url) as replicas:
        with redis.full():
            is_kept = refuses_writes_alone("out of memory", replicas)
        for replica in replicas:
            is_taken = ask(replica.port, "POST", FEEDBACK, WORKED)[0] == 202
            is_kept = is_kept and is_taken
    return is_kept


def valkey(folder: Path) -> bool:
    """Use Valkey, where it is installed; Debian has it from trixie on."""
    binary = shutil.which("valkey-server")
    if binary is None:
        print("stores: valkey: not installed")
        return True
    folder.mkdir()
    server = RedisServer(binary, free_port(), folder)
    server.start()
    try:
        return use("valkey", server.url)
    finally:
        server.kill()
