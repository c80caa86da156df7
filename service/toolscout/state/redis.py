"""State in Redis or Valkey: shared by many replicas; one server, behind Sentinel, or a Cluster.

Logs are streams. Every key begins with the schema's version, so versions never mix. In a Cluster a
key also has its tenant as hash tag: all that belongs to a tenant is on one node, so a lost node
stops some tenants and not a part of each.
"""

import re
from asyncio import Semaphore
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from toolscout.common.optional import import_needed
from toolscout.common.toml_files import load_toml
from toolscout.errors import ConfigurationError
from toolscout.state.store import (
    SCHEMA,
    START,
    Entry,
    StoreFull,
    StoreRefused,
    StoreUnavailable,
    is_mark,
)

T = TypeVar("T")

PREFIX = f"toolscout:{SCHEMA}:"

URLS = "redis://HOST, redis+sentinel://HOST/SERVICE and redis+cluster://HOST, or rediss…"

REDIS_PORT = 6_379
SENTINEL_PORT = 26_379

CONNECTIONS = 32
"""Maximum number of commands at a time, and so of connections of one process to a server."""

CONNECT_S = 0.5
"""Seconds for connecting, its name's resolution included."""

READ_S = 2.0
"""Seconds for an answer; requests have shorter limits."""

WRONG_KIND = "WRONGTYPE"
"""In errors that say something of one key, and nothing of the server."""

_SCRIPT: dict[str, str] = load_toml(Path(__file__).with_suffix(".toml"))


