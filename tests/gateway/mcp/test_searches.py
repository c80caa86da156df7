"""What a search of the gateway takes and brings, and in which forms names are taken."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateway.mcp.hosts import Host, inside, raw_server, text_of
from tests.support import TOOLS

pytestmark = pytest.mark.integration

OBJECT = {"type": "object"}
NOTES = [
    {"name": f"{verb}_note", "description": f"{verb.capitalize()} a note", "inputSchema": OBJECT}
    for verb in ("read", "list", "copy", "print", "rename", "send", "erase")
]


def test_tools_that_are_visible_anyway_take_no_place_of_what_a_search_finds(tmp_path: Path):
    pinned = ["notes__read_note", "notes__list_note", "notes__copy_note"]
    with inside(tmp_path, {"notes": raw_server(NOTES)}, pinned=pinned) as office:
        for count in (1, 3, 4):
            found = office.found("a note", top_k=count)
            assert len(set(found) - set(pinned)) == count
        assert office.found("read a note", top_k=1)[0] == "notes__read_note"


def test_a_search_can_be_of_one_domain(tmp_path: Path):
    described = [tool | {"inputSchema": OBJECT} for tool in TOOLS]
    with inside(tmp_path, {"all": raw_server(described)}) as office:
        of_comms = {"all__send_email", "all__list_meetings"}
        assert set(office.found("send a message in code", domain="comms")) == of_comms
        refused = office.send("search_tools", {"query": "send a message", "domain": "nowhere"})
        assert refused.is_error
        assert re.match("domain: no tool has it; tools have .*comms", text_of(refused))


def test_the_namespaces_of_tools_are_servers_whatever_is_in_their_names(tmp_path: Path):
    names = ("GET /users", "dots.in", "deep__nested", "plain")
    tools = [{"name": name, "description": "Read it", "inputSchema": OBJECT} for name in names]
    with inside(tmp_path, {"wx": raw_server(tools)}) as office:
        assert office.ask("search_tools", query="zxqv")["namespaces"] == {"wx": 4}


def test_names_of_arguments_of_other_systems_are_read(tmp_path: Path):
    with inside(tmp_path, {"notes": raw_server(NOTES)}) as office:
        answer = office.ask(
            "search_tools", task_description="read a note", max_results=1, brief=True
        )
        assert answer["tools"][0]["name"] == "notes__read_note"
        assert len(answer["tools"]) == 1
        assert "more" not in answer
        for detail in ("names", "brief", "full"):
            shown = office.ask("search_tools", query="read a note", limit=1, detail=detail)
            assert shown == answer  # it decides by itself how much to show
        by_name = office.ask("search_tools", tool_names=["notes__read_note"])
        assert by_name["tools"] == answer["tools"]
        for wrong in ("whole", ["full"]):
            refused = office.send("search_tools", {"query": "a note", "detail": wrong})
            assert text_of(refused) == "detail: expected one of names, brief, full"
        assert not office.send("call_tool", {"tool_name": "notes__read_note"}).is_error
        (search,) = (tool for tool in office.tools() if tool.name == "search_tools")
        names = search.input_schema["properties"].keys()
        assert names == {"query", "queries", "names", "namespace", "domain", "top_k"}


def test_a_tool_is_shown_in_brief_and_whole_only_when_that_is_asked_for(tmp_path: Path):
    schema = OBJECT | {"properties": {"id": {"type": "string"}}, "required": ["id"]}
    tools = [{"name": "send_note", "description": "Send a note", "inputSchema": schema}]
    with inside(tmp_path, {"notes": raw_server(tools)}) as office:
        brief = office.ask("tool_info", name="send_note")
        assert (brief["parameters"], brief["required"]) == (["id"], ["id"])
        assert "token" not in brief
        assert office.change("notes__send_note", id="1").is_error  # its schema was not read
        whole = office.ask("tool_info", name="send_note", detail="full")
        assert whole["input_schema"] == schema
        assert whole["token"]


# Names as hosts and models write them: with prefixes of the host, without a server, mistyped.


READS = {"inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
GIT = [
    READS | {"name": "status", "description": "Status of the tree"},
    READS | {"name": "get_handoff", "description": "Read what was left to do"},
]
JIRA = [READS | {"name": "board", "description": "Show the tickets of a team"}]


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    servers = {"git": raw_server(GIT), "jira": raw_server(JIRA)}
    with inside(tmp_path_factory.mktemp("names"), servers) as started:
        yield started


@pytest.mark.parametrize(
    "written",
    [
        *("git__status", "status", "mcp__git__status", "mcp__toolscout__git__status"),
        *("toolscout__git__status", "mcp__status", "MCP.git.Status"),
    ],
)
def test_prefixes_of_hosts_are_dropped(office: Host, written: str):
    assert text_of(office.call(written)) == "status"
    assert office.found(written)[0] == "git__status"
    assert office.ask("search_tools", names=[written])["tools"][0]["name"] == "git__status"


@pytest.mark.parametrize("written", ["jira__status", "mcp__jira__status", "other__git__status"])
def test_a_tool_of_another_server_answers_to_no_whole_name(office: Host, written: str):
    refused = office.call(written)
    assert refused.is_error
    assert text_of(refused).startswith("there is no tool of this name")


@pytest.mark.parametrize("written", ["get_handof", "git__get_handof", "mcp__git__get_handof"])
def test_a_mistyped_name_is_answered_with_the_right_one(office: Host, written: str):
    refused = office.call(written)
    assert refused.is_error
    assert text_of(refused) == "there is no tool of this name; near: git__get_handoff"
    (error,) = office.ask("search_tools", names=[written])["errors"]
    assert error["suggestions"] == ["git__get_handoff"]
    assert office.found(written)[0] == "git__get_handoff"
