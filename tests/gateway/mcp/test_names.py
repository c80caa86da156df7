"""Names as hosts and models write them: with prefixes of the host, without a server, mistyped."""

from collections.abc import Iterator

import pytest

from tests.gateway.mcp.hosts import Host, inside, raw_server, text_of

pytestmark = pytest.mark.integration

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
