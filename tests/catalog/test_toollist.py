"""Posted tool lists: decoded, de-duplicated, named by their content."""

import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalogues import catalogues, distinct_catalogues
from toolscout.catalog.digest import tool_digest
from toolscout.catalog.toollist import ToolList
from toolscout.contract import Tool
from toolscout.errors import InvalidJson, InvalidRequest, TooManyTools


def decode(tools: object, **limits: int) -> ToolList:
    return ToolList.decode(msgspec.json.encode(tools), **limits)


@given(catalogues())
def test_distinct_names_in_order(sent):
    found = decode(sent)
    names = [tool.name for tool in found.tools]
    assert names == sorted({tool["name"] for tool in sent})
    assert found.offered == len(sent)
    assert len(found.digests) == len(found.tools) == len(found.places)


@given(distinct_catalogues(), st.randoms(use_true_random=False))
def test_order_does_not_change_the_digest(sent, chance: random.Random):
    shuffled = list(sent)
    chance.shuffle(shuffled)
    assert decode(shuffled).digest == decode(sent).digest == decode(sent + shuffled).digest


@given(distinct_catalogues())
def test_null_fields_are_as_absent(sent):
    optional = [name for name in Tool.__struct_fields__ if name != "name"]
    nulled = [dict.fromkeys(optional) | tool for tool in sent]
    bare = [{k: v for k, v in tool.items() if v is not None} for tool in sent]
    assert decode(nulled).digest == decode(bare).digest == decode(sent).digest


@given(distinct_catalogues(min_size=2))
def test_leaving_a_tool_out_changes_the_digest(sent):
    assert decode(sent[1:]).digest != decode(sent).digest


def test_the_first_text_of_a_name_wins():
    found = decode([{"name": "a", "description": "one"}, {"name": "a", "description": "two"}])
    assert [tool.description for tool in found.tools] == ["one"]
    assert found.digest == decode([{"name": "a", "description": "one"}]).digest


def test_fields_do_not_run_into_each_other():
    one = tool_digest(Tool("ab", "c"))
    assert one != tool_digest(Tool("a", "bc"))
    assert tool_digest(Tool("a", namespace="b")) != tool_digest(Tool("a", domain="b"))
    assert tool_digest(Tool("a", tags=("b", "c"))) != tool_digest(Tool("a", tags=("b c",)))


def test_the_limit_is_on_distinct_names():
    assert len(decode([{"name": "a"}] * 9, limit=1).tools) == 1
    with pytest.raises(TooManyTools, match="2"):
        decode([{"name": "a"}, {"name": "b"}], limit=1)


@pytest.mark.parametrize(
    ("tools", "path"),
    [
        ([{"name": "a"}, {}], "tools[1]"),
        ([{"name": 5}], "tools[0].name"),
        ([{"name": "a", "tags": [1]}], "tools[0].tags[0]"),
        ([{"name": "a", "definition": "x"}], "tools[0].definition"),
        ([5], "tools[0]"),
        ({}, "tools"),
    ],
)
def test_errors_say_where(tools: object, path: str):
    with pytest.raises(InvalidRequest) as refused:
        decode(tools)
    assert [error.path for error in refused.value.errors] == [path]
    assert path in refused.value.detail


@pytest.mark.parametrize(
    "raw", [b"", b"[", b"[{]", b'[{"name":"\xff"}]', b'[{"name":"a","x":' + b"[" * 100_000]
)
def test_what_is_no_json_says_so(raw: bytes):
    with pytest.raises(InvalidJson):
        ToolList.decode(raw)
