"""The file of a SQLite store: check it, copy it, and keep room beside it for deletions."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from errno import EDQUOT, ENOSPC
from pathlib import Path
from time import monotonic, sleep
from typing import TypeVar
from urllib.parse import quote

from toolscout.errors import ConfigurationError
from toolscout.state.store import SCHEMA, StoreFull, StoreRefused, StoreUnavailable

T = TypeVar("T")

BUSY_S = 1.0
"""Seconds that a statement waits for another process that is writing."""

CHECKED_BYTES = 64 << 20
"""Size up to which a whole file is checked when it is opened; others fail where they are read."""

SPARE_BYTES = 256 << 10
"""Room for deletions beyond what the write-ahead log may grow to."""

_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE)


class DiskFull(OSError):  # noqa: N818  # its name in the system's errors, too
    """There is no room left on the disk, or none for this user."""


class Reserve:
    """Room on the disk beside a store's file, given up so that deletions can be written.

    A deletion needs room in the write-ahead log, and the log needs room in the file before it can
    begin anew. So a write that adds something first sees to it that as much is held in reserve.
    """

    def __init__(self, store: Path) -> None:
        self._path = store.with_name(f"{store.name}-reserve")
        self._log = store.with_name(f"{store.name}-wal")

    def hold(self, size: int, free: int) -> None:
        """Hold what may be needed after a write; give back what is far more.

        Args:
            size: the bytes that are written.
            free: bytes of the store's file that hold nothing.

        Raises:
            DiskFull: the disk has no room for it.
        """
        held = _measure(self._path)
        needed = max(0, _measure(self._log) + size - free) + SPARE_BYTES
        if needed <= held <= 4 * needed or not hasattr(os, "posix_fallocate"):
            return
        with self._path.open("ab") as file:
            if held > needed:
                file.truncate(needed)
                return
            try:
                os.posix_fallocate(file.fileno(), 0, needed + SPARE_BYTES)
            except OSError as error:
                file.truncate(held)
                if error.errno in (ENOSPC, EDQUOT):
                    raise DiskFull(str(error)) from None
                # A file system that reserves nothing: there is no room for deletions on it.

    def delete(
        self,
        db: sqlite3.Connection,
        action: Callable[[sqlite3.Connection], T],
        *,
        is_overwritten: bool,
    ) -> T:
        """Run a deletion; on a full disk, use the reserved space.

        Args:
            db: the store.
            action: what is done in it.
            is_overwritten: whether what it deletes is overwritten on a full disk, too, which takes
                as much room as it makes.
        """
        try:
            return run_in_transaction(db, action)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode not in _NO_ROOM:
                raise
        with suppress(OSError):
            os.truncate(self._path, 0)
        # What was in the log moves to the file, and the log is written from its beginning.
        db.execute("PRAGMA wal_checkpoint(RESTART)")
        db.execute(f"PRAGMA secure_delete = {is_overwritten}")
        try:
            return run_in_transaction(db, action)
        finally:
            db.execute("PRAGMA secure_delete = ON")
            db.execute("PRAGMA wal_checkpoint(RESTART)")
            self._take_back(db)

    def empty_log(self, db: sqlite3.Connection) -> None:
        """Empty the write-ahead log, unless another process is reading.

        It has the texts of what was deleted, too.
        """
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._take_back(db)

    def _take_back(self, db: sqlite3.Connection) -> None:
        """Reserve the freed space again, before another program takes it."""
        with suppress(OSError):
            self.hold(0, count_free_bytes(db))


def _measure(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def read_only(path: Path) -> sqlite3.Connection:
    """Open a file that must not, or cannot, be changed.

    Raises:
        sqlite3.OperationalError: it cannot be read either.
    """
    address = f"file:{quote(str(path))}?mode=ro"
    try:
        return _open_file(address)
    except sqlite3.OperationalError as error:
        # Where nothing can be written, the locks of the write-ahead log cannot be made. Without
        # that log the file is complete, and nobody can be writing it.
        if not is_read_only(error) or _measure(path.with_name(f"{path.name}-wal")):
            raise
    return _open_file(f"{address}&immutable=1")


def identify(path: Path) -> tuple[int, int] | None:
    """Return the identity of the file at a path; None where there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def explain_refusal(error: Exception) -> type[StoreUnavailable]:
    """Return what an error says of a store: that it is full, refuses a value, or is away."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if isinstance(error, DiskFull) or code == sqlite3.SQLITE_FULL:
        return StoreFull
    is_of_a_value = code in (sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG)
    return StoreRefused if is_of_a_value else StoreUnavailable


def is_read_only(error: sqlite3.Error) -> bool:
    """Return whether something failed because the file or its folder cannot be written."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)


