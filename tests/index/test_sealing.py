"""Compiled tools from a store: the same catalogs as by compiling, nothing tampered with."""

import hmac
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import ENGINE, TOOLS, crowd, select
from toolscout.index import sealing
from toolscout.index.cache import CatalogCache
from toolscout.index.compile import CompiledTool
from toolscout.index.sealing import build, seal, unseal
from toolscout.index.tool_list import ToolList

SECRET = "a secret of all replicas, long enough"
LIST = ToolList.decode(
    json.dumps([*TOOLS, *crowd(5), {"name": "地図", "examples": ["wo bin ich"]}]).encode()
)
TENANT = CatalogCache().tools("acme")
CATALOG = ENGINE.compiler.compile(LIST, TENANT)
COMPILED = {digest: tool for digest in LIST.digests if (tool := TENANT.get(digest))}


def opened(sealed: bytes, key: str = SECRET) -> dict[bytes, CompiledTool]:
    return unseal(sealed, zip(LIST.digests, LIST.tools, strict=True), ENGINE.embedder, key)


def sealed(tools: Mapping[bytes, CompiledTool] = COMPILED, key: str = SECRET) -> bytes:
    found = seal(tools, key)
    assert found is not None
    return found


def test_a_catalog_of_restored_tools_answers_like_a_compiled_one() -> None:
    other = CatalogCache().tools("acme")
    for digest, tool in opened(sealed()).items():
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


@given(place=st.integers(0, len(sealed()) - 1), bits=st.integers(1, 255))
def test_nothing_is_taken_of_damaged_bytes(place: int, bits: int) -> None:
    damaged = bytearray(sealed())
    damaged[place] ^= bits
    with pytest.raises(ValueError, match="mark"):
        opened(bytes(damaged))


@pytest.mark.parametrize("key", ["", "another secret of all replicas, longer"])
def test_nothing_is_taken_of_another_key(key: str) -> None:
    with pytest.raises(ValueError, match="mark"):
        opened(sealed(), key)


@pytest.mark.parametrize("value", [b"", b"\x00" * 31, b"\x00" * 32, sealed()[:40]])
def test_what_is_too_short_is_refused(value: bytes) -> None:
    with pytest.raises(ValueError, match="mark"):
        opened(value)


@given(st.binary(max_size=200))
def test_marked_bytes_that_are_no_tools_are_refused(body: bytes) -> None:
    marked = hmac.digest(SECRET.encode(), body, "sha256") + body
    with suppress(ValueError, msgspec.MsgspecError):
        assert opened(marked) == {}


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
        {"name_tokens": b"\xff\xff\xff\x7f"},
        {"name_tokens": b"\x01"},
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
    digest, tool = next(iter(COMPILED.items()))
    if "counts" in changes:
        changes = {"counts": msgspec.structs.replace(tool.counts, **changes["counts"])}
    forged = sealed({digest: msgspec.structs.replace(tool, **changes)})
    with pytest.raises((ValueError, msgspec.MsgspecError)):
        opened(forged)


def test_what_a_tool_says_comes_from_the_list_not_from_the_store() -> None:
    digest, tool = next(iter(COMPILED.items()))
    forged = sealed({digest: msgspec.structs.replace(tool, wire=b'{"name":"forged"}')})
    assert opened(forged)[digest].wire == tool.wire


def test_lists_that_take_too_many_bytes_are_not_sealed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "MAX_SEALED_BYTES", 1_000)
    assert seal(COMPILED, SECRET) is None


def test_another_model_or_other_domains_are_another_build(tmp_path: Any) -> None:
    domains = tmp_path / "domains.toml"
    domains.write_text("[signals]\nparcels = 'parcel'\n")
    names = {build("one", None), build("two", None), build("one", str(domains))}
    assert len(names) == 3
    assert build("one", None) in names
