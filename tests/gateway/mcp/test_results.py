"""Results that are too long for a model: cut, with a note, and read whole by who has called."""

import json
import re
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from mcp import MCPError

from tests.gateway.mcp.hosts import (
    Host,
    connected,
    host,
    inside,
    listening,
    raw_server,
    stdio_server,
    write,
)
from tests.support import until
from toolscout.gateway.mcp import results
from toolscout.gateway.mcp.cache import ListCache, ToolPages
from toolscout.gateway.mcp.config import read_config

LINES = "".join(f"line {number}\n" for number in range(100))
NOTE = re.compile(r"\[(\S+) more characters were left out\. The whole is the resource (\S+)\]")


def long(**more: Any) -> dict[str, Any]:
    return {"long": stdio_server("long", **more)}


def print_lines(host: Host, count: int = 100) -> tuple[str, str | None]:
    """Return the text that a model sees, and the URI of the whole."""
    until(lambda: "long__print_lines" in host.names())
    first, *rest = texts(host.call("long__print_lines", count=count))
    if not rest:
        return first, None
    noted = NOTE.fullmatch(rest[0])
    assert noted is not None
    assert noted[1] == f"{len(LINES) - len(first):,}"
    return first, noted[2]


def texts(result: mcp_types.CallToolResult) -> list[str]:
    return [part.text for part in result.content if isinstance(part, mcp_types.TextContent)]


def read(host: Host, uri: str | None) -> list[str]:
    return [part.text for part in host.portal.call(host.client.read_resource, uri)]


@pytest.mark.integration
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_long_result_is_cut_and_its_host_reads_the_whole(tmp_path: Path, mode: str):
    with host(tmp_path, long(), "--max-result-chars", "20", mode=mode) as office:
        text, uri = print_lines(office)
        assert text == LINES[:20]
        assert read(office, uri) == [LINES]


@pytest.mark.integration
def test_over_http_no_other_session_reads_it(tmp_path: Path):
    config = write(tmp_path, long(), max_result_chars=20)
    command = ["-m", "toolscout", "mcp", "--config", str(config), "--http", "127.0.0.1:PORT"]
    with (
        listening(tmp_path, *command) as (url, _),
        connected(url, tmp_path) as caller,
        connected(url, tmp_path) as other,
    ):
        _, uri = print_lines(caller)
        assert read(caller, uri) == [LINES]
        with pytest.raises(MCPError, match="another session has called the tool"):
            read(other, uri)
        assert print_lines(other)[1] != uri


def test_nothing_is_cut_unless_asked_for_and_none_that_fits(tmp_path: Path):
    with inside(tmp_path, long()) as office:
        assert print_lines(office) == (LINES, None)
    with inside(tmp_path, long(), max_result_chars=len(LINES)) as office:
        assert print_lines(office) == (LINES, None)


def test_a_server_has_its_own_limit_or_none(tmp_path: Path):
    with inside(tmp_path, long(max_result_chars=7), max_result_chars=20) as office:
        assert print_lines(office)[0] == LINES[:7]
    with inside(tmp_path, long(max_result_chars=0), max_result_chars=20) as office:
        assert print_lines(office) == (LINES, None)


@pytest.mark.parametrize(("limit", "shown"), [(15, ["a" * 10, "b" * 5]), (4, ["a" * 4])])
def test_texts_count_together_and_all_but_texts_is_passed_on(
    tmp_path: Path, limit: int, shown: list[str]
):
    with inside(tmp_path, long(), max_result_chars=limit) as office:
        until(lambda: "long__print_album" in office.names())
        album = office.call("long__print_album", fails=True)
        *parts, note = texts(album)
        assert parts == shown
        assert [part.type for part in album.content].count("image") == 1
        assert (album.is_error, album.structured_content) == (True, None)
        noted = NOTE.fullmatch(note)
        assert noted is not None
        assert read(office, noted[2]) == ["a" * 10, "b" * 10]


def test_the_text_of_an_embedded_resource_is_cut_too(tmp_path: Path):
    with inside(tmp_path, long(), max_result_chars=4) as office:
        until(lambda: "long__print_page" in office.names())
        page, note = office.call("long__print_page").content
        assert isinstance(page, mcp_types.EmbeddedResource)
        assert isinstance(note, mcp_types.TextContent)
        assert (page.resource.uri, page.resource.text) == ("toolscout://long/file:///page", "bbbb")
        noted = NOTE.fullmatch(note.text)
        assert noted is not None
        assert read(office, noted[2]) == ["b" * 10]


def test_structure_that_says_more_than_the_text_counts_and_is_kept(tmp_path: Path):
    with inside(tmp_path, long(), max_result_chars=20) as office:
        until(lambda: "long__count_words" in office.names())
        counted = office.call("long__count_words")
        text, note = texts(counted)
        assert (text, counted.structured_content) == ("counted", None)
        noted = NOTE.fullmatch(note)
        assert noted is not None
        assert read(office, noted[2]) == ["counted", json.dumps({"words": ["word"] * 100})]


def test_a_resource_of_a_server_of_a_like_name_is_its_own(tmp_path: Path):
    with inside(tmp_path, {"result-store": stdio_server("long")}) as office:
        until(lambda: "result-store__print_lines" in office.names())
        assert read(office, "toolscout://result-store/file:///lines") == [LINES]


def test_a_result_that_has_made_room_for_newer_ones_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(results, "MAX_BYTES", 4_000)
    monkeypatch.setattr(results, "MAX_RESULTS", 2)
    with inside(tmp_path, long(), max_result_chars=20) as office:
        first, second, third = [print_lines(office)[1] for _ in range(3)]
        assert read(office, second) == read(office, third) == [LINES]
        with pytest.raises(MCPError, match="this result has made room for newer ones") as gone:
            read(office, first)
        assert gone.value.error.data == {"uri": first}
        (text, note) = texts(office.call("long__print_lines", count=1_000))
        assert (len(text), note.endswith("The whole is too large to keep]")) == (20, True)


def test_a_pinned_tool_promises_no_structured_content_that_may_be_left_out(tmp_path: Path):
    pinned = ["long__print_lines"]
    for limit, has_schema in ((0, True), (20, False)):
        with inside(tmp_path, long(), pinned=pinned, max_result_chars=limit) as office:
            listed = {tool.name: tool for tool in office.tools()}["long__print_lines"]
            assert (listed.output_schema is not None) == has_schema
            shown, *_ = texts(office.send("long__print_lines", {"count": 100}))
            assert shown == LINES[: limit or None]


def test_an_older_host_is_promised_no_structured_content_but_objects(tmp_path: Path):
    """A list of 2026-07-28 may promise any, here one that was kept."""
    servers = {"raw": raw_server([])}
    schemas = {"lists": {"type": "array"}, "shows": {"type": "object"}}
    kept = [
        mcp_types.Tool(name=name, input_schema={"type": "object"}, output_schema=schema)
        for name, schema in schemas.items()
    ]
    config = read_config(write(tmp_path, servers), {})
    cache = ListCache(tmp_path / "cache" / "toolscout" / "mcp")
    cache.save(config.servers["raw"], ToolPages(tuple(kept)))
    with inside(tmp_path, servers, pinned=["raw__*"]) as office:
        promised = {tool.name: tool.output_schema for tool in office.tools() if "raw" in tool.name}
    assert promised == {"raw__lists": None, "raw__shows": {"type": "object"}}
