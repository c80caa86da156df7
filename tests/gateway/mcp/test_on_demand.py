"""Servers start when they are called; until then their tools are known from the last time."""

import json
import os
import stat
import time
from pathlib import Path

import mcp_types
import pytest

from tests.gateway.mcp.hosts import SERVERS, Host, inside, stdio_server, text_of
from tests.support import until
from toolscout.gateway.mcp import cache as lists
from toolscout.gateway.mcp import connection, view
from toolscout.gateway.mcp.cache import ListCache, find_user_folder
from toolscout.gateway.mcp.servers import StdioServer
from toolscout.gateway.mcp.tool_pages import ToolPages

STARTED = "notes: the key is"
"""What the server writes when it starts."""


def status(office: Host) -> str:
    result = office.portal.call(office.client.get_prompt, "backend_status")
    text: str = result.messages[0].content.text
    return text


def test_a_server_whose_list_is_known_starts_at_its_first_call(tmp_path: Path):
    servers = {"notes": stdio_server()}
    with inside(tmp_path, servers) as office:
        until(lambda: status(office) == "notes: answers, 8 tools")
        assert "listing the tools of notes" in office.stderr
    (tmp_path / "stderr").unlink()
    with inside(tmp_path, servers) as office:
        best = office.ask("search_tools", query="list the notes of a folder")
        assert best["tools"][0]["name"] == "notes__list_notes"
        assert "unavailable" not in best
        assert status(office) == "notes: starts when called, 8 tools"
        assert STARTED not in office.stderr
        assert not office.call("notes__list_notes").is_error
        assert status(office) == "notes: answers, 8 tools"
        until(lambda: office.stderr.count(STARTED) == 1)


def test_an_eager_server_runs_from_the_start_and_is_searched_at_once(tmp_path: Path):
    servers = {"notes": stdio_server(start="eager", env={"START_S": "1"})}
    for _ in range(2):
        with inside(tmp_path, servers) as office:
            until(lambda: STARTED in office.stderr)
            until(lambda: office.found("list the notes of a folder") != [])
            assert not office.call("notes__list_notes").is_error
        (tmp_path / "stderr").unlink()


def test_a_server_without_calls_is_stopped_and_starts_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(connection, "CHECK_S", 1.0)
    with inside(tmp_path, {"notes": stdio_server(idle_timeout=0.2)}) as office:
        until(lambda: office.names() != set())
        assert not office.call("notes__list_notes").is_error
        until(lambda: "notes: stopped until it is called" in office.stderr)
        assert status(office) == "notes: starts when called, 8 tools"
        assert office.found("list the notes of a folder")[0] == "notes__list_notes"
        assert office.call("notes__count_words", seconds=0.6).structured_content == {"result": 7}
        until(lambda: office.stderr.count("stopped until it is called") == 2)


def test_a_server_that_was_only_listed_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection, "LINGER_S", 0.1)
    with inside(tmp_path, {"notes": stdio_server(), "more": stdio_server(start="eager")}) as office:
        until(lambda: "notes: starts when called, 8 tools" in status(office))
        until(lambda: "more: answers, 8 tools" in status(office))
        assert not office.call("notes__list_notes").is_error
        time.sleep(0.3)  # which it would not survive
        assert "notes: answers, 8 tools" in status(office)


def test_an_old_list_is_read_again_without_a_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    servers = {"notes": stdio_server()}
    with inside(tmp_path, servers) as office:
        until(lambda: office.names() != set())
    (tmp_path / "stderr").unlink()
    (kept,) = (tmp_path / "cache" / "toolscout" / "mcp").iterdir()
    day_before = time.time() - lists.MAX_AGE_S
    os.utime(kept, (day_before, day_before))
    with inside(tmp_path, servers) as office:
        assert "notes__list_notes" in office.names()
        until(lambda: STARTED in office.stderr)
        until(lambda: kept.stat().st_mtime > day_before + 60)


def test_a_tool_that_is_no_longer_as_it_was_listed_is_not_called_before_it_is_shown(tmp_path: Path):
    servers = {"notes": stdio_server()}
    with inside(tmp_path, servers) as office:
        until(lambda: office.names() != set())
    (kept,) = (tmp_path / "cache" / "toolscout" / "mcp").iterdir()
    content = kept.read_bytes()
    kept.write_bytes(content.replace(b"List the notes of a folder.", b"List nothing at all."))
    pinned = ["notes__list_notes"]
    with inside(tmp_path, servers, pinned=pinned) as office:
        (before,) = (tool for tool in office.tools() if tool.name in pinned)
        assert before.description == "List nothing at all."
        refused = office.call("notes__list_notes")
        assert refused.is_error
        shown = json.loads(text_of(refused))
        assert shown["error"].startswith("notes__list_notes has changed and is read_only")
        assert shown["tool"]["description"] == "List the notes of a folder."
        assert not office.call_again(refused).is_error
        until(lambda: office.told_of_changes > 0)
        (after,) = (tool for tool in office.tools() if tool.name in pinned)
        assert after.description == "List the notes of a folder."
        assert not office.call("notes__list_notes").is_error


