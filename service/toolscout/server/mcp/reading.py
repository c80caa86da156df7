"""What the MCP facade reads of catalogs, within the bounds of one answer."""

from collections.abc import Awaitable, Iterable, Sequence
from typing import Any

from toolscout.contract import Detail, ToolDetail
from toolscout.contract.bounds import MAX_MCP_SHOWN, MAX_NAME_CHARS
from toolscout.index import pages
from toolscout.index.catalog import Catalog
from toolscout.index.details import details
from toolscout.ranking.resolve import Resolver
from toolscout.server.calls.catalog_reads import AT_ONCE
from toolscout.server.compiling.work_threads import beside
from toolscout.server.http.refusals import REFUSALS, refusal


def lines_of(catalog: Catalog, rows: Iterable[int] | None = None) -> list[str]:
    """The tools of these rows, or all, in a line each."""
    return [f"{tool}: {summary}" for tool, summary in pages.index(catalog, rows)]


async def show(catalog: Catalog, rows: Sequence[int], detail: Detail) -> list[ToolDetail]:
    """The tools of these rows at one level of detail.

    Raises:
        ValueError: whole, they are more than one answer may show.
    """
    if detail == "full":
        check_size(catalog, rows)
    return await beside(len(rows), AT_ONCE, details, catalog, rows, detail)


def check_size(catalog: Catalog, rows: Iterable[int]) -> None:
    """Check what the SDK would copy and check several times over, on the event loop.

    Raises:
        ValueError: these tools are more than one answer may show.
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
        ValueError: no tool has a name as long.
    """
    if len(name) > MAX_NAME_CHARS:
        raise ValueError(f"a name has at most {MAX_NAME_CHARS} characters, got {len(name)}")


async def row_of(catalog: Catalog, name: str) -> int:
    """The row of a tool by its name in any spelling.

    Raises:
        ValueError: there is none, or there are several; says which are near.
    """
    check_name(name)
    found = await beside(len(catalog), AT_ONCE, Resolver(catalog).resolve, name)
    if found.name is not None:
        return catalog.rows[found.name]
    near = found.ambiguous or found.suggestions or []
    raise ValueError(f"no tool of that name{'; near: ' + ', '.join(near) if near else ''}")


async def readable(answer: Awaitable[Any]) -> Any:
    """The answer; of our own errors only what is meant for callers."""
    try:
        return await answer
    except REFUSALS as error:
        raise ValueError(refusal(error).detail) from None
