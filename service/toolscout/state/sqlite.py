"""State in a SQLite file: for the processes of one machine, without loss of acknowledged writes.

The write-ahead log is fully synchronised, so a `put` that returned is on the disk. All statements
run in one separate thread; several processes may share the file. A file of a newer release, or
a damaged one, is never changed, because another process may be using it. One that cannot be
written is read all the same, and a full disk has room left for deletions.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from time import time
from typing import Any, TypeVar

from toolscout.common.toml_files import load_toml
from toolscout.state import sqlite_file, store

T = TypeVar("T")

_QUERY: dict[str, str] = load_toml(Path(__file__).with_suffix(".toml"))

MAX_BYTES = 1 << 30
"""Size of the file from which unregistered lists are evicted."""

EXPIRED_AT_ONCE = 4
"""Maximum number of expired values that one write removes: a list of 5 MB takes milliseconds."""

EVICTED_AT_ONCE = 64
"""Maximum number of lists that one write evicts."""

DROPPED_AT_ONCE = 200
"""Maximum number of entries of one deletion, so that it fits into the room that is kept for it."""

LOG_PAGES = 256
"""Pages of 4 KiB in the write-ahead log from which they are moved to the file."""


class SqliteStore:
    """Values and logs in one file.

    Args:
        path: the file; made with its folders when it is not there.
        max_bytes: size of the file from which unregistered lists are evicted, those that expire
            first before others; without any, writes fail with `StoreUnavailable`.
    """

    def __init__(
        self, path: Path, max_bytes: int = MAX_BYTES, clock: Callable[[], float] = time
    ) -> None:
        self._path = path
        self._reserve = sqlite_file.Reserve(path)
        self._max_bytes = max_bytes
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, "sqlite")
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        """Which file it is that was opened; None before the first."""

    async def get(self, key: str) -> bytes | None:
        """Return the value of a key."""
        return await self._run(lambda db: self._read_value(db, key))

    async def put(self, key: str, value: bytes, ttl_s: float | None = None) -> None:
        """Set a value."""
        size = 0 if store.is_mark(key) else len(value)
        await self._write(lambda db: self._set(db, key, value, ttl_s), size)

    async def swap(
        self, key: str, expected: bytes | None, value: bytes | None, ttl_s: float | None = None
    ) -> bool:
        """Set or delete a value if it has not changed."""

        def swapped(db: sqlite3.Connection) -> bool:
            if self._read_value(db, key) != expected:
                return False
            if value is None:
                db.execute(_QUERY["delete"], (key,))
            else:
                self._set(db, key, value, ttl_s)
            return True

        return await self._write(swapped, len(value or b""))

    async def delete(self, key: str) -> None:
        """Remove a value."""
        await self._write(lambda db: db.execute(_QUERY["delete"], (key,)))

    async def now(self) -> float:
        """Return the time of this machine."""
        return self._clock()

    async def keys(self, prefix: str) -> list[str]:
        """Return the keys with a prefix."""
        rows = await self._ask("keys", prefix, prefix + store.LAST_CHARACTER, self._clock())
        return [key for (key,) in rows]

    async def share(self, prefix: str) -> float:
        """Return the share of the limit that the values of these keys take."""
        ((size,),) = await self._ask("share", prefix, prefix + store.LAST_CHARACTER)
        return float(size) / self._max_bytes

    async def append(self, log: str, values: Sequence[bytes], keep: int) -> None:
        """Add entries."""
        size = sum(map(len, values))

        def appended(db: sqlite3.Connection) -> None:
            self._make_room(db, size)
            db.executemany(_QUERY["append"], [(log, value) for value in values])
            last = db.execute(_QUERY["surplus"], (log, keep)).fetchone()
            if last is not None:
                db.execute(_QUERY["drop"], (log, *last))

        await self._write(appended, size)

    async def read(
        self, log: str, after: str = store.START, limit: int = 1_000
    ) -> list[store.Entry]:
        """Return the entries after a position."""
        rows = await self._ask("read", log, int(after or 0), limit)
        return [store.Entry(str(position), value) for position, value in rows]

    async def has_entry(self, log: str, entry: store.Entry) -> bool:
        """Return whether an entry is there."""
        return bool(await self._ask("has_entry", log, int(entry.position), entry.value))

    async def remove(self, log: str, positions: Sequence[str]) -> int:
        """Remove entries, which are overwritten in the file."""
        query = _QUERY["remove"]
        removed = await self._write(
            lambda db: sum(db.execute(query, (log, int(one))).rowcount for one in positions),
            is_overwritten=True,
        )
        await self._run(self._reserve.empty_log)
        return removed

    async def logs(self, prefix: str) -> list[str]:
        """Return the logs with a prefix."""
        rows = await self._ask("logs", prefix, prefix + store.LAST_CHARACTER)
        return [log for (log,) in rows]

    async def drop(self, log: str) -> None:
        """Remove a log's entries, which are overwritten in the file."""

        def dropped(db: sqlite3.Connection) -> None:
            (newest,) = db.execute(_QUERY["newest"], (log,)).fetchone()  # what comes later stays
            drop = _QUERY["drop"]
            some = _QUERY["drop_some"]
            try:
                sqlite_file.run_in_transaction(db, lambda db: db.execute(drop, (log, newest)))
            except sqlite3.OperationalError:  # for want of room, perhaps
                while self._reserve.delete(
                    db,
                    lambda db: db.execute(some, (log, newest, DROPPED_AT_ONCE)).rowcount,
                    is_overwritten=True,
                ):
                    pass
            self._reserve.empty_log(db)

        await self._run(dropped)

    async def risk(self) -> str:
        """Return that nothing is known."""
        return ""

    async def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._thread.submit(self._connection.close)
        self._thread.shutdown(wait=True)

    async def _ask(self, query: str, *values: object) -> list[Any]:
        """Return the rows of a query."""
        return await self._run(lambda db: db.execute(_QUERY[query], values).fetchall())

    async def _write(
        self,
        action: Callable[[sqlite3.Connection], T],
        size: int = 0,
        *,
        is_overwritten: bool = False,
    ) -> T:
        """Run a transaction.

        Args:
            action: what is done in it.
            size: the bytes that it adds; 0 for what may use the room for deletions.
            is_overwritten: whether what it deletes is overwritten on a full disk, too, which takes
                as much room as it makes.
        """

        def run(db: sqlite3.Connection) -> T:
            if size:
                self._hold(db, size)
                return sqlite_file.run_in_transaction(db, action)
            return self._reserve.delete(db, action, is_overwritten=is_overwritten)

        return await self._run(run)

    def _hold(self, db: sqlite3.Connection, size: int) -> None:
        """Hold room for deletions after a write; where there is none, evict lists to have it."""
        for _ in range(EVICTED_AT_ONCE):
            try:
                return self._reserve.hold(size, sqlite_file.count_free_bytes(db))
            except sqlite_file.DiskFull:
                if not self._reserve.delete(db, _evict, is_overwritten=False):
                    raise
        return self._reserve.hold(size, sqlite_file.count_free_bytes(db))

    async def _run(self, action: Callable[[sqlite3.Connection], T]) -> T:
        """Run an action in the thread of this store, which opens the file first."""

        def run() -> T:
            self._check_file()
            if self._connection is None:
                try:
                    self._connection = self._open()
                    self._file = sqlite_file.identify(self._path)
                except sqlite3.OperationalError as error:
                    if not sqlite_file.is_read_only(error):
                        raise
                    # By the next action it may be possible to write it.
                    with closing(sqlite_file.read_only(self._path)) as db:
                        return action(db)
            return action(self._connection)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, run)
        except (sqlite3.Error, OSError, RuntimeError) as error:
            kind = sqlite_file.explain_refusal(error)
            raise kind(f"sqlite {self._path}: {error}") from error

    def _check_file(self) -> None:
        """Check that the file that is open is the one at the path.

        Raises:
            StoreReplaced: it was moved away or deleted, or another one is there, which the next
                action opens.
        """
        here = sqlite_file.identify(self._path)
        if self._file is None or here == self._file:
            return
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if here is None:
            why = "it is gone; put it back, or restart to begin with an empty one"
            raise store.StoreReplaced(f"sqlite {self._path}: {why}")
        self._file = None
        raise store.StoreReplaced(f"sqlite {self._path}: another file is there now, and is opened")

    def _open(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(
            self._path, timeout=sqlite_file.BUSY_S, check_same_thread=False, isolation_level=None
        )
        try:
            version = sqlite_file.check(db, self._path)
            sqlite_file.write_ahead(db)
            db.execute("PRAGMA synchronous = FULL")
            db.execute("PRAGMA secure_delete = ON")
            db.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
            db.executescript(_QUERY["tables"])
            # Else no write: the disk may be full, or another process writes.
            if version != store.SCHEMA:
                db.execute(f"PRAGMA user_version = {store.SCHEMA}")
        except BaseException:
            db.close()
            raise
        return db

    def _read_value(self, db: sqlite3.Connection, key: str) -> bytes | None:
        row = db.execute(_QUERY["get"], (key, self._clock())).fetchone()
        return None if row is None else bytes(row[0])

    def _set(self, db: sqlite3.Connection, key: str, value: bytes, ttl_s: float | None) -> None:
        now = self._clock()
        db.execute(_QUERY["expire"], (now, EXPIRED_AT_ONCE))
        if not store.is_mark(key):
            self._make_room(db, len(value))
        until = None if ttl_s is None else now + ttl_s
        db.execute(_QUERY["put"], (key, value, until))

    def _make_room(self, db: sqlite3.Connection, size: int) -> None:
        """Evict unregistered lists until there is room for more bytes.

        Raises:
            StoreFull: there is none left to evict.
        """
        for _ in range(EVICTED_AT_ONCE + 1):
            if sqlite_file.count_used_bytes(db) + size <= self._max_bytes:
                return
            if not _evict(db):
                break
        raise store.StoreFull(f"sqlite: full, {self._max_bytes} bytes")


def _evict(db: sqlite3.Connection) -> bool:
    """Evict the unregistered list that expires first; return whether there was one."""
    bounds = (store.RECOMPILABLE, store.RECOMPILABLE + store.LAST_CHARACTER)
    return bool(db.execute(_QUERY["evict"], bounds).rowcount)