def test_a_tool_that_is_gone_when_its_server_starts_is_said_to_be(tmp_path: Path):
    servers = {"notes": stdio_server()}
    with inside(tmp_path, servers) as office:
        until(lambda: office.names() != set())
    (kept,) = (tmp_path / "cache" / "toolscout" / "mcp").iterdir()
    kept.write_bytes(kept.read_bytes().replace(b'"list_notes"', b'"list_every_note"'))
    with inside(tmp_path, servers) as office:
        gone = office.call("notes__list_every_note")
        assert gone.is_error
        assert text_of(gone).startswith("there is no tool of this name")
        assert not office.call("notes__list_notes").is_error


def test_a_server_that_does_not_start_any_more_is_answered_in_a_line(tmp_path: Path):
    script = tmp_path / "server.py"
    script.symlink_to(SERVERS / "notes.py")
    servers = {"notes": {**stdio_server(), "args": [str(script)]}}
    with inside(tmp_path, servers) as office:
        until(lambda: office.names() != set())
    script.unlink()
    with inside(tmp_path, servers) as office:
        failed = office.call("notes__list_notes")
        assert failed.is_error
        again = "its process has ended; it is being started again"
        assert text_of(failed) == f"notes is unavailable: {again}"
        assert list(office.ask("search_tools", query="list the notes")["unavailable"]) == ["notes"]


def test_the_first_search_names_the_servers_that_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(view, "START_S", 0.2)
    servers = {"notes": stdio_server(), "slow": stdio_server(env={"START_S": "60"})}
    with inside(tmp_path, servers) as office:
        until(lambda: office.names() != set())
        answer = office.ask("search_tools", query="list the notes of a folder")
        assert answer["tools"][0]["name"] == "notes__list_notes"
        assert answer["unavailable"] == {"slow": "it is still starting"}


def test_without_a_cache_nothing_is_written_and_nothing_read(tmp_path: Path):
    for _ in range(2):
        with inside(tmp_path, {"notes": stdio_server()}, "--no-cache") as office:
            until(lambda: STARTED in office.stderr)
            until(lambda: office.names() != set())
        (tmp_path / "stderr").unlink()
    assert not (tmp_path / "cache").exists()


def test_lists_are_kept_for_their_owner_alone_and_no_key_with_them(tmp_path: Path):
    server = StdioServer(command="notes", env={"KEY": "sesame"})
    cache = ListCache(tmp_path / "lists")
    tool = mcp_types.Tool(name="read", input_schema={"type": "object"})
    cache.save(server, ToolPages((tool,), is_cut=True))
    kept = cache.load(server)
    assert kept is not None
    assert kept[0] == ToolPages((tool,), is_cut=True)
    assert kept[1] < 60
    (file,) = (tmp_path / "lists").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert "sesame" not in file.read_text() + file.name
    for other in (StdioServer(command="notes"), StdioServer(command="notes", env={"KEY": "x"})):
        assert cache.load(other) is None
    for damaged in (b"", b"[1]", b'{"tools": [{}]}', b"\xff"):
        file.write_bytes(damaged)
        assert cache.load(server) is None


def test_the_oldest_lists_go_where_all_are_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(lists, "MAX_BYTES", 1_200)
    cache = ListCache(tmp_path)
    tool = mcp_types.Tool(name="read", description="x" * 400, input_schema={"type": "object"})
    servers = [StdioServer(command=str(number)) for number in range(4)]
    for server in servers:
        cache.save(server, ToolPages((tool,)))
        for path in tmp_path.iterdir():  # as if each was written a minute after the one before
            age = path.stat().st_mtime - 60
            os.utime(path, (age, age))
    assert [cache.load(server) is not None for server in servers] == [False, False, True, True]
    unwritable = ListCache(tmp_path / "0" / "file")
    (tmp_path / "0").write_text("no folder", "utf-8")
    unwritable.save(servers[0], ToolPages((tool,)))
    assert unwritable.load(servers[0]) is None


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"XDG_CACHE_HOME": "/c", "HOME": "/h"}, Path("/c/toolscout/mcp")),
        ({"XDG_CACHE_HOME": "c", "HOME": "/h"}, Path("/h/.cache/toolscout/mcp")),
        ({"HOME": "/h"}, Path("/h/.cache/toolscout/mcp")),
        ({}, None),
    ],
)
def test_the_folder_is_where_caches_belong(environ: dict[str, str], folder: Path | None):
    assert find_user_folder(environ, "XDG_CACHE_HOME", ".cache") == folder


def test_the_lists_of_another_user_are_left_alone(tmp_path, monkeypatch, caplog):
    cache, server = ListCache(tmp_path / "lists"), StdioServer(command="x")
    cache.save(server, ToolPages(()))
    assert cache.load(server) is not None
    others = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: others)
    assert cache.load(server) is None
    (kept,) = (tmp_path / "lists").iterdir()
    before = kept.read_bytes()
    cache.save(server, ToolPages((), ttl_s=5.0))
    assert kept.read_bytes() == before
    assert "another user owns that folder" in caplog.text
