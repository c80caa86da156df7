"""The file of a SQLite store: check it, and copy it."""

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from toolscout.errors import ConfigurationError
from toolscout.state.store import SCHEMA

BUSY_S = 1.0
"""Seconds that a statement waits for another process that is writing."""

CHECKED_BYTES = 64 << 20
"""Size up to which a whole file is checked when it is opened; others fail where they are read."""


def verify(path: Path) -> None:
    """Check that a file can be used as a store, without changing it; a missing file can.

    Raises:
        ConfigurationError: it was written by a newer release, is damaged or is no database.
    """
    if not path.exists():
        return
    try:
        db = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=BUSY_S)
        try:
            check(db, path)
        finally:
            db.close()
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
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > SCHEMA:
        raise sqlite3.DatabaseError(f"its schema is version {version}, newer than {SCHEMA}")
    if path.stat().st_size <= CHECKED_BYTES:
        (state,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if state != "ok":
            raise sqlite3.DatabaseError(f"it is damaged: {' '.join(state.split())}")
    return int(version)


def back_up(source: Path, target: Path) -> None:
    """Copy a store to a new file, also while services use it.

    Raises:
        ConfigurationError: there is no such store, it cannot be read, or the target exists.
    """
    if not source.is_file():
        raise ConfigurationError(f"store: there is no file {source}")
    if target.exists():
        raise ConfigurationError(f"{target} exists already")
    verify(source)
    partial = target.with_name(target.name + ".partial")
    try:
        with (
            closing(sqlite3.connect(f"file:{quote(str(source))}?mode=ro", uri=True)) as original,
            closing(sqlite3.connect(partial)) as copy,
        ):
            original.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
        partial.rename(target)
    except sqlite3.Error as error:
        partial.unlink(missing_ok=True)
        raise ConfigurationError(f"store: {source}: {error}") from None
