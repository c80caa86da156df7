"""State in a SQLite file: one machine, several processes, nothing acknowledged is lost.

Write-ahead log with full synchronisation, so a `put` that returned is on the disk. All statements
run in one thread of their own; several processes may share the file.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic, sleep, time
from typing import TypeVar

from toolscout.state.store import SCHEMA, START, Entry, StoreUnavailable

T = TypeVar("T")

BUSY_S = 1.0
"""How long a statement waits for another process that is writing."""

_TABLES = """
CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, value BLOB NOT NULL, until REAL);
CREATE TABLE IF NOT EXISTS entries (
  position INTEGER PRIMARY KEY AUTOINCREMENT, log TEXT NOT NULL, value BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS entries_of_log ON entries (log, position);
"""


class SqliteStore:
    """Values and logs in one file.

    Args:
        path: the file; made with its folders when it is not there.
        report: told in one sentence when a file could not be used and was put aside.
    """

    def __init__(
        self,
        path: Path,
        report: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time,
    ) -> None:
        self._path = path
        self._report = report
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, "sqlite")
        self._connection: sqlite3.Connection | None = None

    async def get(self, key: str) -> bytes | None:
        """The value of a key."""
        return await self._run(lambda db: self._value(db, key))

    async def put(self, key: str, value: bytes, ttl_s: float | None = None) -> None:
        """Set a value."""
        await self._run(lambda db: self._set(db, key, value, ttl_s), write=True)

    async def swap(
        self, key: str, expected: bytes | None, value: bytes | None, ttl_s: float | None = None
    ) -> bool:
        """Set or delete a value if it has not changed."""

        def swapped(db: sqlite3.Connection) -> bool:
            if self._value(db, key) != expected:
                return False
            if value is None:
                db.execute("DELETE FROM kept WHERE key = ?", (key,))
            else:
                self._set(db, key, value, ttl_s)
            return True

        return await self._run(swapped, write=True)

    async def delete(self, key: str) -> None:
        """Remove a value."""
        query = "DELETE FROM kept WHERE key = ?"
        await self._run(lambda db: db.execute(query, (key,)), write=True)

    async def keys(self, prefix: str) -> list[str]:
        """The keys that begin so."""
        query = "SELECT key FROM kept WHERE substr(key, 1, ?) = ? AND (until IS NULL OR until > ?)"
        found = await self._run(
            lambda db: db.execute(query, (len(prefix), prefix, self._clock())).fetchall()
        )
        return sorted(key for (key,) in found)

    async def append(self, log: str, values: Sequence[bytes], keep: int) -> None:
        """Add entries."""

        def appended(db: sqlite3.Connection) -> None:
            rows = [(log, value) for value in values]
            db.executemany("INSERT INTO entries (log, value) VALUES (?, ?)", rows)
            newest_first = "SELECT position FROM entries WHERE log = ? ORDER BY position DESC"
            oldest = db.execute(f"{newest_first} LIMIT 1 OFFSET ?", (log, keep)).fetchone()
            if oldest is not None:
                db.execute("DELETE FROM entries WHERE log = ? AND position <= ?", (log, *oldest))

        await self._run(appended, write=True)

    async def read(self, log: str, after: str = START, limit: int = 1_000) -> list[Entry]:
        """Entries behind a position."""
        query = (
            "SELECT position, value FROM entries WHERE log = ? AND position > ? "
            "ORDER BY position LIMIT ?"
        )
        found = await self._run(
            lambda db: db.execute(query, (log, int(after or 0), limit)).fetchall()
        )
        return [Entry(str(position), value) for position, value in found]

    async def drop(self, log: str) -> None:
        """Remove a log's entries."""
        query = "DELETE FROM entries WHERE log = ?"
        await self._run(lambda db: db.execute(query, (log,)), write=True)

    async def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._thread.submit(self._connection.close)
        self._thread.shutdown(wait=True)

    async def _run(self, action: Callable[[sqlite3.Connection], T], *, write: bool = False) -> T:
        def transaction() -> T:
            if self._connection is None:
                self._connection = self._open()
            # What writes takes the lock with its first statement, or it might lose a race.
            self._connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            with self._connection:
                return action(self._connection)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, transaction)
        except (sqlite3.Error, OSError, RuntimeError) as error:
            raise StoreUnavailable(f"sqlite: {error}") from error

    def _open(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return self._connect()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise  # busy, full or not permitted: the file itself may be sound
            aside = self._path.with_name(f"{self._path.name}.unusable-{int(self._clock())}")
            self._path.rename(aside)
            for ending in ("-wal", "-shm"):
                self._path.with_name(self._path.name + ending).unlink(missing_ok=True)
            self._report(f"state file put aside as {aside.name} and begun anew: {error}")
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(
            self._path, timeout=BUSY_S, check_same_thread=False, isolation_level=None
        )
        _write_ahead(db)
        db.execute("PRAGMA synchronous = FULL")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version not in (0, SCHEMA):
            db.close()
            raise sqlite3.DatabaseError(f"its schema is version {version}, not {SCHEMA}")
        (state,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if state != "ok":
            db.close()
            raise sqlite3.DatabaseError(str(state))
        db.executescript(_TABLES)
        db.execute(f"PRAGMA user_version = {SCHEMA}")
        return db

    def _value(self, db: sqlite3.Connection, key: str) -> bytes | None:
        found = db.execute(
            "SELECT value FROM kept WHERE key = ? AND (until IS NULL OR until > ?)",
            (key, self._clock()),
        ).fetchone()
        return None if found is None else bytes(found[0])

    def _set(self, db: sqlite3.Connection, key: str, value: bytes, ttl_s: float | None) -> None:
        now = self._clock()
        db.execute("DELETE FROM kept WHERE until <= ?", (now,))
        until = None if ttl_s is None else now + ttl_s
        db.execute("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", (key, value, until))


def _write_ahead(db: sqlite3.Connection) -> None:
    """Switch to the write-ahead log. The library does not wait for others here by itself."""
    until = monotonic() + BUSY_S
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or monotonic() > until:
                raise
            sleep(0.01)
        else:
            return
