"""The meta-tools of the table, over a list of tools in place of a catalog or a gateway."""

import asyncio
from collections.abc import Sequence
from typing import Any

import jsonschema
import msgspec
import pytest

from toolscout.contract.answers import Resolution
from toolscout.contract.fields import Detail
from toolscout.contract.requests import Filters
from toolscout.contract.tools import ToolDetail
from toolscout.metatools import finds
from toolscout.metatools.answers import ToolsFound, describe_none, find_tool, show
from toolscout.metatools.arguments import (
    ALIASES,
    CallError,
    SearchTools,
    answer_schema,
    schema_of,
)
from toolscout.metatools.table import TOOLS, write_instructions
from toolscout.text.domains import load_bundled
from toolscout.turns.meta import resolve

SHELF: dict[str, Any] = {
    "mcp__git__push": {"name": "mcp__git__push", "description": "Push commits. To the remote."},
    "read_file": {"name": "read_file", "description": "Read a file", "required_keys": ["DISK"]},
    "send_email": {"name": "send_email", "description": "Send mail", "status": "unavailable"},
}


class Shelf:
    """A source whose searches find whatever has the query in its name."""

    def __init__(self, tools: dict[str, Any]) -> None:
        self.tools = tools
        self.filters: Filters | None = None
        self.counts: dict[str, int] | None = None

    async def search(self, wanted: SearchTools) -> ToolsFound:
        self.filters = wanted.filters
        names = [name for name in self.tools if wanted.query in name][: wanted.top_k]
        return ToolsFound(await self.show(names, wanted.detail), "match")

    async def names(self, filters: Filters | None) -> list[str]:
        self.filters = filters
        return sorted(self.tools)

    async def resolve(self, names: Sequence[str]) -> list[Resolution]:
        return [resolve(name, self.tools) for name in names]

    async def show(self, names: Sequence[str], detail: Detail) -> list[ToolDetail]:
        return [show(self.tools[name], detail) for name in names]

    async def domains(self) -> dict[str, int] | None:
        return self.counts

    async def required_keys(self, name: str) -> Sequence[str]:
        return self.tools[name].get("required_keys", ())


def ask(name: str, tools: dict[str, Any] | None = None, /, **arguments: Any) -> Any:
    """Return the answer to a call, as JSON has it."""
    source = Shelf(SHELF if tools is None else tools)
    return msgspec.to_builtins(asyncio.run(TOOLS[name].call(source, arguments)))


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("search_tools", {}, "arguments: `query` is missing"),
        ("search_tools", {"query": ["pay"]}, "query: expected text, got a list"),
        ("search_tools", {"query": ""}, "query: expected at least 1 character"),
        ("search_tools", {"query": "  "}, "arguments: `query` is blank"),
        ("search_tools", {"query": "pay", "top_k": 101}, "top_k: expected at most 100"),
        ("search_tools", {"query": "pay", "top_k": "many"}, "top_k: expected a whole number"),
        ("search_tools", {"query": "x", "detail": "all"}, "detail: expected one of brief, full"),
        ("search_tools", {"query": "pay", "domain": 7}, "domain: expected text, got a whole"),
        (
            *("search_tools", {"query": "pay", "count": 5}),
            "arguments: `count` is not known; known are namespace, domain, detail, query, top_k",
        ),
        (
            *("search_tools", {"query": "pay", "max_result": 5}),
            "arguments: `max_result` is not known; did you mean top_k? known are namespace, ",
        ),
        (
            *("list_tools_meta", {"pagesize": 5}),
            "arguments: `pagesize` is not known; did you mean page_size?",
        ),
        ("list_tools_meta", {"page_size": -1}, "page_size: expected at least 1"),
        ("list_tools_meta", {"cursor": "nowhere"}, "cursor: not one of this list"),
        ("list_tools_meta", {"cursor": ["x"]}, "cursor: expected text, got a list"),
        ("tool_info", {"name": None}, "arguments: `name` is missing"),
        ("tool_info", {"name": "x" * 1_025}, "name: expected at most 1,024 characters"),
        ("tool_info", {"name": "read_fiel"}, "there is no tool of this name; near: read_file"),
        ("get_tool_schemas", {"names": "read_file"}, "names: expected a list, got text"),
        ("get_tool_schemas", {"names": []}, "names: expected at least 1 entry"),
        ("get_tool_schemas", {"names": ["x"] * 21}, "names: expected at most 20 entries"),
        ("get_required_keys_for_tool", {"name": "xyzzy"}, "there is no tool of this name"),
    ],
)
def test_what_is_wrong_is_named_in_a_line(name: str, arguments: dict[str, Any], message: str):
    with pytest.raises(CallError) as wrong:
        ask(name, **arguments)
    assert str(wrong.value).startswith(message)
    assert "\n" not in str(wrong.value)


def test_a_name_that_several_tools_answer_to_is_none_of_them():
    tools = {name: {"name": name} for name in ("a__push", "b__push")}
    with pytest.raises(CallError, match="several tools answer to this name; near: a__push, b__p"):
        ask("tool_info", tools, name="push")


