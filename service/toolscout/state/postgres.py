"""State in PostgreSQL: shared by many replicas, in a schema of its own.

The schema `toolscout` is made and brought up to date with the first connection. One of a newer
release is refused and not changed. Positions of a log grow in the order in which appends commit,
because a log is locked while it is appended to: no reader passes an entry that is still on its way.
One statement locks and appends, so that a process that is stopped meanwhile holds no lock. Nothing
is kept in a session, which a pooler may share: no prepared statements, no settings.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from toolscout.common.optional import import_needed
from toolscout.common.toml_files import load_toml
from toolscout.errors import ConfigurationError
from toolscout.state.store import (
    LAST_CHARACTER,
    START,
    Changed,
    Entry,
    StoreFull,
    StoreRefused,
    StoreUnavailable,
    is_mark,
)

T = TypeVar("T")

CONNECTIONS = 8
"""Maximum number of connections of one process."""

CONNECT_S = 1
"""Seconds for connecting, and for waiting for a free connection."""

READ_S = 2.0
"""Seconds for an answer; requests have shorter limits."""

TURN_S = 1.0
"""Seconds that an append waits for those to the same log before it; the server's lock, as long."""

TRIES = 3
"""How often an action is begun that the server ends for the sake of another one."""

DISK_FULL = "53100"
"""The SQLSTATE of a server without room."""

OF_ONE_STATEMENT = ("22", "23", "40", "42", "53400", "54", "55", "57014", "XX001", "XX002")
"""How SQLSTATEs begin that say something of a statement, and nothing of the server:
https://www.postgresql.org/docs/current/errcodes-appendix.html"""

KEEPALIVES = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
"""After 25 s without a sign the other end is taken for gone."""