class RedisStore:
    """Values and logs on a Redis or Valkey server.

    Args:
        url: `redis://[user:password@]host[:port][/database]`, or `rediss://` with TLS;
            `redis+sentinel://[user:password@]host[:port],…/service[/database]` asks Sentinels where
            the server is, `redis+cluster://[user:password@]host[:port],…` names nodes of a Cluster.

    Raises:
        ConfigurationError: the package `redis` is not installed, or the URL is malformed.
    """

    def __init__(self, url: str) -> None:
        import_needed("store", "redis", "redis", "redis")
        try:
            self._redis, *self._sentinels = _open_clients(url)
        except Exception:  # whose text may have parts of a password
            message = f"store: this is no URL of Redis; it is one of {URLS}"
            raise ConfigurationError(message) from None
        self._slots = Semaphore(CONNECTIONS)
        netloc = re.split("[/?#]", url.partition("://")[2], maxsplit=1)[0]
        self._hosts = netloc.rpartition("@")[2]
        """As the URL names them, without who logs in."""
        is_cluster = url.partition("://")[0].lower().endswith("+cluster")
        self._key = _tag if is_cluster else partial(str.__add__, PREFIX)

    async def get(self, key: str) -> bytes | None:
        """Return the value of a key."""
        value = await self._run(lambda: self._redis.get(self._key(key)))
        if value is not None and not isinstance(value, bytes):
            raise StoreUnavailable(f"redis: a value that is {type(value).__name__}")
        return value

    async def put(self, key: str, value: bytes, ttl_s: float | None = None) -> None:
        """Set a value."""
        put = partial(self._redis.set, self._key(key), value, px=_count_milliseconds(ttl_s))
        if is_mark(key):
            put = partial(self._redis.eval, _SCRIPT["mark"], 1, self._key(key), value)
        if not await self._run(put):
            raise StoreUnavailable("redis: a value was not taken")

    async def swap(
        self, key: str, expected: bytes | None, value: bytes | None, ttl_s: float | None = None
    ) -> bool:
        """Set or delete a value if it has not changed."""
        arguments = (
            *(("0", b"") if expected is None else ("1", expected)),
            *(("0", b"") if value is None else ("1", value)),
            _count_milliseconds(ttl_s) or "",
        )
        swap = partial(self._redis.eval, _SCRIPT["swap"], 1, self._key(key), *arguments)
        return bool(await self._run(swap, once=True))

    async def delete(self, key: str) -> None:
        """Remove a value."""
        await self._run(lambda: self._redis.delete(self._key(key)))

    async def now(self) -> float:
        """Return the server's time."""
        seconds, microseconds = await self._run(self._redis.time)
        return float(seconds + microseconds / 1e6)

    async def keys(self, prefix: str) -> list[str]:
        """Return the keys with a prefix."""
        return await self._scan(prefix)

    async def share(self, prefix: str) -> float:
        """Return 0, because only the server has a limit."""
        return 0.0

    async def append(self, log: str, values: Sequence[bytes], keep: int) -> None:
        """Add entries."""

        async def add() -> None:
            async with self._redis.pipeline(transaction=True) as batch:
                for value in values:
                    batch.xadd(self._key(log), {b"v": value}, maxlen=keep, approximate=True)
                await batch.execute()

        await self._run(add, once=True)

    async def read(self, log: str, after: str = START, limit: int = 1_000) -> list[Entry]:
        """Return the entries after a position."""
        return await self._read(log, f"({after}" if after else "-", limit)

    async def has_entry(self, log: str, entry: Entry) -> bool:
        """Return whether an entry is there."""
        return entry in await self._read(log, entry.position, 1)

    async def remove(self, log: str, positions: Sequence[str]) -> int:
        """Remove entries."""
        if not positions:
            return 0
        return int(await self._run(lambda: self._redis.xdel(self._key(log), *positions)))

    async def logs(self, prefix: str) -> list[str]:
        """Return the logs with a prefix."""
        return await self._scan(prefix, kind="stream")

    async def drop(self, log: str) -> None:
        """Remove a log's entries; the stream stays, so that its positions keep growing."""
        await self._run(lambda: self._redis.xtrim(self._key(log), maxlen=0, approximate=False))

    async def risk(self) -> str:
        """Return which policy evicts keys that have no time to live, where memory is bounded."""

        async def about() -> Any:
            return await self._redis.info("memory")

        found = await self._run(about)
        nodes = [found, *(node for node in found.values() if isinstance(node, dict))]
        policies = {node.get("maxmemory_policy", "") for node in nodes if node.get("maxmemory")}
        evicting = sorted(policy for policy in policies if policy.startswith("allkeys"))
        if not evicting:
            return ""
        what = "when it is full it deletes registered catalogs and what was learned"
        return f"redis: maxmemory-policy is {evicting[0]}: {what}; use volatile-lru"

    async def close(self) -> None:
        """Close the connections."""
        for client in (self._redis, *self._sentinels):
            await self._run(client.aclose)

    async def _read(self, log: str, first: str, limit: int) -> list[Entry]:
        """Return entries from the first one on."""

        async def read() -> list[Entry]:
            entries = await self._redis.xrange(self._key(log), first, "+", limit)
            # A foreign entry is returned as an empty one, which the reader reports.
            return [Entry(position.decode(), fields.get(b"v", b"")) for position, fields in entries]

        return await self._run(read)

    async def _scan(self, prefix: str, kind: str | None = None) -> list[str]:
        """Return the keys with a prefix, sorted: all, or those of one kind of value."""

        async def scan() -> list[str]:
            escaped = "".join(f"\\{c}" if c in "*?[]\\^" else c for c in prefix)
            any_tag = ""
            where = {}
            if self._key is _tag:
                # All nodes: after a failover the client takes the new primary for a replica.
                any_tag = "*"
                where = {"target_nodes": self._redis.ALL_NODES}
            pattern = f"{PREFIX}{any_tag}{escaped}*"
            scanned = self._redis.scan_iter(match=pattern, count=1_000, _type=kind, **where)
            keys = {_untag(key.decode()) async for key in scanned}
            return sorted(key for key in keys if key.startswith(prefix))

        return await self._run(scan)

    async def _run(self, action: Callable[[], Awaitable[T]], *, once: bool = False) -> T:
        """Run a command; again on a connection that the server has closed, unless `once`.

        A command that adds, or depends on what was there, would see its own first run.

        Raises:
            StoreUnavailable: it failed in any way. A server that is not Redis can make the client
                raise anything, from ValueError to RecursionError.
        """
        from redis.exceptions import ConnectionError as Broken

        try:
            async with self._slots:
                try:
                    return await action()
                except Broken:
                    if once:
                        raise
                return await action()
        except Exception as error:
            where = f"redis at {self._hosts}" if self._hosts else "redis"
            kind = _explain_refusal(error)
            raise kind(f"{where}: {type(error).__name__}") from error


