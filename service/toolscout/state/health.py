"""Whether a store works, and whether it keeps what it took."""

import asyncio
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

from toolscout.state.opening import find_sqlite_path, open_store
from toolscout.state.store import StateStore, StoreRefused, StoreUnavailable, make_key

CHECK_S = 2.0
"""How long a store may take to show that it works."""

WITHOUT = "searches go on; registering, sessions and reports are refused until it works"
"""What it means that a store does not work."""


class Health(NamedTuple):
    """What was found of a store."""

    event: str = ""
    """Its name in the log; empty where the store works."""
    fault: str = ""
    """Why it does not work, and what that means."""
    risk: str = ""
    """Why it may lose what it took."""

    @property
    def texts(self) -> list[str]:
        """Return the warnings as texts."""
        return [text for text in (self.fault, self.risk) if text]


async def examine(store: StateStore) -> Health:
    """Ask a store whether it works, also while it is left alone after failures."""
    try:
        async with asyncio.timeout(CHECK_S):
            await store.get(make_key("checked", ""))
            await store.delete(make_key("checked", ""))  # which there is not, but a replica says no
            with suppress(StoreRefused):  # of a right that nothing else needs
                return Health(risk=await store.risk())
            return Health()
    except TimeoutError:
        return Health(StoreUnavailable.event, f"no answer within {CHECK_S:g} s; {WITHOUT}")
    except StoreUnavailable as error:
        return Health(error.event, f"{error}; {WITHOUT}")


def find_warnings(url: str) -> list[str]:
    """Return what would not be as it was meant with a store; makes no file and no folder."""
    path = find_sqlite_path(url)
    found = asyncio.run(_examine_once(url)).texts if path is None else _find_obstacles(path)
    return [f"store: {text}" for text in found]


def _find_obstacles(path: Path) -> list[str]:
    folder = next(one for one in path.absolute().parents if one.exists())
    try:
        with TemporaryFile(dir=folder):
            is_new = folder != path.absolute().parent
    except OSError as error:
        return [f"sqlite {path}: {error.strerror}; {WITHOUT}"]
    return [f"the folder {path.parent} will be made"] if is_new else []


async def _examine_once(url: str) -> Health:
    store = open_store(url)
    try:
        return await examine(store)
    finally:
        await store.close()
