"""Answers about tools that are not compiled yet, by the words in names and descriptions.

They are made in the worker, and sent with as much of the list as answers tell; where the worker is
late, in this process.
"""

import time
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolscout.contract.tools import Tool
from toolscout.engine import Engine
from toolscout.index.cold import ColdCatalog
from toolscout.index.compile import Compiler
from toolscout.index.tool_list import ToolList
from toolscout.ranking.ask import Ask, Decision
from toolscout.server.compiling.worker import SentList, Worker, read_tools
from toolscout.tools.documents import decode_tool
from toolscout.tools.filters import tenant_of


class Scanned(msgspec.Struct, frozen=True):
    """Decisions about a list, and as much of it as answers tell."""

    decisions: list[Decision]
    seconds: list[float]
    """What each took."""
    digest: str
    tools: dict[int, Tool]
    """The tools that were selected, by row."""
    tokens: NDArray[np.int64]

    def catalog(self, compiler: Compiler, tenant: str) -> ColdCatalog:
        """Return a tenant's list, of which only selected tools can be looked at."""
        tools: list[Any] = [None] * len(self.tokens)
        for row, tool in self.tools.items():
            tools[row] = tool
        listed = ToolList(tools, (), self.digest, (), 0)
        overlay = compiler.overlay.of(tenant)
        return ColdCatalog(listed, compiler.taxonomy, self.tokens, overlay)


def scan(worker: Worker, sent: SentList, asks: Sequence[Ask]) -> Scanned:
    """Answer questions by the words in names and descriptions."""
    return _scan(worker.engine, sent, worker.read(sent), asks)


def scan_here(
    engine: Engine, sent: SentList, most: int, asks: Sequence[Ask]
) -> tuple[ToolList, Scanned]:
    """Do the same without a worker; `most` tools may be in the list, which is returned, too.

    Raises:
        InvalidRequest: the tools are at fault.
    """
    tools = read_tools(sent, most, engine.compiler)
    return tools, _scan(engine, sent, tools, asks)


def _scan(engine: Engine, sent: SentList, tools: ToolList, asks: Sequence[Ask]) -> Scanned:
    compiler = engine.compiler
    overlay = compiler.overlay.of(tenant_of(sent.space))
    catalog = ColdCatalog(tools, compiler.taxonomy, overlay=overlay)
    decisions = []
    seconds = []
    selected = set[int]()
    for ask in asks:
        began = time.perf_counter()
        decision = engine.decide(catalog, ask)
        # The list and the model are there already, where this goes.
        ranking = msgspec.structs.replace(decision.ranking, source=None, embedder=None)
        decisions.append(msgspec.structs.replace(decision, ranking=ranking))
        seconds.append(time.perf_counter() - began)
        selected.update(decision.rows)
    # The class of a tool as it was posted is made at run time, and cannot be sent.
    shown = {row: decode_tool(msgspec.json.encode(tools.tools[row])) for row in selected}
    return Scanned(decisions, seconds, tools.digest, shown, catalog.tokens)


def add_source(decision: Decision, source: ColdCatalog, note: str | None) -> Decision:
    """Return a decision with its list, once both have arrived, and a note if there is one."""
    ranking = msgspec.structs.replace(
        decision.ranking, source=source, note=note or decision.ranking.note
    )
    return msgspec.structs.replace(decision, ranking=ranking)
