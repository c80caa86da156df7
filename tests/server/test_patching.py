"""A patch of a registered catalog gives what compiling the whole list gives."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.in_process import serving
from tests.index.test_changed import decisions, lists, raw_of
from tests.support import ENGINE, TOOLS, compiled, crowd
from toolscout.contract.catalogs import CatalogPatch
from toolscout.errors import ToolscoutError
from toolscout.index.catalog import Catalog
from toolscout.index.changed import MOST_CHANGED, MOST_CHANGED_BYTES
from toolscout.index.increment import make_catalog
from toolscout.index.tool_list import MAX_TOOLS
from toolscout.server.calls import catalogs as calls
from toolscout.server.compiling import patching
from toolscout.server.compiling.patching import find_change, patch_list

QUANTISED_ABOVE = "toolscout.index.vector_index.QUANTISED_ABOVE"


def patch_of(**fields: Any) -> CatalogPatch:
    return msgspec.json.decode(raw_of(fields), type=CatalogPatch)


def patched(base: Catalog, patch: CatalogPatch) -> Catalog | None:
    change = find_change(base, patch, MAX_TOOLS)
    return None if change is None else make_catalog(change, ENGINE.compiler)


def anew(base: Catalog, patch: CatalogPatch) -> Catalog:
    """Return the catalog of a patched list, all of it read and compiled."""
    raw = patch_list(Mock(), b"[" + b",".join(base.wires) + b"]", patch, MAX_TOOLS)
    return compiled(msgspec.json.decode(raw))


def vectors(catalog: Catalog) -> Sequence[np.ndarray[Any, Any]]:
    """Return what is kept of the vectors: themselves, or bytes with scales."""
    assert catalog.vectors is not None
    return catalog.vectors.__reduce__()[1]


@pytest.mark.parametrize("quantised_above", [4, 1_000])
@given(before=lists(min_size=8, max_size=20), data=st.data())
def test_several_in_a_row_make_the_same_catalogs_to_the_last_bit(
    quantised_above: int, before: list[dict[str, Any]], data: st.DataObject
):
    with pytest.MonkeyPatch.context() as patching_limits:
        patching_limits.setattr(QUANTISED_ABOVE, quantised_above)
        made = compiled(before)
        for _ in range(3):
            present = st.sampled_from(made.names)
            status = st.sampled_from(["available", "unavailable"])
            patch = patch_of(
                upsert=data.draw(lists(max_size=3)),
                remove=data.draw(st.lists(present, max_size=1)),
                status=data.draw(st.dictionaries(st.just(made.names[-1]), status)),
            )
            if made.names[-1] in (patch.remove or ()):
                continue
            whole = anew(made, patch)
            again = patched(made, patch)
            assert again is not None
            made = again
            assert (made.digest, made.digests) == (whole.digest, whole.digests)
            assert (made.names, made.wires) == (whole.names, whole.wires)
            assert (made.nbytes, made.rows) == (whole.nbytes, whole.rows)
            assert (made.lines.longest, made.lines.nbytes) == (
                whole.lines.longest,
                whole.lines.nbytes,
            )
            for ours, theirs in zip(vectors(made), vectors(whole), strict=True):
                assert np.array_equal(ours, theirs)
            assert decisions(made) == decisions(whole)


def test_vectors_are_quantised_as_soon_as_there_are_many(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(QUANTISED_ABOVE, len(TOOLS))
    patch = patch_of(upsert=crowd(1))
    base = compiled(TOOLS)
    made = patched(base, patch)
    assert made is not None
    assert len(vectors(base)) == 1
    for ours, theirs in zip(vectors(made), vectors(anew(base, patch)), strict=True):
        assert np.array_equal(ours, theirs)


def test_vectors_that_become_exact_again_are_made_anew(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(QUANTISED_ABOVE, len(TOOLS) - 1)
    assert patched(compiled(TOOLS), patch_of(remove=["read_file"])) is None


@pytest.mark.parametrize(
    "patch",
    [
        patch_of(upsert=crowd(MOST_CHANGED + 1)),
        patch_of(upsert=[{"name": "long", "description": "x" * MOST_CHANGED_BYTES}]),
        patch_of(remove=[f"tool{number}" for number in range(MOST_CHANGED + 1)]),
        patch_of(upsert=[{"name": "with", "examples": ["a request that it serves"]}]),
        patch_of(remove=[tool["name"] for tool in TOOLS]),
    ],
)
def test_a_patch_of_much_is_left_to_who_compiles_the_whole_list(patch: CatalogPatch):
    assert patched(compiled(TOOLS), patch) is None


def test_of_a_large_catalog_more_may_change(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(patching, "CHANGED_SHARE", 2)
    base = compiled(crowd(3 * MOST_CHANGED))
    patch = patch_of(upsert=crowd(MOST_CHANGED + 1, "new"))
    made = patched(base, patch)
    assert made is not None
    assert made.digest == anew(base, patch).digest


def test_a_catalog_whose_tools_have_examples_is_compiled_as_a_whole():
    asked = {"name": "asked", "description": "x", "examples": ["a request that it serves"]}
    assert patched(compiled([*TOOLS, asked]), patch_of(remove=["read_file"])) is None


@pytest.mark.parametrize(
    "patch",
    [
        patch_of(status={"nobody": "available"}),
        patch_of(remove=["read_file"], status={"read_file": "unavailable"}),
        patch_of(upsert=[{"description": "nameless"}]),
        patch_of(upsert=[{"name": "a", "definition": "text"}]),
        patch_of(upsert=[{"name": "a"}]),
    ],
)
def test_a_patch_at_fault_is_refused_in_the_same_words(patch: CatalogPatch):
    base = compiled(TOOLS)
    raw = b"[" + b",".join(base.wires) + b"]"
    most = len(TOOLS)
    with pytest.raises(ToolscoutError) as ours:
        find_change(base, patch, most)
    with pytest.raises(ToolscoutError) as theirs:
        patch_list(Mock(), raw, patch, most)
    assert type(ours.value) is type(theirs.value)
    assert (ours.value.detail, ours.value.errors) == (theirs.value.detail, theirs.value.errors)


def test_a_registered_list_is_not_read_again_to_change_a_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(calls, "patch_list", None)  # it would be asked of the worker
    with serving(tmp_path) as server:
        url = "/v1/catalogs/large"
        server.client.put(url, json={"tools": TOOLS})
        for number in range(3):
            tool = {"name": f"wheel_{number}", "description": "Turn the wheel of the mill"}
            changed = server.client.patch(url, json={"upsert": [tool], "remove": ["wheel_0"]})
            assert changed.json()["tools"] == len(TOOLS) + number
        found = server.names("turn the wheel", catalog="large")
        assert sorted(found[:2]) == ["wheel_1", "wheel_2"]