def _open_file(address: str) -> sqlite3.Connection:
    db = sqlite3.connect(
        address, uri=True, timeout=BUSY_S, check_same_thread=False, isolation_level=None
    )
    try:
        db.execute("PRAGMA schema_version")
    except sqlite3.Error:
        db.close()
        raise
    return db


def verify(path: Path) -> None:
    """Check that a file can be used as a store, without changing it; a missing file can.

    Raises:
        ConfigurationError: it was written by a newer release, is damaged or is no database.
    """
    if not path.exists():
        return
    try:
        with closing(read_only(path)) as db:
            check(db, path)
    except sqlite3.OperationalError:
        return  # busy or not permitted: the file itself may be intact
    except sqlite3.DatabaseError as error:
        raise ConfigurationError(
            f"store: {path}: {error}; the file was left as it is "
            "(move it away to begin anew, or restore a backup)"
        ) from None


def check(db: sqlite3.Connection, path: Path) -> int:
    """Check schema and pages; returns the version of the schema, 0 for a new file.

    Raises:
        sqlite3.DatabaseError: the file is of a newer release, or damaged.
    """
    version = _read_pragma(db, "user_version")
    if version > SCHEMA:
        raise sqlite3.DatabaseError(f"its schema is version {version}, newer than {SCHEMA}")
    if path.stat().st_size <= CHECKED_BYTES:
        (state,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if state != "ok":
            raise sqlite3.DatabaseError(f"it is damaged: {' '.join(state.split())}")
    return version


def back_up(source: Path, target: Path) -> None:
    """Copy a store to a new file, also while services use it.

    Raises:
        ConfigurationError: there is no such store, it cannot be read, or the target exists, or the
            log of a file that was there, which SQLite would take for the copy's.
    """
    if not source.is_file():
        raise ConfigurationError(f"store: there is no file {source}")
    for present in (target, target.with_name(f"{target.name}-wal")):
        if present.exists():
            raise ConfigurationError(f"{present} exists already")
    verify(source)
    partial = target.with_name(target.name + ".partial")
    try:
        with (
            closing(read_only(source)) as original,
            closing(sqlite3.connect(partial)) as copy,
        ):
            original.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
        partial.rename(target)
    except sqlite3.Error as error:
        partial.unlink(missing_ok=True)
        raise ConfigurationError(f"store: {source}: {error}") from None


def run_in_transaction(db: sqlite3.Connection, action: Callable[[sqlite3.Connection], T]) -> T:
    """Run an action that writes."""
    # It takes the lock with its first statement, or it could lose a race.
    db.execute("BEGIN IMMEDIATE")
    with db:
        return action(db)


def count_used_bytes(db: sqlite3.Connection) -> int:
    """Return the bytes of a file that hold something."""
    return _read_pragma(db, "page_count") * _read_pragma(db, "page_size") - count_free_bytes(db)


def count_free_bytes(db: sqlite3.Connection) -> int:
    """Return the bytes of a file that hold nothing."""
    return _read_pragma(db, "freelist_count") * _read_pragma(db, "page_size")


def _read_pragma(db: sqlite3.Connection, name: str) -> int:
    (value,) = db.execute(f"PRAGMA {name}").fetchone()
    return int(value)


def write_ahead(db: sqlite3.Connection) -> None:
    """Switch to the write-ahead log, waiting for other processes, which SQLite does not do here."""
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
