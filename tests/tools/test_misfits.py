"""What is wrong with a call is said in one sentence; what is not certainly wrong passes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolscout.tools import misfits
from toolscout.tools.misfits import fill_missing, find_misfit

ROW = {"type": "object", "required": ["id"], "properties": {"id": {"type": "number"}}}
SCHEMA = {
    "type": "object",
    "required": ["path"],
    "properties": {
        "path": {"type": "string"},
        "lines": {"type": "integer"},
        "mode": {"enum": ["read", "write"]},
        "rows": {"type": "array", "items": {"$ref": "#/$defs/row"}},
        "label": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "size": {"type": ["STRING", "NUMBER"], "nullable": True},
    },
    "$defs": {"row": ROW},
}
CLOSED = SCHEMA | {"additionalProperties": False}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "`path` is missing"),
        ({"file": "a"}, "`path` is missing; `file` is unknown: did you mean `path`?"),
        ({"path": 1}, "`path` has to be a string, got 1"),
        ({"path": None}, "`path` has to be a string, got null"),
        ({"path": "a", "lines": "five"}, '`lines` has to be an integer, got "five"'),
        ({"path": "a", "lines": True}, "`lines` has to be an integer, got true"),
        ({"path": "a", "mode": "q"}, '`mode` has to be one of "read", "write", got "q"'),
        ({"path": "a", "rows": [{"id": 1}, {}]}, "`rows[1].id` is missing"),
        ({"path": "a", "rows": {"id": 1}}, '`rows` has to be an array, got {"id":1}'),
        ({"path": "a", "label": 3}, "`label` fits none of its 2 forms"),
        ({"path": "a", "size": []}, "`size` has to be a string or a number or a null, got []"),
        ([], "the value has to be an object, got []"),
    ],
)
def test_what_is_wrong_is_said(arguments: Any, said: str):
    assert find_misfit(SCHEMA, arguments) == said


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "a"},
        {"path": "a", "lines": 5.0, "mode": "read", "rows": [{"id": 1.5}], "label": None},
        {"path": "a", "size": None},
        {"path": "a", "lines": "5", "rows": '[{"id": 1}]'},
        {"path": "a", "more": 1},
    ],
)
def test_what_fits_passes(arguments: Any):
    assert find_misfit(SCHEMA, arguments) == ""


def test_an_unknown_field_is_wrong_where_the_schema_says_so():
    assert find_misfit(CLOSED, {"path": "a", "extra": 1}) == "`extra` is unknown"
    said = find_misfit(CLOSED, {"path": "a", "line": 1})
    assert said == "`line` is unknown: did you mean `lines`?"


def test_null_passes_an_enum_where_it_is_allowed():
    schema = {"properties": {"mode": {"type": "string", "nullable": True, "enum": ["a"]}}}
    assert find_misfit(schema, {"mode": None}) == ""
    assert find_misfit(schema, {"mode": "b"}) == '`mode` has to be one of "a", got "b"'


def test_only_names_that_can_be_told_are_compared(monkeypatch: pytest.MonkeyPatch):
    compared: list[str] = []

    def near(name: str, *_: Any) -> list[str]:
        compared.append(name)
        return []

    monkeypatch.setattr(misfits, "get_close_matches", near)
    many = {f"x{number}": 1 for number in range(5_000)}
    assert find_misfit(SCHEMA, {"path": "a", **many}) == ""
    assert compared == []
    assert find_misfit(CLOSED, {"path": "a", **many}).startswith("`x0` is unknown; ")
    assert len(compared) == 3


def test_three_faults_are_named_and_long_values_are_cut():
    faults = find_misfit(CLOSED, {"path": "a", **dict.fromkeys("stuvw", 0)}).split("; ")
    assert len(faults) == 3
    assert len(find_misfit(SCHEMA, {"path": ["x" * 1_000]})) < 120


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"properties": []},
        {"required": "path", "properties": {"path": True}},
        {"$ref": "https://example.org/schema.json"},
        {"$ref": "#"},
        {"$ref": "#anchor", "type": "object"},
        {"$ref": "#/$defs/missing"},
        {"type": "file"},
        {"anyOf": [{"$ref": "#"}] * 20},
        {"properties": {"path": {"enum": "read"}}},
    ],
)
def test_what_cannot_be_read_refuses_nothing(schema: Any):
    assert find_misfit(schema, {"path": "a"}) == ""


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from([*SCHEMA, "anyOf", "enum", "items", "$ref"]), JSON), JSON)
def test_no_schema_and_no_arguments_raise(schema: Any, arguments: Any):
    assert isinstance(find_misfit(schema, arguments), str)


STRICT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["query", "limit", "order", "page", "label", "inner"],
    "properties": {
        "query": {"type": "string"},
        "limit": {"type": ["integer", "null"]},
        "order": {"enum": ["up", "down", None]},
        "page": {"$ref": "#/$defs/page"},
        "label": {"oneOf": [{"type": "null"}, {"type": "string"}]},
        "inner": {"type": ["array", "null"], "items": {"$ref": "#/$defs/row"}},
    },
    "$defs": {
        "page": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "row": ROW | {"required": ["id", "note"], "properties": {"note": {"type": ["null"]}}},
    },
}
NULLS = {"limit": None, "order": None, "page": None, "label": None}


@pytest.mark.parametrize(
    ("arguments", "filled"),
    [
        ({"query": "a"}, {"query": "a", **NULLS, "inner": None}),
        ({"query": "a", "limit": 2, "inner": [{"id": 1}]},
         {"query": "a", **NULLS, "limit": 2, "inner": [{"id": 1, "note": None}]}),
        ({}, {**NULLS, "inner": None}),
        ([], []),
        ("text", "text"),
    ],
)  # fmt: skip
def test_what_is_missing_and_may_be_null_becomes_null(arguments: Any, filled: Any):
    assert fill_missing(STRICT, arguments) == filled


@pytest.mark.parametrize("default", [1, None, [], {"a": 2}])
def test_a_required_field_with_a_default_gets_it(default: Any):
    """As libraries write them that require every field."""
    field = {"type": ["integer", "null", "array", "object"], "default": default}
    schema = {"type": "object", "required": ["a", "b"], "properties": {"a": field, "b": {}}}
    assert fill_missing(schema, {}) == {"a": default}
    assert fill_missing(schema, {"a": 7, "b": 8}) == {"a": 7, "b": 8}


def test_arguments_that_lack_nothing_are_the_same_object():
    arguments = {"query": "a", **NULLS, "inner": [{"id": 1, "note": None}]}
    assert fill_missing(STRICT, arguments) is arguments
    assert fill_missing(SCHEMA, arguments) is arguments


@pytest.mark.parametrize("field", [{}, True, {"type": "string"}, {"enum": ["a"]}, None])
def test_what_may_not_be_null_stays_missing(field: Any):
    schema = {"type": "object", "required": ["a"], "properties": {"a": field}}
    assert fill_missing(schema, {}) == {}


LEAVES = st.none() | st.booleans() | st.text(max_size=3)


@given(st.recursive(LEAVES, lambda some: st.lists(some) | st.dictionaries(st.text(), some)))
def test_no_schema_breaks_the_filling(schema: Any):
    rooted = {"required": ["a"], "properties": {"a": schema}, "items": schema}
    assert fill_missing(rooted, {"a": 1}) == {"a": 1}


def test_a_schema_that_refers_to_itself_ends_the_filling():
    loop = {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}}
    deep = {"a": {"a": {"a": {}}}}
    assert fill_missing(loop, deep) == deep