def _explain_refusal(error: Exception) -> type[StoreUnavailable]:
    """Return what an error of the client says of the server."""
    from redis import exceptions

    if isinstance(error, exceptions.OutOfMemoryError):
        return StoreFull
    of_one_key = isinstance(error, exceptions.ResponseError) and WRONG_KIND in str(error)
    # A user may lack the right to one command, or to some keys.
    is_refused = of_one_key or isinstance(error, exceptions.NoPermissionError)
    return StoreRefused if is_refused else StoreUnavailable


def _open_clients(url: str) -> list[Any]:
    """Return a client for a URL, and those that it asks; they connect when they are first used.

    Raises:
        ValueError: the URL is malformed.
    """
    from redis.asyncio import Redis
    from redis.asyncio.cluster import ClusterNode, RedisCluster
    from redis.asyncio.connection import parse_url
    from redis.asyncio.retry import Retry
    from redis.asyncio.sentinel import Sentinel
    from redis.backoff import NoBackoff

    sentinel: Any = Sentinel  # which has no types
    limits: Any = {"socket_connect_timeout": CONNECT_S, "socket_timeout": READ_S}
    # A write that is answered late would be done twice in a Cluster, and a Sentinel that is gone
    # asked for longer than any request waits.
    limits["retry"] = Retry(NoBackoff(), 0)
    kinds, _, address = url.partition("://")
    scheme, _, kind = kinds.lower().partition("+")
    if not kind:
        return [Redis.from_url(url, **limits)]
    # One by one: to Python a list of hosts, one of them in brackets, is no address.
    netloc = re.split("[/?#]", address, maxsplit=1)[0]
    login, at, hosts = netloc.rpartition("@")
    nodes = [urlsplit(f"//{node}") for node in hosts.split(",")]
    first = urlsplit(f"{scheme}://{login}{at}{nodes[0].netloc}{address[len(netloc) :]}")
    if kind == "cluster":
        startup = [ClusterNode(node.hostname or "", node.port or REDIS_PORT) for node in nodes]
        return [RedisCluster.from_url(first.geturl(), startup_nodes=startup, **limits)]
    service, _, database = first.path.strip("/").partition("/")
    if kind != "sentinel" or not service:
        raise ValueError("expected redis+cluster://HOST or redis+sentinel://HOST/SERVICE")
    options = parse_url(first._replace(path=f"/{database}").geturl()) | limits
    for unused in ("host", "port", "connection_class"):
        options.pop(unused, None)
    sentinels = [(node.hostname, node.port or SENTINEL_PORT) for node in nodes]
    asked = sentinel(sentinels, sentinel_kwargs=limits | {"ssl": scheme == "rediss"})
    client = asked.master_for(service, ssl=scheme == "rediss", **options)
    return [client, *asked.sentinels]


def _tag(key: str) -> str:
    """Return a key with its tenant, the second part of its name, as hash tag."""
    tenant = key.split("/", 2)[1:2]
    return f"{PREFIX}{{{tenant[0]}}}{key}" if tenant else PREFIX + key


def _untag(key: str) -> str:
    """Return a key as the callers of the store name it."""
    name = key[len(PREFIX) :]
    return name.partition("}")[2] if name.startswith("{") else name


def _count_milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else max(1, round(seconds * 1_000))
