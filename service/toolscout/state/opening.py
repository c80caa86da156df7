"""Open the store of the setting `store`."""

import asyncio
from pathlib import Path
from tempfile import TemporaryFile

from toolscout.errors import ConfigurationError
from toolscout.state import memory, postgres, redis, sqlite, sqlite_file
from toolscout.state.guarded import Guard
from toolscout.state.store import StateStore, StoreUnavailable, key

CHECK_S = 2.0
"""How long a store may take to show that it works."""

WITHOUT = "searches go on; registering, sessions and reports are refused until it works"
"""What it means that a store does not work."""


def open_store(url: str, max_bytes: int = sqlite.MAX_BYTES) -> StateStore:
    """Open `memory`, `sqlite:PATH`, `redis://HOST:PORT/DATABASE` or `postgres://HOST/DATABASE`.

    Redis may also be `redis+sentinel://` or `redis+cluster://`, with TLS `rediss…`.

    Connections are made on first use. `max_bytes` bounds a SQLite file.

    Raises:
        ConfigurationError: the store is unknown, or its package is not installed.
    """
    if url == "memory":
        return memory.MemoryStore()
    path = sqlite_path(url)
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


def sqlite_path(url: str) -> Path | None:
    """Return the file of a SQLite store; None for any other."""
    scheme, _, rest = url.partition(":")
    return Path(rest) if scheme == "sqlite" and rest else None


def check_store(url: str) -> None:
    """Check that a store can be opened, without a connection.

    Raises:
        ConfigurationError: the store is unknown, its package is not installed, or its file was
            written by a newer release or is damaged.
    """
    path = sqlite_path(url)
    if path is None:
        open_store(url)
    else:
        sqlite_file.verify(path)


async def find_fault(guard: Guard) -> str | None:
    """Return why a store cannot be used and what that means; None if it can."""
    try:
        await guard.within(CHECK_S).get(key("checked", ""))
    except StoreUnavailable as error:
        return f"{error}; {WITHOUT}"
    return None


def find_warnings(url: str) -> list[str]:
    """Return what would not be as it was meant with a store; makes no file and no folder."""
    path = sqlite_path(url)
    if path is None:
        fault = asyncio.run(_find_fault_once(url))
        return [f"store: {fault}"] if fault else []
    folder = next(one for one in path.absolute().parents if one.exists())
    try:
        with TemporaryFile(dir=folder):
            is_new = folder != path.absolute().parent
    except OSError as error:
        return [f"store: sqlite {path}: {error.strerror}; {WITHOUT}"]
    return [f"store: the folder {path.parent} will be made"] if is_new else []


async def _find_fault_once(url: str) -> str | None:
    store = open_store(url)
    try:
        return await find_fault(Guard(store))
    finally:
        await store.close()