def test_null_is_as_good_as_nothing_and_a_whole_number_may_have_a_point():
    assert ask("search_tools", query="file", top_k=None)["tools"][0]["name"] == "read_file"
    assert len(ask("list_tools_meta", page_size=2.0)["tools"]) == 2


def test_names_of_arguments_of_other_systems_are_read_and_not_advertised():
    found = ask("search_tools", task_description="s", max_results=1, brief=False)
    assert len(found["tools"]) == 1
    assert "input_schema" in found["tools"][0]
    assert ask("tool_info", name="push", brief=True) == ask("tool_info", name="push")
    assert ask("search_tools", query="file", task_description="file")["tools"]
    assert len(ask("search_tools", query="s", limit=1)["tools"]) == 1
    assert len(ask("list_tools_meta", limit=2)["tools"]) == 2
    assert ask("tool_info", tool_name="push") == ask("tool_info", name="push")
    schemas = ask("get_tool_schemas", tool_names=["push", "read_file"])
    assert schemas == ask("get_tool_schemas", names=["push", "read_file"])
    keys = ask("get_required_keys_for_tool", tool_name="read_file")
    assert keys["required_keys"] == ["DISK"]
    for tool in TOOLS.values():
        properties = schema_of(tool.arguments).get("properties", {})
        assert not ALIASES.keys() & properties.keys()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"query": "a", "task_description": "b"}, "task_description: query says otherwise"),
        ({"query": "a", "brief": "perhaps"}, "brief: expected true or false"),
        ({"query": "a", "max_results": 101}, "top_k: expected at most 100"),
        ({"query": "a", "top_k": 3, "max_results": 4}, "max_results: top_k says otherwise"),
        ({"query": "a", "max_results": 3, "limit": 4}, "limit: top_k says otherwise"),
        ({"query": "a", "limits": 3}, "arguments: `limits` is not known; did you mean top_k?"),
        ({"query": "a", "tool_name": "b"}, "arguments: `tool_name` is not known"),
    ],
)
def test_names_of_other_systems_are_checked_like_our_own(arguments: dict[str, Any], message: str):
    with pytest.raises(CallError) as wrong:
        ask("search_tools", **arguments)
    assert str(wrong.value).startswith(message)


def test_pages_hold_every_tool_once_and_the_last_has_no_cursor():
    first = ask("list_tools_meta", page_size=2, detail="names")
    assert first["tools"] == [{"name": "mcp__git__push"}, {"name": "read_file"}]
    last = ask("list_tools_meta", page_size=2, detail="names", cursor=first["next_cursor"])
    assert last == {"tools": [{"name": "send_email"}], "total": 3}
    without = {name: tool for name, tool in SHELF.items() if name != "read_file"}
    again = ask("list_tools_meta", without, detail="names", cursor=first["next_cursor"])
    assert again["tools"] == last["tools"]


def test_a_tool_is_shown_by_name_in_brief_and_whole():
    push = {"risk": "write_remote", "requires_full_schema": True, "name": "mcp__git__push"}
    assert ask("search_tools", query="push", detail="names")["tools"] == [{"name": push["name"]}]
    assert ask("search_tools", query="push")["tools"] == [{**push, "summary": "Push commits."}]
    whole = {**push, "description": "Push commits. To the remote.", "input_schema": {}}
    assert ask("tool_info", name="git.push", detail="full") == whole
    assert ask("tool_info", name="push") == {**push, "summary": "Push commits."}
    schema = {"properties": {"a": {"type": "string"}, "b": {}}, "required": ["b", "gone"]}
    copy = {"copy": {"name": "copy", "description": "Copy it", "input_schema": schema}}
    brief = ask("tool_info", copy, name="copy")
    assert (brief["parameters"], brief["required"]) == (["a", "b"], ["b"])
    assert "input_schema" not in brief
    erased = ask("tool_info", {"erase": {"name": "erase"}}, name="erase")
    assert (erased["risk"], erased["requires_confirmation"]) == ("destructive", True)
    assert ask("tool_info", name="send_email")["status"] == "unavailable"
    assert "status" not in ask("tool_info", name="read_file")


def test_a_signature_is_a_line_with_the_required_parameters_first():
    properties = {name: {"type": "string"} for name in "abcdefghij"}
    tool = {"name": "push", "description": "Push commits. To the remote."}
    assert finds.write_signature(tool) == "push(): Push commits."
    some = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b", "z"]}
    assert finds.write_signature({"name": "push", "input_schema": some}) == "push(b, a?)"
    types: dict[str, Any] = {
        "a": {"type": "string"},
        "b": {"type": "integer", "default": 1},
        "c": {"type": "string", "enum": ["x"]},
        "d": {"type": ["string", "null"]},
        "e": {"type": "array"},
        "f": True,
        "g": {"type": "number"},
        "h": {"type": "string", "format": "date"},
        "i": {"type": "integer", "minimum": 1},
    }
    typed = {"properties": types, "required": list("abcdefhi")}
    line = finds.write_signature({"name": "push", "input_schema": typed})
    assert line == "push(a: string, b: integer, c, d, e, f, h, i, …)"
    many = {"type": "object", "properties": properties}
    line = finds.write_signature({"name": "push", "description": "x" * 500, "input_schema": many})
    assert line.startswith("push(a?, b?, c?, d?, e?, f?, g?, h?, …): xxx")
    assert len(line) < 150


