"""State in PostgreSQL: shared by many replicas, in a schema of its own.

The schema `toolscout` is made and brought up to date with the first connection. One of a newer
release is refused and not changed. Positions of a log grow in the order in which appends commit,
because a log is locked while it is appended to: no reader passes an entry that is still on its way.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from toolscout import data
from toolscout.common.optional import needed
from toolscout.errors import ConfigurationError
from toolscout.state.store import LAST_CHARACTER, START, Changed, Entry, StoreUnavailable

T = TypeVar("T")

CONNECTIONS = 8
"""Maximum number of connections of one process."""

CONNECT_S = 1
"""Seconds for connecting, and for waiting for a free connection."""

READ_S = 2.0
"""Seconds for an answer; requests have shorter limits."""

_TABLE = data.load("postgres")
_QUERY: dict[str, str] = _TABLE["queries"]
MIGRATIONS = tuple((each["up"], each["down"]) for each in _TABLE["migrations"])
"""What each version of the schema adds, and what takes it back."""


class PostgresStore:
    """Values and logs in a PostgreSQL database.

    Args:
        url: `postgres://[user:password@]host[:port]/database`, or what else libpq takes as a URL.

    Raises:
        ConfigurationError: the package `psycopg` is not installed, or the URL is malformed.
    """

    def __init__(self, url: str) -> None:
        psycopg = needed("store", "psycopg", "postgres", "psycopg")
        psycopg_pool = needed("store", "psycopg", "postgres", "psycopg_pool")
        try:
            host = psycopg.conninfo.conninfo_to_dict(url).get("host")
        except psycopg.ProgrammingError:
            raise ConfigurationError("store: this is no URL of a PostgreSQL database") from None
        # It writes down parts of passwords that are not encoded.
        logging.getLogger("psycopg.pool").disabled = True
        self._pool = psycopg_pool.AsyncConnectionPool(
            url,
            min_size=0,
            max_size=CONNECTIONS,
            timeout=CONNECT_S,
            reconnect_timeout=CONNECT_S,
            open=False,
            check=psycopg_pool.AsyncConnectionPool.check_connection,
            kwargs={"autocommit": True, "connect_timeout": CONNECT_S},
        )
        self._where = f"postgres at {host}" if host else "postgres"
        self._is_ready = False
        self._tasks: set[asyncio.Task[Any]] = set()

    async def get(self, key: str) -> bytes | None:
        """Return the value of a key."""
        row = await (await self._ask("get", key=key)).fetchone()
        return None if row is None else row[0]

    async def put(self, key: str, value: bytes, ttl_s: float | None = None) -> None:
        """Set a value, and remove a few expired ones."""
        await self._ask("put", key=key, value=value, ttl=ttl_s)

    async def swap(
        self, key: str, expected: bytes | None, value: bytes | None, ttl_s: float | None = None
    ) -> bool:
        """Set or delete a value if it has not changed."""
        if expected is None and value is None:
            return await self.get(key) is None
        return await self.run(lambda connection: swap(connection, key, expected, value, ttl_s))

    async def delete(self, key: str) -> None:
        """Remove a value."""
        await self._ask("delete", key=key)

    async def now(self) -> float:
        """Return the server's time."""
        (seconds,) = await (await self._ask("now")).fetchone()
        return float(seconds)

    async def keys(self, prefix: str) -> list[str]:
        """Return the keys with a prefix."""
        asked = await self._ask("keys", **_bounds(prefix))
        return [key for (key,) in await asked.fetchall()]

    async def share(self, prefix: str) -> float:
        """Return 0, because only the server has a limit."""
        return 0.0

    async def append(self, log: str, values: Sequence[bytes], keep: int) -> None:
        """Add entries."""

        async def add(connection: Any) -> None:
            async with connection.transaction():
                for query in ("lock", "append", "trim"):
                    await _ask(connection, query, log=log, values=list(values), keep=keep)

        await self.run(add)

    async def read(self, log: str, after: str = START, limit: int = 1_000) -> list[Entry]:
        """Return the entries after a position."""
        asked = await self._ask("read", log=log, after=int(after or 0), limit=limit)
        return [Entry(str(position), value) for position, value in await asked.fetchall()]

    async def remove(self, log: str, positions: Sequence[str]) -> int:
        """Remove entries."""
        asked = await self._ask("remove", log=log, positions=list(map(int, positions)))
        return int(asked.rowcount)

    async def logs(self, prefix: str) -> list[str]:
        """Return the logs with a prefix."""
        asked = await self._ask("logs", **_bounds(prefix))
        return [log for (log,) in await asked.fetchall()]

    async def drop(self, log: str) -> None:
        """Remove a log's entries."""
        await self._ask("drop", log=log)

    async def migrate(self, version: int = len(MIGRATIONS)) -> None:
        """Bring the schema to a version, up or down; 0 removes all tables but that of versions."""
        await self.run(lambda connection: _migrate(connection, version), prepared=False)
        self._is_ready = version == len(MIGRATIONS)

    async def close(self) -> None:
        """Close the connections."""
        await self._pool.close(timeout=CONNECT_S)

    async def _ask(self, query: str, **values: Any) -> Any:
        """Run a query of the table; returns its cursor, which has all rows."""
        return await self.run(lambda connection: _ask(connection, query, **values))

    async def run(
        self,
        action: Callable[[Any], Awaitable[T]],
        *,
        prepared: bool = True,
        within_s: float = READ_S,
    ) -> T:
        """Run an action with a connection, in a task of its own.

        The driver waits for the server even when it is cancelled; whoever asked does not.

        Raises:
            StoreUnavailable: it failed in any way, or took too long.
            Changed: the action found that somebody was faster.
        """
        task = asyncio.create_task(self._with_connection(action, prepared=prepared))
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        try:
            await asyncio.wait([task], timeout=within_s)
            if not task.done():
                raise StoreUnavailable(f"{self._where}: no answer within {within_s:g} s")
            return task.result()
        except (StoreUnavailable, Changed):
            raise
        except Exception as error:
            raise StoreUnavailable(f"{self._where}: {type(error).__name__}") from error
        finally:
            task.cancel()

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        """Forget a task; where nobody waits any more, its failure is no unhandled error."""
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()

    async def _with_connection(self, action: Callable[[Any], Awaitable[T]], *, prepared: bool) -> T:
        await self._pool.open()  # does nothing where it is open
        async with self._pool.connection() as connection:
            if prepared and not self._is_ready:
                await _migrate(connection, len(MIGRATIONS))
                self._is_ready = True
            return await action(connection)


