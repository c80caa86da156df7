"""A catalog of which a few tools are replaced, added or removed: only those are compiled.

It is to the last bit the catalog that compiling the whole list makes.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import compress
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from toolscout.contract.tools import Tool
from toolscout.index.adjusted import Adjusted
from toolscout.index.catalog import Catalog, Embedded
from toolscout.index.compile import Compiler
from toolscout.index.compiled_tool import CompiledTool, compile_tool, read_to_compile
from toolscout.index.tool_list import ToolList, hash_catalog

T = TypeVar("T")


class Change(NamedTuple):
    """How a list differs from a catalog."""

    base: Catalog
    digest: str
    gone: frozenset[str]
    """Names of the catalog that are left out, or whose tools are replaced."""
    tools: ToolList
    """Those that are new."""


def make_change(base: Catalog, gone: frozenset[str], tools: ToolList) -> Change:
    """Return a change with the digest of the list that it leads to."""
    stay = compress(base.list_digests(), [name not in gone for name in base.names])
    return Change(base, hash_catalog([*stay, *tools.digests]), gone, tools)


class _Rows:
    """Where the tools of a changed catalog stand."""

    def __init__(self, names: Sequence[str], gone: Iterable[str], new: Iterable[str]) -> None:
        """Take the names of the base, and those that are gone and new, all in order."""
        self.gone = [bisect_left(names, name) for name in gone]
        self.before = [bisect_left(names, name) for name in new]
        """The row of the base before which each new tool stands."""
        places = enumerate(self.before)
        self.new = [at + number - bisect_left(self.gone, at) for number, at in places]
        stay = np.delete(np.arange(len(names)), self.gone)
        self.moved: NDArray[np.int32] = np.full(len(names), -1, np.int32)
        """The new row of each tool of the base, -1 for one that is gone."""
        self.moved[stay] = np.delete(np.arange(len(stay) + len(self.new)), self.new)

    def merge(self, parts: Iterable[T], new: Iterable[T]) -> list[T]:
        """Return something of each tool in the new order."""
        merged = [*parts]
        for row in reversed(self.gone):
            del merged[row]
        for row, part in zip(self.new, new, strict=True):
            merged.insert(row, part)
        return merged

    def move_adjusted(self, adjusted: Adjusted, new: Sequence[CompiledTool]) -> Adjusted:
        """Return what an overlay makes of the tools, in the new order."""
        moved = [(int(self.moved[row]), tool) for row, tool in adjusted.tools.items()]
        added = [(row, tool.adjusted) for row, tool in zip(self.new, new, strict=True)]
        tools = {row: tool for row, tool in (*moved, *added) if row >= 0 and tool is not None}
        return Adjusted.of(adjusted.overlay, dict(sorted(tools.items())))


def make_catalog(change: Change, compiler: Compiler, tenant: str = "") -> Catalog | None:
    """Return the catalog of a changed list; None if a new tool has examples.

    None, too, where all vectors have to be made anew, because they are kept in another way at its
    size, or all tools, because the overlay has changed.

    Raises:
        Exception: a new tool cannot be compiled.
    """
    base = change.base
    overlay = compiler.overlay.of(tenant)
    if base.adjusted.overlay != overlay.digest:
        return None

    def compile_one(tool: Tool, place: int) -> CompiledTool:
        row = overlay.find(tool.name)
        read = read_to_compile(tool, place, compiler.taxonomy, row)
        return compile_tool(read, compiler.taxonomy)

    compiled = {
        tool.name: compile_one(tool, place)
        for tool, place in zip(change.tools.tools, change.tools.places, strict=True)
    }
    removed = [base.rows[name] for name in sorted(change.gone)]
    former = {base.names[row]: compile_one(base.tool(row), row) for row in removed}
    new = [*compiled.values()]
    embedded = compiler.vectors(new)
    if base.vectors is None or embedded is None or embedded.examples:
        return None
    rows = _Rows(base.names, former, compiled)
    vectors = base.vectors.with_changes(rows.moved, rows.new, embedded.vectors.rows)
    if vectors is None:
        return None
    named, formerly_named = (
        {name: tool.spellings for name, tool in some.items()} for some in (compiled, former)
    )
    spellings = base.spellings
    if named != formerly_named:
        spelled = dict(zip(rows.new, named.values(), strict=True))
        spellings = spellings.with_changes(rows.moved.tolist(), spelled)
    available = base.facets.available
    is_available = [True] * len(base) if available is None else available.tolist()
    catalog = compiler.catalog(
        change.digest,
        b"".join(rows.merge(base.list_digests(), change.tools.digests)),
        tuple(rows.merge(base.names, compiled)),
        base.postings.with_changes(
            rows.moved,
            {row: tool.counts for row, tool in zip(rows.new, new, strict=True)},
            [tool.counts for tool in former.values()],
        ),
        spellings,
        base.lines.with_changes(rows.gone, rows.before, [tool.lines for tool in new]),
        np.array(rows.merge(base.tokens.tolist(), [tool.tokens for tool in new]), np.int64),
        rows.merge(base.facets.clues, [tool.clues for tool in new]),
        np.array(rows.merge(is_available, [tool.available for tool in new]), np.bool_),
        tuple(rows.merge(base.wires, [tool.wire for tool in new])),
        rows.merge(base.prerequisites.needs, [tool.needs for tool in new]),
        adjusted=rows.move_adjusted(base.adjusted, new),
    )
    return catalog.with_vectors(Embedded(vectors, ()))
