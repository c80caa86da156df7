"""Tools as typed signatures: what a schema says, in TypeScript and Python, whatever it is."""

import ast
import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.in_process import serving
from tests.support import TOOLS
from toolscout import Engine
from toolscout.contract.fields import Stub
from toolscout.contract.requests import Filters
from toolscout.tools.stubs import name_function, name_functions, write_stub

DIALECTS = get_args(Stub)
LIST_ISSUES: dict[str, Any] = {
    "name": "git.list-issues",
    "description": "List issues. Pages hold 30.",
    "inputSchema": {
        "type": "object",
        "required": ["repo"],
        "properties": {
            "state": {"enum": ["open", "closed"]},
            "repo": {"type": "string", "description": "owner/name"},
            "labels": {"type": "array", "items": {"$ref": "#/$defs/label"}},
            "since": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "per-page": {"type": ["integer", "null"]},
            "where": {"type": "object", "properties": {"x": {"type": "number"}}},
        },
        "$defs": {"label": {"type": "string"}},
    },
    "outputSchema": {"type": "object", "additionalProperties": {"type": "integer"}},
    "annotations": {"readOnlyHint": True},
}


def stub_of(tool: dict[str, Any], stub: Any, **options: Any) -> Any:
    return Engine([tool]).search(tool["name"], detail=stub, **options).tools[0]


def test_a_signature_says_what_the_schema_says():
    assert stub_of(LIST_ISSUES, "stub").stub == (
        "/** List issues. */\n"
        "declare function git_list_issues(input: { repo: string; "
        'state?: "open" | "closed"; labels?: string[]; since?: string | null; '
        '"per-page"?: number | null; where?: { x?: number } }): Promise<Record<string, number>>;'
    )
    assert stub_of(LIST_ISSUES, "stub_python").stub == (
        "# List issues.\n"
        "async def git_list_issues(*, repo: str, state: Literal['open', 'closed'] = ..., "
        "labels: list[str] = ..., since: str | None = ..., where: dict[str, Any] = ..., "
        '**others: Any) -> dict[str, int]: ...  # also "per-page": int | None'
    )


def test_it_costs_less_than_the_schema_and_says_how_much():
    shown = stub_of(LIST_ISSUES, "stub")
    assert 0 < shown.tokens_stub < shown.tokens_full
    assert shown.input_schema is None


@pytest.mark.parametrize("stub", DIALECTS)
def test_only_what_reads_has_a_signature_unless_a_filter_permits_more(stub: str):
    tool = {"name": "delete_user", "description": "Delete a user for good"}
    shown = stub_of(tool, stub)
    assert (shown.stub, shown.risk, shown.requires_confirmation) == (None, "destructive", True)
    permitted = stub_of(tool, stub, filters=Filters(max_risk="destructive"))
    assert "delete_user" in permitted.stub


def test_a_budget_counts_signatures():
    tools = [LIST_ISSUES | {"name": f"list_issues_{number}"} for number in range(5)]
    engine = Engine(tools)
    price = stub_of(LIST_ISSUES | {"name": "list_issues_0"}, "stub").tokens_stub
    options: dict[str, Any] = {"detail": "stub", "budget_tokens": 2 * price + 1}
    assert len(engine.search("list issues", **options).names) == 2


def test_a_budget_holds_where_functions_get_numbers():
    names = ["get-weather", "get.weather", "get_weather", "_get.weather", "_get-weather"]
    hints = {"readOnlyHint": True}
    tools = [{"name": name, "description": "", "annotations": hints} for name in names]
    for budget in range(20, 80):
        options: dict[str, Any] = {"detail": "stub_python", "budget_tokens": budget}
        shown = Engine(tools).search("get weather", **options).tools
        assert sum(tool.tokens_stub or 0 for tool in shown) <= budget


def test_a_budget_counts_no_signature_that_is_not_shown():
    parameters = {f"column_{number}": {"type": "string"} for number in range(60)}
    schema = {"type": "object", "properties": parameters}
    tools = [{"name": f"delete_user_{n}", "inputSchema": schema} for n in range(4)]
    options: dict[str, Any] = {"detail": "stub", "budget_tokens": 60}
    assert len(Engine(tools).search("delete user", **options).names) == 4
    permitted = Filters(max_risk="destructive")
    assert len(Engine(tools).search("delete user", **options, filters=permitted).names) < 2


def test_one_tool_of_a_catalog_is_shown_as_a_signature(tmp_path: Path):
    with serving(tmp_path) as server:
        server.send("PUT", "/v1/catalogs/c", json.dumps({"tools": [LIST_ISSUES]}).encode())
        shown = server.get("/v1/catalogs/c/tools/git.list-issues?detail=stub_python")
    assert shown.json()["stub"] == stub_of(LIST_ISSUES, "stub_python").stub


ALIKE = ("get-weather", "get.weather", "get_weather", "get_weather_2", "日本_検索", "中国_検索")
FUNCTION = re.compile(r"^(?:async def|declare function) (\w+)", re.M)


