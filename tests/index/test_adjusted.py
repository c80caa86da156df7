"""A list that changes in place is, with an overlay too, the catalog of the whole list."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.index.test_changed import change_of, compiled, decisions, lists, raw_of
from tests.support import ENGINE
from toolscout.index.cache import CatalogCache
from toolscout.index.catalog import Catalog
from toolscout.index.increment import make_catalog
from toolscout.index.tool_list import ToolList
from toolscout.index.transfer import pack, unpack
from toolscout.tools.overlay import Overlay, parse_overlay

ROWS = st.lists(
    st.sampled_from(
        [
            '[[tool]]\nname = "create_*"\nsearch_text = "weather report"\n',
            '[[tool]]\nname = "*_user"\nrisk = "destructive"\nnamespace = "people"\n',
            '[[tool]]\nname = "list_*"\nhide = true\n',
            '[[tool]]\nname = ["*_file", "delete_*"]\npin = true\n',
        ]
    ),
    min_size=1,
    unique=True,
).map(lambda rows: parse_overlay("".join(rows), "rows"))


def compiled_with(overlay: Overlay, tools: list[dict[str, Any]]) -> Catalog:
    compiler = ENGINE.compiler
    listed = ToolList.decode(raw_of(tools))
    words, parts = compiler.lexical(listed, CatalogCache().tools("acme"), overlay.of("acme"))
    return compiler.embed(words, parts)


@given(ROWS, lists(min_size=6, max_size=20), lists(max_size=3), st.data())
def test_changed_rows_of_a_list_are_adjusted_as_the_whole_list_is(
    overlay: Overlay, before: list[dict[str, Any]], new: list[dict[str, Any]], data: st.DataObject
):
    gone = data.draw(st.lists(st.sampled_from(before), max_size=2))
    names = {tool["name"] for tool in new}
    after = [*new, *(one for one in before if one not in gone and one["name"] not in names)]
    change = change_of(before, raw_of(after))
    assume(change is not None)
    assert change is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ENGINE.compiler, "overlay", overlay)
        assert make_catalog(change, ENGINE.compiler, "acme") is None  # its base has no rows
        adjusted = change._replace(base=compiled_with(overlay, before))
        made = make_catalog(adjusted, ENGINE.compiler, "acme")
    assert made is not None
    whole = compiled_with(overlay, after)
    assert made.adjusted == whole.adjusted
    assert made.nbytes == whole.nbytes
    assert decisions(made) == decisions(whole)
    assert whole.digest == compiled(after).digest


@given(ROWS, lists(min_size=2, max_size=12))
def test_an_adjusted_list_is_the_same_in_another_process(
    overlay: Overlay, tools: list[dict[str, Any]]
):
    catalog = compiled_with(overlay, tools)
    there = unpack(pack(catalog), ENGINE.compiler)
    assert there.adjusted == catalog.adjusted
    assert decisions(there) == decisions(catalog)
    rows = range(len(catalog))
    assert [there.traits(row) for row in rows] == [catalog.traits(row) for row in rows]
