"""From the setting to a store."""

from collections.abc import Callable
from pathlib import Path

from toolscout.errors import ConfigurationError
from toolscout.state.memory import MemoryStore
from toolscout.state.redis import RedisStore
from toolscout.state.sqlite import SqliteStore
from toolscout.state.store import StateStore


def open_store(url: str, report: Callable[[str], None] = lambda _: None) -> StateStore:
    """The store that a setting names: `memory`, `sqlite:PATH` or `redis://HOST:PORT/DATABASE`.

    Connections are made on first use.

    Raises:
        ConfigurationError: no store is called so, or what it needs is not installed.
    """
    if url == "memory":
        return MemoryStore()
    scheme, _, rest = url.partition(":")
    if scheme == "sqlite" and rest:
        return SqliteStore(Path(rest), report)
    if scheme in ("redis", "rediss"):
        return RedisStore(url)
    raise ConfigurationError(
        f"store: expected memory, sqlite:PATH or redis://HOST:PORT/DATABASE, got {scheme!r}"
    )
