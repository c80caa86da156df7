"""Changes of a registered catalog: what is left of its tools, and what is new.

Where the catalog is compiled here, the names that a change gives tell all that it concerns: neither
is the list read, nor are its other tools compiled. Else the worker reads all of it.
"""

import msgspec

from toolscout.contract.catalogs import CatalogPatch
from toolscout.contract.fields import is_absent
from toolscout.contract.tools import Tool
from toolscout.errors import FieldError, TooManyTools
from toolscout.index.catalog import Catalog
from toolscout.index.changed import MOST_CHANGED, MOST_CHANGED_BYTES
from toolscout.index.increment import Change, make_change
from toolscout.index.tool_list import RAISE, ToolList
from toolscout.server.compiling.worker import Worker
from toolscout.state.registry import patch_tools

CHANGED_SHARE = 200
"""Of so many tools one may be changed without compiling the others; of a few tools `MOST_CHANGED`.
A change of 500 in 100,000 takes some .3 s more than one of a single tool, the whole list 20 s."""

_encode = msgspec.json.Encoder().encode


def find_change(base: Catalog, patch: CatalogPatch, most: int) -> Change | None:
    """Return how a catalog changes; None if it should be compiled anew.

    Args:
        base: the catalog as it is.
        patch: what is asked for.
        most: tools that a list may have.

    Raises:
        ToolscoutError: the patch is at fault.
    """
    room = max(MOST_CHANGED, len(base) // CHANGED_SHARE)
    nbytes = 0 if is_absent(patch.upsert) else memoryview(patch.upsert).nbytes
    named = {*(patch.remove or ()), *(patch.status or ())}
    # How examples count depends on all of them.
    if len(named) > room or nbytes > room * MOST_CHANGED_BYTES // MOST_CHANGED or base.examples:
        return None
    sent = _read_upsert(patch, most)
    named.update(tool.name for tool in sent)
    gone = frozenset(named & base.rows.keys())
    former = [base.tool(base.rows[name]) for name in gone]
    new = ToolList.of(patch_tools((*former, *sent), patch).values(), most)
    size = len(base) - len(gone) + len(new.tools)
    _check_size(size, most)
    if not size or len(named) > room:
        return None
    return make_change(base, gone, new)


def patch_list(_: Worker, raw: bytes, patch: CatalogPatch, most: int) -> bytes:
    """Return the JSON array of the tools after a change, each name once.

    Raises:
        ToolscoutError: the patch is at fault.
    """
    present = ToolList.decode(raw, most).tools
    by_name = patch_tools((*present, *_read_upsert(patch, most)), patch)
    _check_size(len(by_name), most)
    return b"[" + b",".join(map(_encode, by_name.values())) + b"]"


def _read_upsert(patch: CatalogPatch, most: int) -> tuple[Tool, ...]:
    upsert = b"[]" if is_absent(patch.upsert) else patch.upsert
    return tuple(ToolList.decode(upsert, most, "upsert").checked("upsert").tools)


def _check_size(size: int, most: int) -> None:
    if size > most:
        message = f"makes it {size} tools; the limit is {most}: {RAISE}"
        raise TooManyTools(f"upsert {message}", (FieldError("upsert", message),))
