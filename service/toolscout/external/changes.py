"""The rows that a change of a catalog writes, compiled in the worker."""

from collections.abc import Sequence
from itertools import chain
from typing import Protocol

from toolscout.common.lru import Lru
from toolscout.contract.catalogs import CatalogPatch
from toolscout.contract.fields import is_absent
from toolscout.engine import Engine
from toolscout.external.packed_tools import pack_tool
from toolscout.external.tables import ANY, IN_NAME, Row, invalid, without_nul
from toolscout.index.compile import CompiledTool, Compiler
from toolscout.index.tool_list import ToolList
from toolscout.state.registry import patched
from toolscout.tools.documents import decode_tool
from toolscout.tools.filters import labels
from toolscout.tools.traits import infer, unpack_clues

MAX_WRITTEN = 1_000
"""Tools of one change: some two seconds, most of it for the index of vectors."""

MAX_NAME_BYTES = 2_000
"""Bytes of a name: what an index of PostgreSQL takes."""


class Worker(Protocol):
    """The process that compiles."""

    engine: Engine


def compiled(compiler: Compiler, tools: ToolList) -> dict[str, CompiledTool]:
    """Return tools embedded, by their names; one whose text cannot be compiled is left out."""
    words, embedded = compiler.lexical(tools, Lru(0))
    compiler.embed(words, embedded)
    return dict(zip(words.names, embedded, strict=True))


def rows_of(
    worker: Worker, change: CatalogPatch, present: Sequence[bytes], build: str
) -> list[Row]:
    """Return the rows of the tools that a change adds, and of those whose status it sets.

    Raises:
        ToolUnknown, InvalidRequest: the change is at fault.
    """
    upsert = b"[]" if is_absent(change.upsert) else change.upsert
    sent = ToolList.decode(upsert, MAX_WRITTEN).checked().tools
    by_name = patched((*map(decode_tool, present), *sent), change)
    tools, compiler = ToolList.of(by_name.values()), worker.engine.compiler
    digests = {tool.name: digest for tool, digest in zip(tools.tools, tools.digests, strict=True)}
    rows = []
    for name, tool in compiled(compiler, tools).items():
        traits = infer(by_name[name], unpack_clues(tool.clues), compiler.taxonomy)
        in_name = [IN_NAME + term for term in dict.fromkeys(tool.name_terms)]
        row = Row(
            name,
            digests[name],
            build,
            tool.wire,
            pack_tool(tool),
            memoryview(tool.vector or b"").cast("f").tolist(),
            [ANY, *tool.counts.terms, *in_name],
            _forms(tool),
            labels(by_name[name], traits),
        )
        texts = [name, *row.terms, *row.forms, *row.labels]
        if len(name.encode()) > MAX_NAME_BYTES or len(without_nul(texts)) < len(texts):
            raise invalid("upsert", f"{name[:40]!r}: a name too long, or a NUL character in a tool")
        rows.append(row)
    return rows


def _forms(tool: CompiledTool) -> list[str]:
    """Return what a tool can be called by, as far as an index of PostgreSQL takes it."""
    forms = dict.fromkeys(chain.from_iterable(tool.spellings))
    return [form for form in forms if len(form.encode()) <= MAX_NAME_BYTES]
