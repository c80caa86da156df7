"""Read catalogs for the MCP facade, within the bounds of one answer."""

from collections.abc import Awaitable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any

from msgspec import UnsetType

from toolscout.contract.bounds import MAX_MCP_SHOWN, MAX_NAME_CHARS
from toolscout.contract.fields import Detail
from toolscout.contract.tools import ToolDetail
from toolscout.index import pages
from toolscout.index.catalog import Catalog
from toolscout.index.details import details
from toolscout.ranking.resolve import Resolver
from toolscout.server.calls import lookup
from toolscout.server.calls.catalog_reads import AT_ONCE
from toolscout.server.compiling.work_threads import TENANT, beside
from toolscout.server.http.refusals import REFUSALS, refusal
from toolscout.server.observe.trace import Trace
from toolscout.server.service import Service

TRACE: ContextVar[Trace] = ContextVar("trace")
"""The trace of the message that the running task answers."""


async def catalog_names(service: Service) -> list[str]:
    """Return the names of the tenant's registered catalogs, sorted.

    Raises:
        StoreUnavailable: the store could not be read.
    """
    return await service.registry.names(TENANT.get())


async def find_catalog(service: Service, name: str) -> Catalog:
    """Return the catalog of a name or digest.

    Raises:
        CatalogUnknown: there is none.
        StoreUnavailable: the store could not be read.
    """
    return await lookup.find(service, TRACE.get(), name)


async def named_catalog(service: Service, name: str | UnsetType | None) -> Catalog:
    """Return the named catalog, or the only one.

    Raises:
        CatalogUnknown, StoreUnavailable: as for `find_catalog`.
        ValueError: none is named, and there is not exactly one.
    """
    if not isinstance(name, str):
        names = await catalog_names(service)
        if len(names) != 1:
            listed = f"one of {', '.join(names)}" if names else "none is registered"
            raise ValueError(f"name a catalog: {listed}")
        name = names[0]
    return await find_catalog(service, name)


def lines_of(catalog: Catalog, rows: Iterable[int] | None = None) -> list[str]:
    """Return the tools of some rows, or all, in a line each."""
    return [f"{tool}: {summary}" for tool, summary in pages.index(catalog, rows)]


async def show(catalog: Catalog, rows: Sequence[int], detail: Detail) -> list[ToolDetail]:
    """Return the tools of some rows at one level of detail.

    Raises:
        ValueError: they exceed the bounds of one answer.
    """
    if detail == "full":
        check_size(catalog, rows)
    return await beside(len(rows), AT_ONCE, details, catalog, rows, detail)


def check_size(catalog: Catalog, rows: Iterable[int]) -> None:
    """Check the size of tools that the SDK would copy and check repeatedly on the event loop.

    Raises:
        ValueError: they exceed the bounds of one answer.
    """
    nbytes = sum(len(catalog.wires[row]) for row in rows)
    if nbytes > MAX_MCP_SHOWN:
        raise ValueError(
            f"these tools have {nbytes} bytes, at most {MAX_MCP_SHOWN} are shown at once: "
            "ask for fewer, or for detail brief"
        )


def check_name(name: str) -> None:
    """Check the length of a name, as over HTTP.

    Raises:
        ValueError: the name is too long.
    """
    if len(name) > MAX_NAME_CHARS:
        raise ValueError(f"a name has at most {MAX_NAME_CHARS} characters, got {len(name)}")


async def row_of(catalog: Catalog, name: str) -> int:
    """Return the row of a tool by its name in any spelling.

    Raises:
        ValueError: there is none, or there are several; the message has similar names.
    """
    check_name(name)
    found = await beside(len(catalog), AT_ONCE, Resolver(catalog).resolve, name)
    if found.name is not None:
        return catalog.rows[found.name]
    near = found.ambiguous or found.suggestions or []
    raise ValueError(f"no tool of that name{'; near: ' + ', '.join(near) if near else ''}")


async def readable(answer: Awaitable[Any]) -> Any:
    """Await an answer; raise expected errors as a ValueError with their text."""
    try:
        return await answer
    except REFUSALS as error:
        raise ValueError(refusal(error).detail) from None
