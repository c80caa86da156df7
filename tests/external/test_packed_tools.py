"""Compiled tools from a database: the same catalogs as by compiling, nothing tampered with."""

import json
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import ENGINE, TOOLS, crowd, select
from toolscout.external.packed_tools import build, pack_tool, unpack_tools
from toolscout.index.cache import CatalogCache
from toolscout.index.compiled_tool import CompiledTool
from toolscout.index.tool_list import ToolList

LIST = ToolList.decode(
    json.dumps([*TOOLS, *crowd(5), {"name": "地図", "examples": ["wo bin ich"]}]).encode()
)
TENANT = CatalogCache().tools("acme")
CATALOG = ENGINE.compiler.compile(LIST, TENANT)
COMPILED = [tool for digest in LIST.digests if (tool := TENANT.get(digest))]


def taken(packed: Iterable[bytes]) -> list[CompiledTool]:
    return unpack_tools(packed, [tool.wire for tool in COMPILED], ENGINE.embedder)


def test_a_catalog_of_restored_tools_answers_like_a_compiled_one() -> None:
    other = CatalogCache().tools("acme")
    for digest, tool in zip(LIST.digests, taken(map(pack_tool, COMPILED)), strict=True):
        other.put(digest, tool)
    restored = ENGINE.compiler.compile(LIST, other)
    for pattern in ("read a file", "spin gadget 3", "地図", "where am i", "fil|gadget_[12]"):
        ours, theirs = (select(catalog, pattern) for catalog in (CATALOG, restored))
        assert ours.names == theirs.names
        assert ours.ranking.scores.tolist() == theirs.ranking.scores.tolist()
    rows = range(len(CATALOG))
    assert [CATALOG.traits(row) for row in rows] == [restored.traits(row) for row in rows]
    assert CATALOG.wires == restored.wires
    assert CATALOG.examples == restored.examples


@pytest.mark.parametrize(
    "changes",
    [
        {"lines": (b"one\ntwo\n", b"name\n")},
        {"lines": (b"no end", b"name\n")},
        {"tokens": -1},
        {"tokens": 1 << 40},
        {"vector": None},
        {"vector": b"\x00" * 8},
        {"vector": b"\xff" * 4 * ENGINE.embedder.dimension},
        {"vector": b"\x00\x00\x80\x40" * ENGINE.embedder.dimension},
        {"spellings": ((),)},
        {"examples": (b"short",)},
        {"clues": b"\xc1"},
        {"counts": {"counts": b"\x00" * 8}},
        {"counts": {"terms": ("",), "counts": b"\x00" * 8}},
        {"counts": {"terms": ("a", "a"), "counts": b"\x00" * 16}},
        {"counts": {"lengths": (1, -1, 1)}},
    ],
)
def test_parts_of_another_length_or_range_are_refused(changes: dict[str, Any]) -> None:
    tool, *others = COMPILED
    if "counts" in changes:
        changes = {"counts": msgspec.structs.replace(tool.counts, **changes["counts"])}
    forged = [msgspec.structs.replace(tool, **changes), *others]
    with pytest.raises((ValueError, msgspec.MsgspecError)):
        taken(map(pack_tool, forged))


@given(st.binary(max_size=200))
def test_bytes_that_are_no_tool_are_refused(packed: bytes) -> None:
    with pytest.raises((ValueError, msgspec.MsgspecError)):
        taken([packed] * len(COMPILED))


def test_what_a_tool_says_is_not_packed() -> None:
    tool = COMPILED[0]
    forged = msgspec.structs.replace(tool, wire=b'{"name":"forged"}')
    assert pack_tool(forged) == pack_tool(tool)


def test_another_model_or_other_domains_are_another_build(tmp_path: Any) -> None:
    domains = tmp_path / "domains.toml"
    domains.write_text("[signals]\nparcels = 'parcel'\n")
    names = {build("one", None), build("two", None), build("one", str(domains))}
    assert len(names) == 3
    assert build("one", None) in names
