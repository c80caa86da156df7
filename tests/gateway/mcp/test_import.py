"""`toolscout import` registers the tools of servers at a running service."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.mcp.hosts import SERVERS, listening, stdio_server, write
from tests.support import Process
from toolscout.cli import main

pytestmark = pytest.mark.integration

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Import servers; returns the exit status and what was printed."""

    def run(servers: dict[str, Any], url: str, catalog: str = "office") -> tuple[int, str, str]:
        config = str(write(tmp_path, servers))
        status = main(["import", "--mcp", config, "--catalog", catalog, "--url", url])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def test_tools_of_all_servers_are_registered_and_changes_reported(
    server: Process, tmp_path: Path, run: Run
):
    with listening(tmp_path, str(SERVERS / "notes.py"), "PORT") as (url, _):
        first = {"notes": stdio_server(allow=["list_*", "send_*"]), "web": {"url": url}}
        status, printed, _ = run(first, server.url)
        assert status == 0
        assert printed.startswith(
            "office: 10 tools\nadded: notes__list_notes, notes__send_note, web_"
        )
        assert server.names("list the notes", catalog="office")[0].endswith("__list_notes")
        assert run(first, server.url)[1] == "office: 10 tools\nnothing has changed\n"
        other = {"upsert": [{"name": "web__crash", "description": "Something else"}]}
        server.send("PATCH", "/v1/catalogs/office", json.dumps(other).encode())
        second = {"notes": stdio_server(allow=["list_*", "crash"]), "web": {"url": url}}
        assert run(second, server.url)[1].splitlines() == [
            "office: 10 tools",
            "added: notes__crash",
            "removed: notes__send_note",
            "changed: web__crash",
        ]


@pytest.mark.parametrize(
    ("servers", "url", "said"),
    [
        ({"gone": {"command": "/no/such/program"}}, None, "gone is unavailable: its command"),
        ({"notes": stdio_server()}, "http://127.0.0.1:9", "http://127.0.0.1:9 does not answer"),
        ({"notes": stdio_server()}, "ftp://x", "--url: expected an http(s) URL"),
    ],
)
def test_what_cannot_be_reached_is_said_in_a_line(server: Process, run: Run, servers, url, said):
    status, printed, wrong = run(servers, url or server.url)
    assert (status, printed) == (2, "")
    assert said in wrong.splitlines()[-1]
    assert "Traceback" not in wrong


def test_a_service_that_refuses_says_why(keyed: Process, run: Run):
    status, printed, wrong = run({"notes": stdio_server()}, keyed.url)
    assert (status, printed) == (2, "")
    assert wrong.endswith("refuses (401): give one of its keys in TOOLSCOUT_API_KEY\n")


TOOL = {"name": "listPets", "description": "List the pets of a shop"}
OPERATION = {"operationId": "listPets", "summary": "List the pets of a shop"}
DOCUMENT = {"openapi": "3.0.3", "info": {}, "paths": {"/pets": {"get": OPERATION}}}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("list.json", json.dumps([TOOL])),
        ("answer.json", json.dumps({"tools": [TOOL]}, indent=1)),
        ("list.yaml", "- name: listPets\n  description: List the pets of a shop"),
        ("api.yaml", json.dumps(DOCUMENT, indent=1)),
        ("api.json", json.dumps(DOCUMENT, indent=1)),
        ("minified.json", json.dumps(DOCUMENT)),
        ("named.json", "\n" + json.dumps({"name": "pets", "tools": [TOOL]})),
    ],
)
def test_the_tools_of_a_file_become_a_catalog(server: Process, tmp_path, capsys, name, content):
    path = tmp_path / name
    path.write_text(content)
    arguments = ["import", "--tools", str(path), "--catalog", name, "--url", server.url]
    assert main(arguments) == 0
    assert capsys.readouterr().out == f"{name}: 1 tool\nadded: listPets\n"
    assert server.names("which pets are there", catalog=name) == ["listPets"]


def test_of_many_changes_some_are_named_and_the_others_counted(server: Process, tmp_path, capsys):
    path = tmp_path / "many.json"
    path.write_text(json.dumps([TOOL | {"name": f"list_{100 + number}"} for number in range(242)]))
    assert main(["import", "--tools", str(path), "--catalog", "many", "--url", server.url]) == 0
    first, named = capsys.readouterr().out.splitlines()
    assert first == "many: 242 tools"
    assert named.startswith("added: list_100, list_101, ")
    assert named.endswith("list_109 and 232 more")


@pytest.mark.parametrize(
    ("name", "content", "catalog", "says"),
    [
        ("api.json", json.dumps(DOCUMENT), "a?b=1", "catalog: expected 1 to 128 of"),
        ("mcp.json", '{"mcpServers": {}}', "mine", "toolscout import --mcp"),
        ("cut.json", '[{"name":', "mine", "cut.json:1:10: not valid JSON"),
    ],
)
def test_what_cannot_become_a_catalog_is_refused(tmp_path, capsys, name, content, catalog, says):
    path = tmp_path / name
    path.write_text(content)
    assert main(["import", "--tools", str(path), "--catalog", catalog]) == 2
    assert says in capsys.readouterr().err
