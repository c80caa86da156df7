"""Posted tool lists: decoded, de-duplicated, named by their content."""

import json
import random
from itertools import repeat

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalogs import catalogs, distinct_catalogs
from toolscout.contract.tools import Tool
from toolscout.errors import InvalidJson, InvalidRequest, TooManyTools
from toolscout.index.tool_list import ToolList, hash_tool


def decode(tools: object, **limits: int) -> ToolList:
    return ToolList.decode(msgspec.json.encode(tools), **limits)


@given(catalogs())
def test_distinct_names_in_order(sent):
    found = decode(sent)
    names = [tool.name for tool in found.tools]
    assert names == sorted({tool["name"] for tool in sent})
    assert found.offered == len(sent)
    assert len(found.digests) == len(found.tools) == len(found.places)


@given(distinct_catalogs(), st.randoms(use_true_random=False))
def test_order_does_not_change_the_digest(sent, chance: random.Random):
    shuffled = list(sent)
    chance.shuffle(shuffled)
    assert decode(shuffled).digest == decode(sent).digest == decode(sent + shuffled).digest


@given(distinct_catalogs())
def test_null_fields_are_as_absent(sent):
    optional = [name for name in Tool.__struct_fields__ if name != "name"]
    nulled = [dict.fromkeys(optional) | tool for tool in sent]
    bare = [{k: v for k, v in tool.items() if v is not None} for tool in sent]
    assert decode(nulled).digest == decode(bare).digest == decode(sent).digest


@given(distinct_catalogs(min_size=2))
def test_leaving_a_tool_out_changes_the_digest(sent):
    assert decode(sent[1:]).digest != decode(sent).digest


def test_the_first_text_of_a_name_wins():
    found = decode([{"name": "a", "description": "one"}, {"name": "a", "description": "two"}])
    assert [tool.description for tool in found.tools] == ["one"]
    assert found.digest == decode([{"name": "a", "description": "one"}]).digest


def test_the_digest_of_a_tool_does_not_depend_on_those_beside_it():
    plain = {"name": "a", "definition": {"type": "object", "properties": {}}}
    foreign = {"type": "function", "function": {"name": "b", "parameters": {}}}
    alone, beside = (json.dumps(tools).encode() for tools in ([plain], [plain, foreign]))
    assert ToolList.decode(alone).digests[0] == ToolList.decode(beside).digests[0]


def test_fields_do_not_run_into_each_other():
    one = hash_tool(Tool("ab", "c"))
    assert one != hash_tool(Tool("a", "bc"))
    assert hash_tool(Tool("a", namespace="b")) != hash_tool(Tool("a", domain="b"))
    assert hash_tool(Tool("a", tags=("b", "c"))) != hash_tool(Tool("a", tags=("b c",)))


def test_the_limit_is_on_distinct_names():
    assert len(decode([{"name": "a"}] * 9, limit=1).tools) == 1
    with pytest.raises(TooManyTools, match="2"):
        decode([{"name": "a"}, {"name": "b"}], limit=1)


@pytest.mark.parametrize(
    ("tools", "path"),
    [
        ([{"name": "a", "tags": [1]}], "tools[0].tags[0]"),
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


FILLER = "what it does, at length " * 20
LONG = [
    {
        "name": f"tool_{number}",
        "description": FILLER,
        "definition": {"examples": [{"name": "a"}, {"name": "b", "items": [{"name": "c"}]}]},
    }
    for number in range(900)
]
"""More than is decoded in one call, with what looks like the border between two tools inside."""


@pytest.mark.parametrize("separators", [(",", ":"), (" ,\n ", " : ")])
def test_a_long_list_is_read_as_a_short_one(separators: tuple[str, str]):
    plain = [{**tool, "definition": {"type": "object"}} for tool in LONG]
    for sent in (LONG, plain):
        raw = json.dumps(sent, separators=separators).encode()
        found = ToolList.decode(raw)
        assert len(raw) > 400_000
        assert [tool.name for tool in found.tools] == sorted(tool["name"] for tool in sent)
        assert {tool.description for tool in found.tools} == {FILLER}
        assert found.digest == ToolList.of(map(single, sent, repeat(separators))).digest


def single(tool: object, separators: tuple[str, str]) -> Tool:
    (found,) = ToolList.decode(json.dumps([tool], separators=separators).encode()).tools
    return found


@pytest.mark.parametrize("first", ["type", "description", "definition"])
def test_a_long_list_may_begin_its_tools_with_any_key(first: str):
    values = {"type": "function", "description": FILLER, "definition": {"any": [{"type": "a"}] * 3}}
    nested = {"items": [{first: "b"}, {first: "c"}]}
    sent = [
        {first: values[first], **values, "definition": nested, "name": f"tool_{number}"}
        for number in range(900)
    ]
    found = decode(sent)
    assert [tool.name for tool in found.tools] == sorted(tool["name"] for tool in sent)
    assert found.digest == ToolList.of(map(single, sent, repeat((",", ":")))).digest


@pytest.mark.parametrize("blank", ["\v", "\f", "\u00a0"])
def test_what_json_does_not_take_for_a_blank_is_refused_between_any_two_tools(blank: str):
    raw = json.dumps(LONG, separators=(",", ":"))
    with pytest.raises(InvalidJson):
        ToolList.decode(raw.replace('},{"name":"tool_', f'}},{blank}{{"name":"tool_').encode())


def test_a_text_that_looks_like_tools_does_not_cut_a_list():
    decoy = '"}, {"name": "decoy", "description": "' * 20_000
    found = decode([{"name": "a", "description": decoy}, {"name": "b"}])
    assert [tool.name for tool in found.tools] == ["a", "b"]
    assert found.tools[0].description == decoy


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        (lambda raw: raw[:-1], InvalidJson),
        (lambda raw: raw.replace(b'"tool_800"', b'"tool_800'), InvalidJson),
        (lambda raw: raw.replace(b'},{"name":"tool_700"', b'},,{"name":"tool_700"'), InvalidJson),
        (lambda raw: raw.replace(b'},{"name":"tool_700"', b'}{"name":"tool_700"'), InvalidJson),
        (lambda raw: raw[:-1] + b",]", InvalidJson),
    ],
)
def test_a_long_list_with_an_error_is_refused(broken, error):
    with pytest.raises(error):
        ToolList.decode(broken(json.dumps(LONG, separators=(",", ":")).encode()))


def test_what_is_no_tool_late_in_a_long_list_is_named_by_its_place():
    listed = decode([*LONG[:850], {"name": 1}, *LONG[850:]])
    assert [error.path for error in listed.skipped.wrong] == ["tools[850].name"]
    assert (listed.offered, len(listed.tools)) == (len(LONG) + 1, len({t["name"] for t in LONG}))
    with pytest.raises(InvalidRequest, match=r"tools\[850\]\.name"):
        listed.checked()