def test_titles_of_generators_are_left_out_of_schemas_but_no_value_is():
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Arguments",
        "properties": {
            "title": {"type": "string", "title": "Title", "default": {"title": "none"}},
            "any": {"anyOf": [{"title": "A", "enum": [{"title": "B"}]}, True]},
        },
    }
    assert finds.drop_titles(schema) == {
        "properties": {
            "title": {"type": "string", "default": {"title": "none"}},
            "any": {"anyOf": [{"enum": [{"title": "B"}]}, True]},
        },
    }


def test_several_schemas_come_in_one_answer_and_each_tool_once():
    answer = ask("get_tool_schemas", names=["readFile", "read_file", "send_mail"])
    assert answer["schemas"] == [ask("tool_info", name="read_file", detail="full")]
    assert answer["errors"] == [{"name": "send_mail", "suggestions": ["send_email"]}]
    assert answer["count"] == 1


def test_the_keys_of_a_tool_are_named():
    assert ask("get_required_keys_for_tool", name="readFile") == {
        "name": "read_file",
        "required_keys": ["DISK"],
    }


@pytest.mark.parametrize("name", ["search_tools", "list_tools_meta"])
def test_namespace_and_domain_are_filters(name: str):
    shelf = Shelf(SHELF)
    given = {"query": "push"} if name == "search_tools" else {}
    asyncio.run(TOOLS[name].call(shelf, {**given, "namespace": "git", "domain": "email"}))
    assert shelf.filters == Filters(namespaces=("git",), domains=("email",))
    asyncio.run(TOOLS[name].call(shelf, {**given, "namespace": ""}))
    assert shelf.filters is None


@pytest.mark.parametrize("name", ["search_tools", "list_tools_meta"])
def test_a_domain_of_no_tool_is_answered_with_those_that_tools_have(name: str):
    shelf = Shelf({})
    given = {"domain": "Git"} | ({"query": "push"} if name == "search_tools" else {})
    for shelf.counts, said in (({"repo": 5, "c" * 200: 3, "data": 1}, "repo, data"), ({}, "none")):
        with pytest.raises(CallError, match=f"^domain: no tool has it; tools have {said}$"):
            asyncio.run(TOOLS[name].call(shelf, given))
    for shelf.counts in ({"git": 1}, None):
        asyncio.run(TOOLS[name].call(shelf, given))


def test_the_domains_that_are_advertised_exist():
    for tool in TOOLS.values():
        described = schema_of(tool.arguments)["properties"].get("domain", {}).get("description")
        if described is not None:
            examples = described.partition("such as ")[2].split(" or ")
            assert set(examples) <= set(load_bundled().domains)


def test_a_prompt_shows_the_best_tool_or_that_there_is_none():
    async def prompt(task: object) -> str:
        return await find_tool(Shelf(SHELF), task, "Just call it.")

    text = asyncio.run(prompt("push"))
    assert "The best tool is `mcp__git__push`: Push commits. To the remote." in text
    assert "Just call it. If none of them does the task" in text
    none = "Task: xyzzy\n\nNo tool fits this query. There are 3 tools: try other words"
    assert asyncio.run(prompt("xyzzy")).startswith(none)
    for task in (None, " ", 5):
        with pytest.raises(CallError, match="task: expected a text"):
            asyncio.run(prompt(task))


def test_what_else_there_is_stays_short_however_many_tools_there_are():
    plain = describe_none([f"tool_{number:05}" for number in range(5_000)])
    assert (len(plain.for_example or ()), plain.namespaces) == (10, None)
    assert "There are 5000 tools" in (plain.message or "")
    spaced = [f"mcp__server{number % 40}__tool_{number}" for number in range(2_000)]
    found = describe_none([*spaced, *(f"mcp__git__tool_{number}" for number in range(99))])
    assert len(found.namespaces or ()) == 10
    assert (found.namespaces or {})["mcp__git"] == 99
    assert found.for_example is None
    assert len(msgspec.json.encode(describe_none(["x" * 5_000]))) < 300


def test_every_tool_has_a_title_a_description_and_schemas():
    for name, tool in TOOLS.items():
        assert tool.name == name
        assert tool.title not in (name, "")
        assert tool.description
        schema = schema_of(tool.arguments)
        assert schema["additionalProperties"] is False
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.Draft202012Validator.check_schema(answer_schema(tool.answer))


def test_the_instructions_name_every_step():
    text = write_instructions("There are tools.", "call it", "Ask first.")
    assert text.startswith("There are tools. Call search_tools")
    for step in ("tool_info", "then call it.", "Ask first.", "list_tools_meta"):
        assert step in text
