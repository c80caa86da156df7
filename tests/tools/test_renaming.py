"""Tools under names and keys that a provider takes, and arguments there and back."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolscout.tools.refused import list_refusals
from toolscout.tools.renaming import RenamedTool, rename_keys
from toolscout.tools.shapes import schema_of

Json = dict[str, Any]


def rename(schema: Json, name: str = "list_calls", taken: tuple[str, ...] = ()) -> RenamedTool:
    tool = {"name": name, "description": "List calls", "input_schema": schema}
    return RenamedTool("anthropic", tool, name, taken)


def of(**properties: Any) -> Json:
    return {"type": "object", "properties": properties}


TWILIO = of(**{"StartTime": {}, "StartTime<": {}, "StartTime>": {}, "uids[]": {}, "$filter": {}})


def test_keys_are_like_the_tools_own_and_tell_each_other_apart():
    renamed = rename(TWILIO)
    assert [*schema_of(renamed.definition)["properties"]] == [
        "StartTime",
        "StartTime_",
        "StartTime__2",
        "uids_",
        "filter_",
    ]
    own = {"StartTime<": 1, "StartTime>": 2, "StartTime": 3, "uids[]": [4]}
    clean = rename_keys(own, renamed.clean)
    assert clean == {"StartTime_": 1, "StartTime__2": 2, "StartTime": 3, "uids_": [4]}
    assert rename_keys(clean, renamed.own) == own


@pytest.mark.parametrize(
    ("name", "taken", "clean"),
    [
        ("list_calls", (), "list_calls"),
        ("slack.post message!", (), "slack_post_message"),
        ("slack.post", ("slack_post",), "slack_post_2"),
        ("прочитать", (), "tool"),
        ("x" * 200, (), f"{'x' * 40}_{'x' * 23}"),
    ],
)
def test_a_name_is_changed_where_it_is_refused(name, taken, clean):
    renamed = rename(of(a={}), name, taken)
    assert renamed.name == renamed.definition["name"] == clean


def test_whatever_names_a_key_names_the_clean_one():
    schema = of(**{"a[]": {"default": {"b c": 1}, "properties": {"b c": {"type": "integer"}}}})
    schema |= {
        "required": ["a[]"],
        "dependentRequired": {"a[]": ["a[]", "other"]},
        "dependentSchemas": {"a[]": {"required": ["b c"]}},
        "examples": [{"a[]": {"b c": 1}}],
        "additionalProperties": {"enum": ["a[]"], "description": "a[] and b c"},
    }
    tool = {"name": "f", "input_schema": schema, "input_examples": [{"a[]": {"b c": 2}}]}
    definition = RenamedTool("anthropic", tool, "f", ()).definition
    written = json.dumps(definition["input_schema"])
    kept = ('{"enum": ["a[]"], "description": "a[] and b c"}', '"enum": ["a_"]')
    assert kept[0] in written
    assert written.replace(kept[0], "").count("a[]") == 0
    assert "b c" not in written.replace(kept[0], "")
    assert definition["input_examples"] == [{"a_": {"b_c_": 2}}]


def test_keys_are_renamed_wherever_they_are():
    schema = of(one={"$ref": "#/$defs/a"}, others={"type": "array", "items": {"$ref": "https://e"}})
    renamed = rename({**schema, "$defs": {"a": of(**{"x[]": {}})}})
    own = {"one": {"x[]": 1}, "others": [{"deep": {"x[]": 2}}], "x": 3}
    clean = {"one": {"x_": 1}, "others": [{"deep": {"x_": 2}}], "x": 3}
    assert rename_keys(own, renamed.clean) == clean
    assert rename_keys(clean, renamed.own) == own


KEYS = st.sampled_from(["a", "a[]", "a_", "a<", "$a", "_a", "a_2", "", "é", "x" * 70, "b"])
LEAVES = st.sampled_from([{}, {"type": "string"}, {"type": "integer"}, True, {"$ref": "#"}])


def _grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    objects = st.dictionaries(KEYS, inner, max_size=4).map(lambda p: of(**p))
    return (
        objects
        | inner.map(lambda one: {"type": "array", "items": one})
        | st.lists(inner, min_size=1, max_size=2).map(lambda some: {"anyOf": some})
        | inner.map(lambda one: {"type": "object", "additionalProperties": one})
    )


SCHEMAS = st.dictionaries(KEYS, st.recursive(LEAVES, _grow, max_leaves=6), max_size=5).map(
    lambda properties: of(**properties)
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(KEYS, VALUES, max_size=5)


def list_keys(value: Any) -> set[str]:
    """Return all keys in a value."""
    if isinstance(value, list):
        return set().union(*map(list_keys, value))
    return {*value}.union(*map(list_keys, value.values())) if isinstance(value, dict) else set()


def list_clean(renamed: RenamedTool, schema: Json) -> set[str]:
    """Return the keys that a renamed tool has and its own schema has not."""
    return list_keys(renamed.definition["input_schema"]) - list_keys(schema)


@given(SCHEMAS, ARGUMENTS)
def test_any_arguments_of_any_tool_come_back(schema: Json, arguments: Json):
    renamed = rename(schema)
    assert list_refusals("anthropic", renamed.name, schema_of(renamed.definition)) == ()
    assume(list_clean(renamed, schema).isdisjoint(list_keys(arguments)))
    assert rename_keys(rename_keys(arguments, renamed.clean), renamed.own) == arguments
    again = rename(json.loads(json.dumps(schema)))
    assert again.definition == renamed.definition


@given(SCHEMAS, ARGUMENTS)
def test_no_argument_is_lost_whatever_a_model_writes(schema: Json, arguments: Json):
    renamed = rename(schema)
    for changed in (rename_keys(arguments, renamed.clean), rename_keys(arguments, renamed.own)):
        assert [*_list_leaves(changed)] == [*_list_leaves(arguments)]


def _list_leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _list_leaves(one)
    else:
        yield value


def test_a_model_that_writes_a_key_as_a_description_has_it_is_understood():
    renamed = rename(of(**{"uids[]": {}, "page": of(**{"$top": {}})}))
    own = {"uids[]": [1], "page": {"$top": 5}}
    assert rename_keys(own, renamed.own) is own
    assert rename_keys({"uids[]": [1], "page": {"top_": 5}}, renamed.own) == own
    both = {"uids[]": 1, "uids_": 2}
    assert rename_keys(rename_keys(both, renamed.clean), renamed.own) == both


@given(SCHEMAS, ARGUMENTS)
def test_without_a_refused_key_the_arguments_are_the_same_object(schema: Json, arguments: Json):
    renamed = rename(schema)
    if renamed.definition["input_schema"] == schema:
        for names in (renamed.clean, renamed.own):
            assert rename_keys(arguments, names) is arguments
