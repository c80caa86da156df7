"""Resources and prompts of servers: listed, read and linked to under names of the gateway."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from mcp import MCPError

from tests.gateway.mcp.hosts import Host, host, inside, stdio_server, text_of
from tests.support import until
from toolscout.gateway.mcp import tool_pages
from toolscout.gateway.mcp.failures import redact
from toolscout.gateway.mcp.tool_pages import read_texts

BOOK = "toolscout://library/book://shelf/moby-dick"


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Host]:
    servers = {"notes": stdio_server(), "library": stdio_server("library", deny=["*secret*"])}
    with inside(tmp_path, servers) as started:
        until(lambda: "library__find_book" in started.names())
        yield started


def uris(host: Host) -> list[str]:
    return [str(one.uri) for one in host.portal.call(host.client.list_resources)]


def read(host: Host, uri: str) -> Any:
    (content,) = host.portal.call(host.client.read_resource, uri)
    return content


def prompts(host: Host) -> dict[str, mcp_types.Prompt]:
    return {one.name: one for one in host.portal.call(host.client.list_prompts)}


def test_resources_and_templates_of_all_servers_are_listed_and_read(office: Host):
    *own, listed = office.portal.call(office.client.list_resources)
    assert [str(one.uri) for one in own] == ["toolscout://overview", "toolscout://index"]
    assert str(listed.uri) == BOOK
    assert (listed.title, listed.description) == ("Moby-Dick", "Tell of a whale.")
    _, template = office.portal.call(office.client.list_resource_templates)
    assert template.uri_template == "toolscout://library/pages://{book}/{page}"
    content = read(office, BOOK)
    assert (str(content.uri), content.text) == (BOOK, "Call me Ishmael.")
    assert read(office, "toolscout://library/pages://emma/3").text == "page 3 of emma"
    assert read(office, BOOK.replace("library", "Library")).text == "Call me Ishmael."


def test_an_overview_and_an_index_of_all_tools_are_read(office: Host):
    overview, *servers = read(office, "toolscout://overview").text.split("\n")
    lines = read(office, "toolscout://index").text.split("\n")
    assert overview == f"{len(office.names())} tools"
    assert [line.partition(" (")[0] for line in servers] == ["notes", "library"]
    assert {line.partition(": ")[0] for line in lines} == office.names()
    assert "notes__list_notes: List the notes of a folder." in lines


def test_a_tool_is_read_whole_by_its_name_in_any_spelling(office: Host):
    own, _ = office.portal.call(office.client.list_resource_templates)
    assert (own.uri_template, own.mime_type) == ("toolscout://tool/{name}", "application/json")
    whole = office.ask("tool_info", name="notes__list_notes", detail="full")
    for name in ("notes__list_notes", "list_notes", "notes%5F%5Flist_notes"):
        content = read(office, f"toolscout://tool/{name}")
        assert (json.loads(content.text), content.mime_type) == (whole, "application/json")
    with pytest.raises(MCPError, match="no tool of this name; near: notes__list_notes"):
        read(office, "toolscout://tool/notes__list_note")
    with pytest.raises(MCPError, match="no tool of this name"):
        read(office, "toolscout://tool/")


def test_a_tool_that_is_not_offered_is_not_read(tmp_path: Path):
    servers = {"notes": stdio_server(deny=["list_*"])}
    with inside(tmp_path, servers, max_risk="read_only") as office:
        until(lambda: "notes__read_sketch" in office.names())
        for hidden in ("notes__list_notes", "notes__erase_notebook"):
            with pytest.raises(MCPError, match="no tool of this name"):
                read(office, f"toolscout://tool/{hidden}")


def test_a_tool_that_was_read_may_be_called_without_a_token(office: Host):
    assert office.change("notes__erase_notebook", name="x").is_error
    read(office, "toolscout://tool/notes__erase_notebook")
    assert "check its definition" not in text_of(office.change("notes__erase_notebook", name="x"))


def test_a_server_that_is_called_tool_has_its_own_resources(tmp_path: Path):
    with inside(tmp_path, {"tool": stdio_server("library")}) as office:
        until(lambda: BOOK.replace("library", "tool") in uris(office))
        assert read(office, BOOK.replace("library", "tool")).text == "Call me Ishmael."


def test_what_is_not_there_or_denied_is_not_read(office: Host):
    for uri in (
        "toolscout://library/book://shelf/secret",
        "toolscout://library/book://shelf/%73ecret",
        "toolscout://library/BOOK://SHELF/SECRET",
        "toolscout://library/book://shelf/none",
        "toolscout://gone/book://shelf/moby-dick",
        "toolscout://library/",
        "toolscout://library",
        "book://shelf/moby-dick",
        "file:///etc/passwd",
    ):
        with pytest.raises(MCPError, match="esource"):
            read(office, uri)
    assert "secret" not in str(uris(office))


def test_prompts_of_all_servers_are_listed_and_written(office: Host):
    own = {"discover", "find_tool", "backend_status"}
    assert set(prompts(office)) == {*own, "library__summarise"}
    assert prompts(office)["library__summarise"].description == "Summarise a book in a few words."
    get = office.client.get_prompt_mcp
    text, embedded = office.portal.call(get, "library__summarise", {"title": "Emma"}).messages
    assert text.content.text == "Summarise Emma"
    assert str(embedded.content.resource.uri) == BOOK
    for name in ("library__none", "gone__summarise", "summarise"):
        with pytest.raises(MCPError):
            office.portal.call(get, name, {})


def test_what_a_result_links_to_is_read(office: Host):
    link, embedded = office.call("library__find_book", title="Moby-Dick").content
    assert str(embedded.resource.uri) == BOOK
    assert read(office, str(link.uri)).text == "page 7 of moby-dick"


def test_a_new_resource_is_listed_and_told(office: Host):
    before = office.told_of_resources
    assert text_of(office.call("library__buy_book")) == "bought"
    until(lambda: "toolscout://library/book://shelf/ulysses" in uris(office))
    until(lambda: office.told_of_resources > before)


def test_a_server_starts_when_its_resource_is_read(tmp_path: Path):
    servers = {"library": stdio_server("library", env={"READ": str(tmp_path / "read")})}
    with inside(tmp_path, servers) as first:
        until(lambda: BOOK in uris(first))
    with inside(tmp_path, servers) as second:
        assert BOOK in uris(second)
        assert "library__summarise" in prompts(second)
        assert "starts when called" in str(
            second.portal.call(second.client.get_prompt_mcp, "backend_status", {})
        )
        assert read(second, BOOK).text == "Call me Ishmael."
        assert (tmp_path / "read").exists()


def test_a_server_that_is_down_says_so(tmp_path: Path):
    servers = {"gone": {"command": "/no/such/program"}, "notes": stdio_server()}
    with inside(tmp_path, servers) as office:
        with pytest.raises(MCPError, match="gone is unavailable: its command"):
            read(office, "toolscout://gone/book://x")
        with pytest.raises(MCPError, match="gone is unavailable: its command"):
            office.portal.call(office.client.get_prompt_mcp, "gone__x", {})


class Pages:
    """A server with one list of resources, of which some pages are none."""

    def __init__(self, *pages: Any) -> None:
        self.pages = pages
        resources = mcp_types.ResourcesCapability()
        self.server_capabilities = mcp_types.ServerCapabilities(resources=resources)

    async def list_resources(
        self, params: mcp_types.PaginatedRequestParams
    ) -> mcp_types.ListResourcesResult:
        cursor = int(params.cursor or 0)
        page = self.pages[cursor]
        if isinstance(page, Exception):
            raise page
        resources = [mcp_types.Resource(name="x", uri=uri) for uri in page]
        following = str((cursor + 1) % len(self.pages))
        return mcp_types.ListResourcesResult(resources=resources, next_cursor=following)

    async def list_resource_templates(self, params: mcp_types.PaginatedRequestParams) -> Any:
        raise MCPError(mcp_types.METHOD_NOT_FOUND, "no")


def uris_of(*pages: Any) -> list[str]:
    listed = asyncio.run(read_texts(Pages(*pages)))  # type: ignore[arg-type]
    assert listed["resource_templates"] == ()
    return [one.uri for one in listed["resources"]]


def test_of_a_hostile_list_what_can_be_shown_is_kept(monkeypatch: pytest.MonkeyPatch):
    odd = ["", " ", "a\nb", "a\x1b[31m", "x" * 3_000]
    assert uris_of(["a", "b", "a", *odd], ["c"]) == ["a", "b", "c"]
    assert uris_of(["a"], MCPError(-32603, "broken"), ["c"]) == ["a"]
    with monkeypatch.context() as small:
        small.setattr(tool_pages, "MAX_LIST_BYTES", 1_000)
        assert uris_of(["a"], ["b" * 1_000], ["c"]) == ["a"]
    monkeypatch.setattr(tool_pages, "MAX_TEXTS", 3)
    assert uris_of(list("abcdef")) == ["a", "b", "c"]
    with pytest.raises(MCPError):
        uris_of(MCPError(-32000, "Connection closed"))


def test_no_secret_is_left_in_what_is_logged():
    data = {"a hunter22": ["hunter22", 12345678, {"x": 'he said "hunter22"'}], "b": None, "c": True}
    said = redact(data, ("hunter22", "12345678", "True"))
    assert said == {"a ***": ["***", "***", {"x": 'he said "***"'}], "b": None, "c": "***"}


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:The logging capability")
def test_what_a_server_logs_reaches_its_host_without_secrets(tmp_path: Path):
    servers = {"library": stdio_server("library", env={"LIBRARY_KEY": "hunter22"})}
    with host(tmp_path, servers) as office:
        until(lambda: "library__find_book" in office.names())
        office.call("library__find_book", title="Emma")
        until(lambda: office.logged != [])
        (message,) = office.logged
        assert message.level == "warning"
        assert message.logger.startswith("library")
        assert "looking for Emma with ***" in str(message.data)
        office.portal.call(office.client.set_logging_level, "error")
        office.call("library__find_book", title="Emma")
        office.call("library__buy_book")
        assert len(office.logged) == 1
        assert "requests.py" not in office.stderr  # as in a warning of the SDK