async def swap(
    connection: Any, key: str, expected: bytes | None, value: bytes | None, ttl_s: float | None
) -> bool:
    """Set or delete a value if it has not changed, on a connection or in its transaction."""
    query = "delete_expected" if value is None else "insert" if expected is None else "update"
    asked = await _ask(connection, query, key=key, value=value, ttl=ttl_s, expected=expected)
    return int(asked.rowcount) == 1


def _bounds(prefix: str) -> dict[str, str]:
    return {"first": prefix, "last": prefix + LAST_CHARACTER}


async def _ask(connection: Any, query: str, **values: Any) -> Any:
    """Run a query of the table; returns its cursor."""
    return await connection.execute(_QUERY[query], values or None, binary=bool(values))


async def _migrate(connection: Any, version: int) -> None:
    """Bring the schema to a version; of many processes one does, and the others wait for it.

    Raises:
        StoreUnavailable: the schema is of a newer release.
    """
    async with connection.transaction():
        await _ask(connection, "lock_versions")
        if await (await _ask(connection, "has_versions")).fetchone() == (None,):
            await _ask(connection, "make_versions")  # which needs more rights than all else
        (present,) = await (await _ask(connection, "version")).fetchone()
        if present > len(MIGRATIONS):
            raise StoreUnavailable(f"postgres: schema {present} is newer than {len(MIGRATIONS)}")
        for number in range(present + 1, version + 1):
            await connection.execute(MIGRATIONS[number - 1][0])
            await _ask(connection, "add_version", number=number)
        for number in range(present, version, -1):
            await connection.execute(MIGRATIONS[number - 1][1])
            await _ask(connection, "remove_version", number=number)
