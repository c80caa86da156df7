"""A result takes two turns: a search that shows how to call, and the call by its kind."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateway.mcp.hosts import Host, connected, host, inside, listening, stdio_server, text_of
from tests.gateway.mcp.hosts import write as written
from tests.support import until
from toolscout.metatools import finds

RARE = {"list_tools_meta", "get_required_keys_for_tool", "tool_info", "get_tool_schemas"}


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Host]:
    with inside(tmp_path, {"notes": stdio_server()}) as started:
        until(lambda: started.names() != set())
        yield started


def test_the_best_hit_comes_with_its_schema_and_the_others_in_a_line(office: Host):
    answer = office.ask("search_tools", query="send a note to everybody", top_k=8)
    best, others = answer["tools"][0], answer["more"]
    assert best["name"] == "notes__send_note"
    assert best["input_schema"]["required"] == ["text"]
    assert best["call"] == "call_tool_write"
    for line in others:
        caller, shown = line.split(" ", 1)
        assert caller in ("call_tool", "call_tool_write")
        assert shown.startswith("notes__")
        assert "input_schema" not in line


def test_what_a_search_has_shown_is_called_without_a_token(office: Host):
    assert office.change("notes__send_note", text="tea").is_error
    assert office.found("send a note to everybody")[0] == "notes__send_note"
    assert text_of(office.change("notes__send_note", text="tea")) == "sent tea"


def test_what_a_search_has_named_in_a_line_is_not_read(
    office: Host, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(finds, "SCHEMA_TOKENS", 0)
    answer = office.ask("search_tools", query="list the notes of a folder", top_k=8)
    (line,) = (one for one in answer["more"] if "erase_notebook" in one)
    assert line == "call_tool_write notes__erase_notebook(name: string): Erase a whole notebook."
    refused = office.change("notes__erase_notebook", name="diary")
    assert refused.is_error
    shown = office.ask("search_tools", names=["erase_notebook"])["tools"]
    assert shown == [json.loads(text_of(refused))["tool"]]
    assert shown[0]["requires_confirmation"]
    assert text_of(office.change("notes__erase_notebook", name="diary")) == "erased diary"


def test_names_show_definitions_and_unknown_ones_similar_names(office: Host):
    answer = office.ask("search_tools", names=["count_words", "notes__list_note", "countWords"])
    assert [tool["name"] for tool in answer["tools"]] == ["notes__count_words"]
    (error,) = answer["errors"]
    assert error["name"] == "notes__list_note"
    assert "notes__list_notes" in error["suggestions"]
    assert "neither `query` nor `queries` nor `names`" in text_of(office.send("search_tools", {}))


def test_tools_are_pinned_by_patterns_and_servers(tmp_path: Path):
    pinned = ["notes__*_note", "server:other", "notes__nothing*"]
    servers = {"notes": stdio_server(), "other": stdio_server()}
    with inside(tmp_path, servers, pinned=pinned) as office:
        until(lambda: "other__send_note" in office.names())
        listed = {tool.name for tool in office.tools()}
        assert {name for name in listed if name.startswith("notes__")} == {"notes__send_note"}
        assert {"other__send_note", "other__list_notes"} <= listed


def test_several_queries_have_an_answer_each(office: Host):
    asked = ["send a note to everybody", "list the notes of a folder"]
    answers = office.ask("search_tools", queries=asked)["answers"]
    assert [answers[one]["tools"][0]["name"] for one in asked] == [
        "notes__send_note",
        "notes__list_notes",
    ]
    assert text_of(office.change("notes__send_note", text="tea")) == "sent tea"  # it was read
    answers = office.ask("search_tools", query=" ", queries=asked[:1])["answers"]
    assert [*answers] == asked[:1]
    for wrong in ([], ["one"] * 6, ["one", " "]):
        assert office.send("search_tools", {"queries": wrong}).is_error


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "notes__count_words was not called: `seconds` is missing"),
        ({"seconds": "soon"}, '`seconds` has to be a number, got "soon"'),
        ({"second": 1}, "`second` is unknown: did you mean `seconds`?"),
    ],
)
def test_arguments_are_checked_before_a_call_goes_out(office: Host, arguments, said: str):
    refused = office.send("call_tool", {"name": "notes__count_words", "arguments": arguments})
    assert refused.is_error
    answer = json.loads(text_of(refused))
    assert said in answer["error"]
    assert answer["input_schema"]["required"] == ["seconds"]


def test_the_wrong_call_answers_with_the_right_one(office: Host):
    office.ask("search_tools", names=["notes__send_note"])
    call = {"name": "notes__send_note", "arguments": {"text": "tea"}}
    wrong = office.send("call_tool", call)
    assert wrong.is_error
    assert text_of(wrong).endswith("repeat the call through call_tool_write")
    assert not office.send("call_tool_write", call).is_error


def test_a_host_can_allow_reads_alone(office: Host):
    tools = {tool.name: tool.annotations for tool in office.tools()}
    assert list(tools) == ["search_tools", "call_tool", "call_tool_write"]
    assert tools["search_tools"].read_only_hint
    assert tools["call_tool"].read_only_hint
    assert not tools["call_tool_write"].read_only_hint
    assert tools["call_tool_write"].destructive_hint


def test_rare_tools_are_listed_on_demand(tmp_path: Path):
    with inside(tmp_path, {"notes": stdio_server()}, "--all-meta-tools") as office:
        until(lambda: office.names() != set())
        assert {tool.name for tool in office.tools()} >= RARE
        answer = office.ask("get_tool_schemas", names=["notes__list_notes"])
        assert answer["schemas"][0]["call"] == "call_tool"


def test_a_tool_that_shows_no_effect_has_the_risk_of_its_server(tmp_path: Path):
    sums = {**stdio_server("sums"), "default_risk": "read_only"}
    with inside(tmp_path, {"odd": stdio_server("sums"), "sums": sums}) as office:
        until(lambda: {"odd__product", "sums__product"} <= office.names())
        names = ("odd__product", "sums__product", "sums__delete_sum")
        shown = office.ask("search_tools", names=list(names))["tools"]
    assert [tool["name"] for tool in shown] == list(names)
    assert [tool.get("risk") for tool in shown] == ["write_remote", None, "destructive"]
    assert [tool["call"] for tool in shown] == ["call_tool_write", "call_tool", "call_tool_write"]


@pytest.mark.integration
def test_hosts_without_sessions_over_http_do_not_open_tools_for_each_other(tmp_path: Path):
    config = written(tmp_path, {"notes": stdio_server()})
    command = ["-m", "toolscout", "mcp", "--config", str(config), "--http", "127.0.0.1:PORT"]
    with (
        listening(tmp_path, *command) as (url, _),
        connected(url, tmp_path, mode="auto") as one,
        connected(url, tmp_path, mode="auto") as other,
    ):
        until(lambda: one.found("send a note to everybody") != [])
        (tool,) = one.ask("search_tools", names=["notes__send_note"])["tools"]
        assert other.change("notes__send_note", text="tea").is_error
        call = {"name": tool["name"], "arguments": {"text": "tea"}, "token": tool["token"]}
        assert text_of(one.send("call_tool_write", call)) == "sent tea"


@pytest.mark.integration
def test_two_turns_suffice_over_stdio(tmp_path: Path):
    with host(tmp_path, {"notes": stdio_server()}) as office:
        until(lambda: office.names() != set())
        best = office.ask("search_tools", query="erase a whole notebook")["tools"][0]
        result = office.send(best["call"], {"name": best["name"], "arguments": {"name": "diary"}})
        assert text_of(result) == "erased diary"