@pytest.mark.parametrize("stub", DIALECTS)
def test_no_two_signatures_of_an_answer_have_one_name(tmp_path: Path, stub: Any):
    tools = [{"name": name, "description": "Get the weather, 検索"} for name in ALIKE]
    with serving(tmp_path) as server:
        sent = {"query": "get the weather", "tools": tools, "detail": stub, "top_k": 9}
        shown = server.post(sent).json()["tools"]
    functions = {tool["name"]: FUNCTION.findall(tool["stub"])[0] for tool in shown}
    assert sorted(functions) == sorted(ALIKE)
    assert len(set(functions.values())) == len(ALIKE)
    assert functions["get_weather"] == "get_weather"
    assert {functions["get-weather"], functions["get.weather"]} == {
        "get_weather_3",
        "get_weather_4",
    }


def test_a_signature_has_not_the_name_of_a_tool_that_is_shown_without_one():
    tools = [
        {"name": "delete-user", "annotations": {"readOnlyHint": True}},
        {"name": "delete_user", "annotations": {"destructiveHint": True}},
    ]
    shown = {
        tool.name: tool.stub for tool in Engine(tools).search("delete user", detail="stub").tools
    }
    assert shown["delete_user"] is None
    assert "function delete_user_2(" in (shown["delete-user"] or "")


@given(st.lists(st.text("ab_-.2é", min_size=1, max_size=4), unique=True), st.sampled_from(DIALECTS))
def test_functions_are_named_apart_and_never_as_another_tool(tools: list[str], stub: Any):
    names = name_functions(tools, stub)
    assert len(set(names)) == len(tools)
    for tool, name in zip(tools, names, strict=True):
        assert name.isidentifier()
        assert name not in {*tools} - {tool}


SCHEMAS = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.text(max_size=3),
        st.sampled_from([{"type": kind} for kind in ("string", "null", "integer", "odd", 3)]),
        st.builds(lambda values: {"enum": values}, st.lists(st.text(max_size=4) | st.integers())),
        st.sampled_from([{"$ref": "#"}, {"$ref": "#/properties"}, {"$ref": "elsewhere"}]),
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(st.text(max_size=5), inner)},
            optional={"required": st.lists(st.text(max_size=5)) | st.text()},
        ),
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"allOf": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"type": st.lists(st.sampled_from(["string", "object", "array"]))}),
    ),
    max_leaves=12,
)


def list_required(schema: Any) -> set[str]:
    """Return the required properties of an object, and of the parts of its `allOf`."""
    if not isinstance(schema, dict):
        return set()
    required = schema.get("required")
    names = set(required) if isinstance(required, list) else set()
    return names.union(*map(list_required, schema.get("allOf", [])))


@given(st.text(min_size=1, max_size=12), st.text(max_size=40), SCHEMAS, SCHEMAS)
def test_any_schema_has_a_signature_that_can_be_parsed(
    name: str, description: str, schema: Any, output: Any
):
    called = name_function(name, "stub_python")
    python = write_stub(called, description, schema, output, "stub_python")
    compile(python, "stub", "exec")
    (function,) = ast.parse(python).body
    assert isinstance(function, ast.AsyncFunctionDef)
    called = name_function(name, "stub")
    typescript = write_stub(called, description, schema, output, "stub")
    assert typescript.count("*/") <= 1
    assert typescript.endswith(";")


OBJECTS = st.builds(
    lambda properties, required, more: {
        "type": "object",
        "properties": properties,
        "required": required,
        "allOf": more,
    },
    st.dictionaries(st.text(max_size=5), SCHEMAS, max_size=4),
    st.lists(st.text(max_size=5) | st.sampled_from(["a", "class", "others", "per-page"])),
    st.lists(SCHEMAS, max_size=2),
)


@given(OBJECTS)
def test_every_required_parameter_stands_in_the_signature(schema: Any):
    for root in (schema, {"$ref": "#/$defs/it", "$defs": {"it": schema}}):
        python = write_stub("f", "", root, None, "stub_python")
        (function,) = ast.parse(python).body
        assert isinstance(function, ast.AsyncFunctionDef)
        defaults = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
        needed = {argument.arg for argument, default in defaults if default is None}
        typescript = write_stub("f", "", root, None, "stub")
        for name in list_required(schema):
            quoted = json.dumps(name, ensure_ascii=not name.isprintable())
            assert name in needed or f"{quoted}: " in python
            assert f" {name}: " in typescript or f" {quoted}: " in typescript


@pytest.mark.parametrize("stub", DIALECTS)
def test_a_schema_of_endless_references_and_a_huge_one_are_bounded(stub: Any):
    loop = {"type": "object", "properties": {f"p{n}": {"$ref": "#"} for n in range(60)}}
    wide = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(9_000)}}
    for schema in (loop, wide):
        assert len(write_stub("wide", "", schema, schema, stub)) < 40_000


def test_every_dialect_is_a_level_of_detail_over_all_samples():
    for stub in DIALECTS:
        shown = Engine(TOOLS).search("read a file", detail=stub).tools
        assert "read_file" in (shown[0].stub or "")
