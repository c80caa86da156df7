"""What is wrong with a call is said in one sentence; what is not certainly wrong passes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolscout.tools import misfits
from toolscout.tools.misfits import find_misfit

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
