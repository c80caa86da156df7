"""`toolscout import` registers the tools of servers at a running service."""

import json
from pathlib import Path

import pytest

from tests.gateway.mcp.hosts import SERVERS, listening, stdio_server, write
from tests.support import Server, toolscout


def run(config: Path, url: str, catalog: str = "office"):
    command = ["import", "--mcp", str(config), "--catalog", catalog, "--url", url]
    done = toolscout(*command)
    assert "Traceback" not in done.stderr
    return done


def test_tools_of_all_servers_are_registered_and_changes_reported(server: Server, tmp_path: Path):
    with listening(tmp_path, str(SERVERS / "notes.py"), "PORT") as (url, _):
        first = {"notes": stdio_server(allow=["list_*", "send_*"]), "web": {"url": url}}
        done = run(write(tmp_path, first), server.url)
        assert done.returncode == 0, done.stderr
        assert "office: 10 tools" in done.stdout
        assert "added: notes__list_notes, notes__send_note, web__" in done.stdout
        assert server.names("list the notes", catalog="office")[0].endswith("__list_notes")
        assert run(write(tmp_path, first), server.url).stdout == (
            "office: 10 tools\nnothing has changed\n"
        )
        second = {"notes": stdio_server(allow=["list_*", "crash"]), "web": {"url": url}}
        assert run(write(tmp_path, second), server.url).stdout == (
            "office: 10 tools\nadded: notes__crash\nremoved: notes__send_note\n"
        )


def test_a_tool_that_a_server_describes_anew_is_reported(server: Server, tmp_path: Path):
    config = write(tmp_path, {"notes": stdio_server()})
    run(config, server.url, "library")
    other = {"upsert": [{"name": "notes__crash", "description": "Something else"}]}
    server.send("PATCH", "/v1/catalogs/library", json.dumps(other).encode())
    assert run(config, server.url, "library").stdout == "library: 8 tools\nchanged: notes__crash\n"


@pytest.mark.parametrize(
    ("servers", "url", "said"),
    [
        ({"gone": {"command": "/no/such/program"}}, None, "gone is unavailable: its command"),
        ({"notes": stdio_server()}, "http://127.0.0.1:9", "http://127.0.0.1:9 does not answer"),
        ({"notes": stdio_server()}, "ftp://x", "url: expected an http:// or https:// URL"),
    ],
)
def test_what_cannot_be_reached_is_said_in_a_line(
    server: Server, tmp_path: Path, servers, url, said
):
    done = run(write(tmp_path, servers), url or server.url)
    assert done.returncode == 2
    assert done.stdout == ""
    assert said in done.stderr.splitlines()[-1]


def test_a_service_that_refuses_says_why(keyed: Server, tmp_path: Path):
    done = run(write(tmp_path, {"notes": stdio_server()}), keyed.url)
    assert done.returncode == 2
    assert "the service refused: " in done.stderr
