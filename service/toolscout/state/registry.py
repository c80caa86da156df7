"""Registered catalogs: tool lists under a name, until they are deleted or expire.

A record has the digest of the content; the tools have a key of their own. Records change only by
compare-and-swap, so of two writers that read the same version one fails with `Changed`.

Catalogs by digest are shared by all replicas too. Keys contain the tenant, so none reaches
another's tools. A request waits only a few milliseconds for the store: without its answer, a digest
is unknown, and the caller sends its tools.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from secrets import token_hex
from time import time
from typing import Annotated, Any, NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from toolscout.contract.catalogs import CatalogPatch
from toolscout.contract.tools import Tool
from toolscout.errors import FieldError, ToolscoutError
from toolscout.state.guarded import Guard
from toolscout.state.store import CATALOG, Changed, StoreUnavailable, find_last_name, make_key

READ_S = 2.0
"""Time limit of a read from the store, for requests other than searches."""

WRITE_S = 5.0
"""Time limit of a write to the store."""

TRIES = 5
"""Maximum number of reads of a record whose tools are replaced meanwhile."""

_encode = msgspec.json.Encoder().encode


class Place(NamedTuple):
    """Where a tenant has registered a catalog."""

    tenant: str
    catalog: str
    """Its name."""

    @property
    def key(self) -> str:
        """The key of its record."""
        return make_key("registered", *self)

    def tools_key(self, content: str) -> str:
        """Return the key of its tools as they were written once."""
        return make_key("registered-tools", *self, content)


Moment = Annotated[float, msgspec.Meta(ge=0, le=253_402_300_799)]
"""Seconds since 1970, up to the year 9999: what a date can say."""


Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-z]+\Z")]
"""What headers of answers say."""


class CatalogRecord(msgspec.Struct, frozen=True):
    """The metadata of a registered catalog; times are seconds since 1970."""

    digest: Digest
    tools: int
    version: int
    created: Moment
    updated: Moment
    expires: Moment | None = None
    content: str = ""
    """Name of the tools' key; unique for every write."""
    external: bool = False
    """Whether the tools are in tables of their own instead."""


WriteTools = Callable[[bytes | None, Callable[[int], bytes]], Awaitable[bytes | None]]
"""Changes the tools of an external catalog together with its record: takes the record as it is
stored, None where there is none, and what makes the new one of the number of tools; returns the new
record, None where nothing changes."""


class ToolTables(Protocol):
    """Tables that have the tools of external catalogs."""

    async def drop(self, place: Place, record: bytes | None = None) -> None:
        """Remove a catalog's tools, and its record if that is given."""


_decode = msgspec.json.Decoder(CatalogRecord).decode


class ToolUnknown(ToolscoutError):  # noqa: N818 - an answer, not a failure
    """The status of a tool that is not there is to be set."""

    code = "not_found"


def patch_tools(tools: Iterable[Tool], change: CatalogPatch) -> dict[str, Tool]:
    """Return tools, of equal names the last, by their names after some are removed or set.

    Raises:
        ToolUnknown: the status of a tool that is not there is to be set.
    """
    by_name = {tool.name: tool for tool in tools}
    for name in change.remove or ():
        by_name.pop(name, None)
    for name, status in (change.status or {}).items():
        if name not in by_name:
            what = FieldError("status", "the catalog has no tool of one of these names")
            raise ToolUnknown("status: the catalog has no tool of that name", (what,))
        kept = None if status == "available" else status
        by_name[name] = replace(by_name[name], status=kept)
    return by_name


