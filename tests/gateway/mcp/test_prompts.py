"""The prompts of the gateway do what they say, and so does a search of servers that are gone."""

from collections.abc import Iterator

import pytest
from mcp import MCPError

from tests.gateway.mcp.hosts import Host, inside, stdio_server
from tests.support import until


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """Yield a host with a server that answers and one that does not."""
    servers = {"notes": stdio_server(), "gone": {"command": "/nonexistent/server"}}
    with inside(tmp_path_factory.mktemp("prompts"), servers) as started:
        until(lambda: "notes__list_notes" in started.names())
        yield started


def prompt(office: Host, name: str, **arguments: str) -> str:
    result = office.portal.call(office.client.get_prompt, name, arguments)
    (message,) = result.messages
    text: str = message.content.text
    return text


def test_a_host_lists_them_with_their_arguments(office: Host):
    listed = office.portal.call(office.client.list_prompts)
    arguments = {one.name: [a.name for a in one.arguments or ()] for one in listed}
    assert arguments == {"discover": [], "find_tool": ["task"], "backend_status": []}


def test_find_tool_shows_the_best_tool_and_its_schema(office: Host):
    text = prompt(office, "find_tool", task="list the notes of a folder")
    assert "The best tool is `notes__list_notes`" in text
    assert '"folder":{"default":"inbox","type":"string"}' in text
    assert "Call it with call_tool if it only reads, else with call_tool_write." in text


def test_find_tool_says_that_nothing_fits(office: Host):
    text = prompt(office, "find_tool", task="quantum zebra xyzzy")
    count = len(office.names())
    assert f"No tool fits this query. There are {count} tools: try other words." in text


def test_discover_says_how_a_tool_is_found_and_called(office: Host):
    text = prompt(office, "discover")
    for step in ("search_tools", "call_tool_write", "token", "toolscout://overview"):
        assert step in text


def test_find_tool_needs_a_task(office: Host):
    with pytest.raises(MCPError, match="task: expected a text"):
        prompt(office, "find_tool")


@pytest.mark.parametrize("more", [{}, {"namespace": "GONE"}], ids=["anywhere", "there"])
def test_a_search_without_a_result_says_which_servers_do_not_answer(
    office: Host, more: dict[str, str]
):
    answer = office.ask("search_tools", query="quantum zebra xyzzy", **more)
    assert answer["tools"] == []
    assert list(answer["unavailable"]) == ["gone"]
    elsewhere = office.ask("search_tools", query="quantum zebra xyzzy", namespace="notes")
    assert "unavailable" not in elsewhere


def test_a_search_with_a_result_says_too_which_servers_are_missing(office: Host):
    answer = office.ask("search_tools", query="list the notes")
    assert answer["tools"]
    assert list(answer["unavailable"]) == ["gone"]


def test_backend_status_tells_which_servers_answer(office: Host):
    first, second = prompt(office, "backend_status").splitlines()
    assert first == f"notes: answers, {len(office.names())} tools"
    assert second.startswith("gone: does not answer: ")
