"""Open the store of the setting `store`."""

from pathlib import Path

from toolscout.errors import ConfigurationError
from toolscout.state import memory, postgres, redis, sqlite, sqlite_file
from toolscout.state.store import StateStore


def open_store(url: str, max_bytes: int = sqlite.MAX_BYTES) -> StateStore:
    """Open `memory`, `sqlite:PATH`, `redis://HOST:PORT/DATABASE` or `postgres://HOST/DATABASE`.

    Redis may also be `redis+sentinel://` or `redis+cluster://`, with TLS `rediss…`.

    Connections are made on first use. `max_bytes` bounds a SQLite file.

    Raises:
        ConfigurationError: the store is unknown, or its package is not installed.
    """
    if url == "memory":
        return memory.MemoryStore()
    path = find_sqlite_path(url)
    if path is not None:
        return sqlite.SqliteStore(path, max_bytes)
    scheme = url.partition(":")[0]
    if scheme.partition("+")[0] in ("redis", "rediss"):
        return redis.RedisStore(url)
    if scheme in ("postgres", "postgresql"):
        return postgres.PostgresStore(url)
    raise ConfigurationError(
        "store: expected memory, sqlite:PATH, redis://HOST:PORT/DATABASE or "
        f"postgres://HOST/DATABASE, got {scheme!r}"
    )


def find_sqlite_path(url: str) -> Path | None:
    """Return the file of a SQLite store; None for any other."""
    scheme, _, rest = url.partition(":")
    return Path(rest) if scheme == "sqlite" and rest else None


def check_store(url: str) -> None:
    """Check that a store can be opened, without a connection.

    Raises:
        ConfigurationError: the store is unknown, its package is not installed, or its file was
            written by a newer release or is damaged.
    """
    path = find_sqlite_path(url)
    if path is None:
        open_store(url)
    else:
        sqlite_file.verify(path)