class Registry:
    """The registered catalogs of all tenants.

    Every method raises `StoreUnavailable` when the store cannot serve it.
    """

    def __init__(
        self,
        guard: Guard,
        tables: ToolTables | None = None,
        clock: Callable[[], float] = time,
    ) -> None:
        self.tables = tables
        """Has the tools of external catalogs, where the store can keep these."""
        self.clock = clock
        self._reading = guard.within(READ_S)
        self._writing = guard.within(WRITE_S)

    async def record(self, place: Place) -> CatalogRecord | None:
        """Return the record of a catalog; None if there is none or it is malformed."""
        return _read(await self._reading.get(place.key))

    async def names(self, tenant: str) -> list[str]:
        """Return the registered names, sorted."""
        return list(map(find_last_name, await self._reading.keys(Place(tenant, "").key)))

    async def share(self, tenant: str) -> float:
        """Return the share of the store's limit that a tenant's registered tools take."""
        return await self._reading.share(make_key("registered-tools", tenant, ""))

    async def tools(self, place: Place, record: CatalogRecord) -> bytes | None:
        """Return the tools of a record as a JSON array; None if it was replaced meanwhile."""
        return await self._reading.get(place.tools_key(record.content))

    async def find(
        self, place: Place, record: CatalogRecord | None = None
    ) -> tuple[CatalogRecord, bytes] | None:
        """Return the record of a catalog, read now unless it is given, with its tools."""
        for _ in range(TRIES):
            record = record or await self.record(place)
            if record is None:
                return None
            raw = await self.tools(place, record)
            if raw is not None:
                return record, raw
            record = None  # replaced meanwhile
        return None

    async def put(
        self,
        place: Place,
        current: CatalogRecord | None,
        digest: str,
        tools: Sequence[bytes],
        expires: float | None,
    ) -> CatalogRecord:
        """Replace the record that was read, or register a new name; return the new record.

        The same content again is the same version.

        Raises:
            Changed: the record has changed since.
            StoreUnavailable: the catalog may be registered nevertheless, if only the answer was
                lost; so the tools stay, because a record may refer to them.
        """
        expected = await self._write_expected(place, current)
        fresh = self._make_next(current, digest, len(tools), expires=expires, content=token_hex(8))
        lasts = None if expires is None else max(0.001, expires - self.clock())
        raw = join_tools(tools)
        await self._writing.put(place.tools_key(fresh.content), raw, lasts)
        try:
            await self._swap(place, expected, fresh, lasts)
        except Changed:
            await self._drop(place, fresh)
            raise
        if current is not None:
            await self._drop(place, current)
        return fresh

    async def change(
        self, place: Place, current: CatalogRecord | None, write: WriteTools
    ) -> CatalogRecord:
        """Change an external catalog and its record together.

        Raises:
            Changed: the record has changed since it was read.
        """

        def changed(tools: int) -> bytes:
            # Nobody has seen all tools at once, so the digest is none of theirs.
            return _encode(self._make_next(current, token_hex(32), tools, external=True))

        expected = await self._write_expected(place, current)
        fresh = await write(expected, changed)
        if current is not None and not current.external:
            await self._drop(place, current)
        return current if fresh is None and current is not None else _decode(fresh or b"")

    async def delete(self, place: Place, current: CatalogRecord) -> None:
        """Delete the record that was read, and its tools.

        Raises:
            Changed: the record has changed since.
        """
        expected = await self._write_expected(place, current)
        if current.external and self.tables is not None:
            await self.tables.drop(place, expected)
        else:
            await self._swap(place, expected, None, None)
            await self._drop(place, current)

    def _make_next(
        self, current: CatalogRecord | None, digest: str, tools: int, **more: Any
    ) -> CatalogRecord:
        """Return the record that follows the one that was read; the same content is no version."""
        now = self.clock()
        if current is None:
            return CatalogRecord(digest, tools, version=1, created=now, updated=now, **more)
        same = current.digest == digest
        updated = current.updated if same else now
        return CatalogRecord(
            digest, tools, current.version + (not same), current.created, updated, **more
        )

    async def _swap(
        self,
        place: Place,
        expected: bytes | None,
        fresh: CatalogRecord | None,
        lasts_s: float | None,
    ) -> None:
        new = None if fresh is None else _encode(fresh)
        if not await self._writing.swap(place.key, expected, new, lasts_s):
            raise Changed

    async def _write_expected(self, place: Place, current: CatalogRecord | None) -> bytes | None:
        """Return a record that was read as it is stored: another release has other fields in it.

        Raises:
            Changed: it is another one by now.
        """
        stored = await self._reading.get(place.key)
        if _read(stored) != current:
            raise Changed
        return stored

    async def _drop(self, place: Place, record: CatalogRecord) -> None:
        """Try to remove tools that no record refers to any more."""
        with suppress(StoreUnavailable):
            if record.external and self.tables is not None:
                await self.tables.drop(place)
            else:
                await self._writing.delete(place.tools_key(record.content))


def join_tools(tools: Sequence[bytes]) -> bytes:
    """Return a JSON array of tools, which are copied once: 54 MB of 100,000 take .1 s each time."""
    if not tools:
        return b"[]"
    parts = [*tools]
    parts[0] = b"[" + parts[0]
    parts[-1] += b"]"
    return b",".join(parts)


def _read(stored: bytes | None) -> CatalogRecord | None:
    try:
        return None if stored is None else _decode(stored)
    except msgspec.MsgspecError:
        return None


KEPT_S = 7 * 86_400.0
"""Seconds that a list is stored after it was last compiled anywhere."""

MAX_WRITES = 16
"""Maximum number of concurrent writes; further lists are left to other processes."""


class SharedCatalogs:
    """Tool lists in the state store, by tenant and digest."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._writes: set[asyncio.Task[None]] = set()

    def keep(self, tenant: str, name: str, value: bytes) -> None:
        """Write a list in the background; a failure is only counted.

        Args:
            tenant: whose list it is; nobody else can read it.
            name: the digest of the list.
            value: the JSON array of its tools.
        """
        if len(self._writes) < MAX_WRITES and not self._guard.is_open("put"):
            writing = asyncio.create_task(self._write(tenant, name, value))
            self._writes.add(writing)
            writing.add_done_callback(self._writes.discard)

    async def find(self, tenant: str, name: str) -> bytes | None:
        """Return what was kept under a name; None if it is absent or cannot be read."""
        with suppress(StoreUnavailable):
            return await self._guard.within(READ_S).get(make_key(CATALOG, tenant, name))
        return None

    async def _write(self, tenant: str, name: str, value: bytes) -> None:
        with suppress(StoreUnavailable):
            await self._guard.within(WRITE_S).put(make_key(CATALOG, tenant, name), value, KEPT_S)