_TABLE = load_toml(Path(__file__).with_suffix(".toml"))
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
        psycopg = import_needed("store", "psycopg", "postgres", "psycopg")
        psycopg_pool = import_needed("store", "psycopg", "postgres", "psycopg_pool")
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
            configure=_configure,
            kwargs={
                "autocommit": True,
                "connect_timeout": CONNECT_S,
                # A pooler may give the next statement another session, which has not prepared it.
                "prepare_threshold": None,
                **KEEPALIVES,
            },
        )
        self._where = f"postgres at {host}" if host else "postgres"
        self._places = asyncio.Semaphore(CONNECTIONS)
        self._places_of_others = asyncio.Semaphore(CONNECTIONS - 1)
        """For actions that delete nothing; one connection is reserved for deletions."""
        self._appending = WeakValueDictionary[str, asyncio.Lock]()
        """An append to a log at a time: those that wait for the server's lock hold a connection."""
        self._is_ready = self._is_strict = False
        self._tasks: set[asyncio.Task[Any]] = set()

    async def get(self, key: str) -> bytes | None:
        """Return the value of a key."""
        row = await (await self._ask("get", key=key)).fetchone()
        return None if row is None else row[0]

    async def put(self, key: str, value: bytes, ttl_s: float | None = None) -> None:
        """Set a value, and remove a few expired ones."""
        await self._ask("put", is_freeing=is_mark(key), key=key, value=value, ttl=ttl_s)

    async def swap(
        self, key: str, expected: bytes | None, value: bytes | None, ttl_s: float | None = None
    ) -> bool:
        """Set or delete a value if it has not changed."""
        if expected is None and value is None:
            return await self.get(key) is None
        return await self.run(
            lambda connection: swap(connection, key, expected, value, ttl_s),
            is_freeing=value is None,
        )

    async def delete(self, key: str) -> None:
        """Remove a value."""
        await self._ask("delete", is_freeing=True, key=key)

    async def now(self) -> float:
        """Return the server's time."""
        (seconds,) = await (await self._ask("now")).fetchone()
        return float(seconds)

    async def keys(self, prefix: str) -> list[str]:
        """Return the keys with a prefix."""
        asked = await self._ask("keys", **_bound(prefix))
        return [key for (key,) in await asked.fetchall()]

    async def share(self, prefix: str) -> float:
        """Return 0, because only the server has a limit."""
        return 0.0

    async def append(self, log: str, values: Sequence[bytes], keep: int) -> None:
        """Add entries."""
        turn = self._appending.setdefault(log, asyncio.Lock())
        try:
            async with asyncio.timeout(TURN_S):
                await turn.acquire()
        except TimeoutError:
            raise StoreRefused(f"{self._where}: earlier entries of a log are not written") from None
        try:
            await self._ask("append", log=log, values=list(values))
        finally:
            turn.release()
        with suppress(StoreUnavailable):  # they are there; the next call trims
            await self._ask("trim", log=log, keep=keep)

    async def read(self, log: str, after: str = START, limit: int = 1_000) -> list[Entry]:
        """Return the entries after a position."""
        asked = await self._ask("read", log=log, after=int(after or 0), limit=limit)
        return [Entry(str(position), value) for position, value in await asked.fetchall()]

    async def has_entry(self, log: str, entry: Entry) -> bool:
        """Return whether an entry is there."""
        position = int(entry.position)
        value = entry.value
        asked = await self._ask("has_entry", log=log, position=position, value=value)
        return await asked.fetchone() is not None

    async def remove(self, log: str, positions: Sequence[str]) -> int:
        """Remove entries."""
        numbers = list(map(int, positions))
        asked = await self._ask("remove", is_freeing=True, log=log, positions=numbers)
        return int(asked.rowcount)

    async def logs(self, prefix: str) -> list[str]:
        """Return the logs with a prefix."""
        asked = await self._ask("logs", **_bound(prefix))
        return [log for (log,) in await asked.fetchall()]

    async def drop(self, log: str) -> None:
        """Remove a log's entries."""
        await self._ask("drop", is_freeing=True, log=log)

    async def migrate(self, version: int = len(MIGRATIONS)) -> None:
        """Bring the schema to a version, up or down; 0 removes all tables but that of versions."""
        await self.run(lambda connection: _migrate(connection, version), prepared=False)
        self._is_ready = version == len(MIGRATIONS)

    async def risk(self) -> str:
        """Return that nothing is known."""
        return ""

    async def close(self) -> None:
        """Close the connections."""
        await self._pool.close(timeout=CONNECT_S)

    async def _ask(self, query: str, *, is_freeing: bool = False, **values: Any) -> Any:
        """Run a query of the table; returns its cursor, which has all rows.

        For a query that is freeing, as it deletes or begins to, a connection is kept.
        """
        return await self.run(
            lambda connection: _ask(connection, query, **values), is_freeing=is_freeing
        )

    async def run(
        self,
        action: Callable[[Any], Awaitable[T]],
        *,
        is_freeing: bool = False,
        prepared: bool = True,
        within_s: float = READ_S,
    ) -> T:
        """Run an action with a connection, in a task of its own.

        The driver waits for the server even when it is cancelled; whoever asked does not.

        Raises:
            StoreUnavailable: it failed in any way, or took too long.
            Changed: the action found that somebody was faster.
        """
        places = self._places if is_freeing else self._places_of_others
        task = asyncio.create_task(self._run_with_connection(action, places, prepared=prepared))
        self._tasks.add(task)
        task.add_done_callback(self._forget_task)
        try:
            await asyncio.wait([task], timeout=within_s)
            if not task.done():
                raise StoreUnavailable(f"{self._where}: no answer within {within_s:g} s")
            return task.result()
        except (StoreUnavailable, Changed):
            raise
        except Exception as error:
            raise _explain_refusal(error)(f"{self._where}: {type(error).__name__}") from error
        finally:
            task.cancel()

    def _forget_task(self, task: "asyncio.Task[Any]") -> None:
        """Forget a task; where nobody waits any more, its failure is no unhandled error."""
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()

    async def _run_with_connection(
        self, action: Callable[[Any], Awaitable[T]], places: asyncio.Semaphore, *, prepared: bool
    ) -> T:
        await self._pool.open()  # does nothing where it is open
        async with places, self._pool.connection() as connection:
            if prepared and not self._is_ready:
                await _migrate(connection, len(MIGRATIONS))
                isolation = await (await _ask(connection, "isolation")).fetchone()
                self._is_strict = isolation != ("read committed",)
                self._is_ready = True
            for _ in range(TRIES - 1):
                with suppress(*_list_repeatable()):
                    return await self._do(action, connection)
            return await self._do(action, connection)

    async def _do(self, action: Callable[[Any], Awaitable[T]], connection: Any) -> T:
        """Do something; where single statements would be serialized, in a transaction of ours."""
        if not self._is_strict:
            return await action(connection)
        async with connection.transaction():
            await _ask(connection, "limit")
            return await action(connection)


def _explain_refusal(error: Exception) -> type[StoreUnavailable]:
    """Return what an error says of the server: that it is full, refuses one thing, or is away."""
    code = getattr(error, "sqlstate", None) or ""
    if code == DISK_FULL:
        return StoreFull
    return StoreRefused if code.startswith(OF_ONE_STATEMENT) else StoreUnavailable


def _list_repeatable() -> tuple[type[Exception], ...]:
    """Return the errors of actions that may succeed when they are begun anew."""
    from psycopg import errors

    # Two appends take one position where the sequence was not restored with the table.
    return errors.SerializationFailure, errors.DeadlockDetected, errors.UniqueViolation


async def _configure(connection: Any) -> None:
    """Let transactions see what was committed meanwhile, whatever is the database's default."""
    import psycopg

    await connection.set_isolation_level(psycopg.IsolationLevel.READ_COMMITTED)


async def swap(
    connection: Any, key: str, expected: bytes | None, value: bytes | None, ttl_s: float | None
) -> bool:
    """Set or delete a value if it has not changed, on a connection or in its transaction."""
    if value is None:
        query = "delete_expected"
    elif expected is None:
        query = "insert"
    else:
        query = "update"
    asked = await _ask(connection, query, key=key, value=value, ttl=ttl_s, expected=expected)
    return int(asked.rowcount) == 1


def _bound(prefix: str) -> dict[str, Any]:
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
