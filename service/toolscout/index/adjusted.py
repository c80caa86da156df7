"""What an operator's overlay makes of the tools of one list (see `tools/overlay.py`)."""

from collections.abc import Mapping, Sequence

import msgspec

from toolscout.contract.tools import Tool
from toolscout.text.domains import Taxonomy
from toolscout.tools.overlay import Adjustment, TenantOverlay

ADJUSTED_BYTES = 400
"""About what Python takes beside the texts of an adjusted tool."""

_encode = msgspec.json.Encoder().encode


class AdjustedTool(msgspec.Struct, frozen=True, gc=False):
    """What an operator's overlay makes of a tool."""

    wire: bytes
    """The tool as it is filtered, in JSON."""
    patterns: tuple[str, ...]
    """The names and patterns of rows that fit it."""
    numbers: tuple[int, ...]
    """Which rows of the file these are, from 1 on."""
    is_pinned: bool
    is_hidden: bool
    search_text: str


class Adjusted(msgspec.Struct, frozen=True):
    """What an operator's overlay makes of the tools of a catalog."""

    overlay: str = ""
    """The digest of the rows that hold for the tenant; empty without any."""
    tools: Mapping[int, AdjustedTool] = {}
    """The tools that rows are for, by row of the catalog."""

    pinned: tuple[int, ...] = ()
    """Those that are always kept."""

    @classmethod
    def of(cls, overlay: str, tools: Mapping[int, AdjustedTool]) -> "Adjusted":
        """Return the same with the pins told apart."""
        pinned = tuple(row for row, tool in tools.items() if tool.is_pinned)
        return cls(overlay, tools, pinned)

    @property
    def nbytes(self) -> int:
        """Estimated bytes."""
        return sum(len(tool.wire) + ADJUSTED_BYTES for tool in self.tools.values())

    def list_wires(self, wires: tuple[bytes, ...]) -> tuple[bytes, ...]:
        """Return each tool as it is filtered, in JSON; `wires` are the tools as they were sent."""
        if not self.tools:
            return wires
        ranked = [*wires]
        for row, tool in self.tools.items():
            ranked[row] = tool.wire
        return tuple(ranked)


UNADJUSTED = Adjusted()


def keep_adjusted(ranked: Tool, adjustment: Adjustment) -> AdjustedTool:
    """Return what is kept of an adjusted tool."""
    filtered = msgspec.structs.replace(ranked, examples=None)  # no filter looks at them
    row = adjustment.row
    return AdjustedTool(
        wire=_encode(filtered),
        patterns=adjustment.written,
        numbers=adjustment.numbers,
        is_pinned=row.pin,
        is_hidden=row.hide,
        search_text=row.search_text,
    )


def adjust_tools(
    tools: Sequence[Tool | None], overlay: TenantOverlay, taxonomy: Taxonomy
) -> tuple[Sequence[Tool | None], Adjusted]:
    """Return tools as they are ranked and filtered; those that are None stay so."""
    if not overlay.digest:
        return tools, UNADJUSTED
    ranked = [*tools]
    kept = dict[int, AdjustedTool]()
    for row, tool in enumerate(tools):
        adjustment = None if tool is None else overlay.find(tool.name)
        if tool is not None and adjustment is not None:
            adjusted = adjustment.adjust(tool, taxonomy)
            ranked[row] = adjusted
            kept[row] = keep_adjusted(adjusted, adjustment)
    return ranked, Adjusted.of(overlay.digest, kept)
