"""Hosts with keys: who is let in, what each sees, and what follows when the file changes."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any

import httpx2
import pytest
from fastmcp.client.transports import StreamableHttpTransport

from tests.gateway.mcp.hosts import Host, connected, listening, raw_server, text_of, write
from tests.gateway.mcp.test_http import ACCEPTS, HELLO, PING
from tests.support import until
from toolscout.cli import main

pytestmark = pytest.mark.integration

READER = "reader-0123456789abcdefghijklmnopqrst"
WRITER = "writer-0123456789abcdefghijklmnopqrst"
TABLE = f"""# who sees what
readers={READER};namespaces=notes;max_risk=read_only
writers={WRITER}
"""
OBJECT = {"type": "object"}
NOTES = [
    {"name": "list_notes", "description": "List the notes", "inputSchema": OBJECT},
    {"name": "delete_note", "description": "Delete a note", "inputSchema": OBJECT},
]
MAILS = [{"name": "list_mails", "description": "List the mails", "inputSchema": OBJECT}]
SERVERS = {"notes": raw_server(NOTES), "mails": raw_server(MAILS)}


@contextmanager
def gateway(
    folder: Path, table: str = TABLE, flags: Sequence[str] = (), **options: Any
) -> Iterator[tuple[str, Popen[bytes]]]:
    """Run a gateway over HTTP with a file of keys; yield its URL and process."""
    (folder / "keys").write_text(table, "utf-8")
    config = str(write(folder, SERVERS, **options))
    command = ["-m", "toolscout", "mcp", "--config", config, "--keys", str(folder / "keys")]
    with listening(folder, *command, *flags, "--http", "127.0.0.1:PORT") as served:
        yield served


@contextmanager
def host_of(url: str, folder: Path, key: str, mode: str = "legacy") -> Iterator[Host]:
    """Yield a host with a key."""
    transport = StreamableHttpTransport(url, headers={"Authorization": f"Bearer {key}"})
    with connected(transport, folder, mode) as opened:
        yield opened


def post(url: str, key: str, asked: Any = HELLO, **headers: str) -> httpx2.Response:
    sent = {**ACCEPTS, "X-API-Key": key, **headers}
    return httpx2.post(url, json=asked, headers=sent)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_hosts_of_one_gateway_see_what_their_keys_let_them(tmp_path: Path, mode: str):
    with gateway(tmp_path, pinned=["notes__*", "mails__*"]) as (url, _):
        with host_of(url, tmp_path, WRITER, mode) as office:
            until(lambda: len(office.names()) == 3)
            listed = {tool.name for tool in office.tools()}
            assert {"notes__delete_note", "mails__list_mails", "call_tool_write"} <= listed
        with host_of(url, tmp_path, READER, mode) as office:
            assert {tool.name for tool in office.tools()} == {
                "search_tools",
                "call_tool",
                "notes__list_notes",
            }
            assert office.names() == {"notes__list_notes"}
            assert office.found("delete a note or list mails") == ["notes__list_notes"]
            unknown = text_of(office.call("notes__no_such_thing"))
            for name in ("notes__delete_note", "mails__list_mails"):
                assert text_of(office.call(name)) == unknown
                assert text_of(office.send(name, {"x": 1})) == unknown
            assert text_of(office.send("notes__list_notes")) == "list_notes"


def test_what_a_host_is_told_at_the_beginning_names_no_server(tmp_path: Path):
    with gateway(tmp_path) as (url, _):
        assert "mails" not in post(url, READER).text


def test_a_key_that_sees_nothing_is_told_so(tmp_path: Path):
    table = f"nobody={READER};namespaces=none\n"
    with gateway(tmp_path, table) as (url, _), host_of(url, tmp_path, READER) as office:
        search = office.tools()[0]
        assert (search.description or "").endswith("others in a line.")
        assert office.ask("search_tools", query="notes")["total"] == 0


def test_a_session_belongs_to_the_key_that_opened_it(tmp_path: Path):
    with gateway(tmp_path) as (url, _):
        session = post(url, WRITER).headers["mcp-session-id"]
        assert post(url, WRITER, PING, **{"Mcp-Session-Id": session}).status_code == 200
        other = post(url, READER, PING, **{"Mcp-Session-Id": session})
        unknown = post(url, READER, PING, **{"Mcp-Session-Id": "0" * 32})
        assert (other.status_code, other.text) == (unknown.status_code, unknown.text)
        assert other.status_code == 404
        own = post(url, READER).headers["mcp-session-id"]
        for ids in ((own, session), (session, own)):
            sent = [*ACCEPTS.items(), ("X-API-Key", READER), *(("Mcp-Session-Id", i) for i in ids)]
            status = httpx2.post(url, json=PING, headers=sent).status_code
            assert status == (200 if ids[-1] == own else 404)


def test_a_long_result_is_read_by_the_key_that_called_alone(tmp_path: Path):
    with (
        gateway(tmp_path, max_result_chars=3) as (url, _),
        host_of(url, tmp_path, WRITER, "auto") as office,
        host_of(url, tmp_path, READER, "auto") as other,
    ):
        cut = office.call("notes__list_notes").content[-1].text  # type: ignore[union-attr]
        uri = cut.rpartition(" ")[2].rstrip("]")
        assert office.portal.call(office.client.read_resource, uri)[0].text == "list_notes"
        with pytest.raises(Exception, match="another session has called"):
            other.portal.call(other.client.read_resource, uri)


def test_hosts_are_told_of_changes_that_they_see(tmp_path: Path):
    with (
        gateway(tmp_path) as (url, _),
        host_of(url, tmp_path, WRITER) as office,
        host_of(url, tmp_path, READER) as other,
    ):
        until(lambda: len(office.names()) == 3)
        assert len(other.names()) == 1
        office.tools()
        other.tools()
        before = office.told_of_changes
        write(tmp_path, {"notes": SERVERS["notes"], "tasks": raw_server(MAILS)})
        until(lambda: office.told_of_changes > before)
        until(lambda: "tasks__list_mails" in office.names())
        assert other.told_of_changes == 0


def test_a_changed_file_holds_for_sessions_that_are_open(tmp_path: Path):
    with gateway(tmp_path) as (url, process):
        with host_of(url, tmp_path, READER) as office:
            until(lambda: office.names() == {"notes__list_notes"})
            changed = f"readers={READER};namespaces=mails\n"
            (tmp_path / "keys").write_text(changed, "utf-8")
            process.send_signal(signal.SIGHUP)
            until(lambda: office.names() == {"mails__list_mails"})
            assert post(url, WRITER).status_code == 401
        (tmp_path / "keys").write_text(f"readers={READER};scopes=search\n", "utf-8")
        process.send_signal(signal.SIGHUP)
        until(lambda: "keys_kept" in (tmp_path / "stderr").read_text("utf-8", "replace"))
        assert post(url, READER).status_code == 200


def test_hosts_whose_keys_see_something_else_are_told(tmp_path: Path):
    with (
        gateway(tmp_path) as (url, process),
        host_of(url, tmp_path, WRITER) as office,
        host_of(url, tmp_path, READER) as other,
    ):
        until(lambda: len(office.names()) == 3)
        other.tools()
        before = other.told_of_changes
        narrowed = TABLE.replace(WRITER, f"{WRITER};namespaces=mails")
        (tmp_path / "keys").write_text(narrowed, "utf-8")
        told = office.told_of_changes
        process.send_signal(signal.SIGHUP)
        until(lambda: office.told_of_changes > told)
        assert office.names() == {"mails__list_mails"}
        (tmp_path / "keys").write_text(TABLE, "utf-8")
        told = office.told_of_changes
        process.send_signal(signal.SIGHUP)
        until(lambda: office.told_of_changes > told)
        assert len(office.names()) == 3
        assert other.told_of_changes == before


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("", "no key was sent"),
        ("wrong-0123456789abcdefghijklmnopqrstu", "no such key"),
        ("old-0123456789abcdefghijklmnopqrstuvw", "this key has expired"),
    ],
)
def test_other_keys_are_refused(tmp_path: Path, key: str, why: str):
    old = "old=old-0123456789abcdefghijklmnopqrstuvw;expires=2020-01-31\n"
    with gateway(tmp_path, TABLE + old) as (url, _):
        refused = post(url, key) if key else httpx2.post(url, json=HELLO, headers=ACCEPTS)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        assert why in refused.text


def test_rows_of_the_overlay_narrow_what_a_key_sees_and_never_widen_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    overlay = tmp_path / "overlay.toml"
    rows = '[[tool]]\nname = "notes__list_notes"\nrisk = "destructive"\n'
    rows += '[[tool]]\nname = "mails__*"\nnamespace = "notes"\n'
    rows += 'search_text = "git commit branch repository"\n'
    overlay.write_text(rows, "utf-8")
    coders = f"coders={WRITER[::-1]};domains=repo\n"
    (tmp_path / "keys").write_text(TABLE + coders, "utf-8")
    config = str(write(tmp_path, SERVERS))
    flags = ["--keys", str(tmp_path / "keys"), "--overlay", str(overlay), "--check"]
    assert main(["mcp", "--config", config, *flags]) == 0
    printed = capsys.readouterr().out
    assert "of readers sees 0 of 3 tools: none\n" in printed
    assert "of coders sees 0 of 3 tools: none\n" in printed


def test_a_key_sees_nothing_of_a_server_that_a_row_gives_its_namespace(tmp_path: Path):
    overlay = tmp_path / "overlay.toml"
    overlay.write_text('[[tool]]\nname = "mails__*"\nnamespace = "notes"\n', "utf-8")
    with (
        gateway(tmp_path, flags=["--overlay", str(overlay)]) as (url, _),
        host_of(url, tmp_path, READER) as office,
    ):
        until(lambda: office.names() == {"notes__list_notes"})
        assert office.found("list mails") == ["notes__list_notes"]
        unknown = text_of(office.call("notes__no_such_thing"))
        assert text_of(office.call("mails__list_mails")) == unknown
        assert "mails" not in str(office.portal.call(office.client.get_prompt, "backend_status"))


def test_check_counts_what_each_key_sees(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "keys").write_text(TABLE + f"nobody={READER[::-1]};namespaces=x\n", "utf-8")
    config = str(write(tmp_path, SERVERS))
    assert main(["mcp", "--config", config, "--keys", str(tmp_path / "keys"), "--check"]) == 0
    printed = capsys.readouterr().out
    seen = [line.partition(" of ")[2] for line in printed.splitlines() if line.startswith("key ")]
    assert seen == [
        "readers sees 1 of 3 tools: notes 1",
        "writers sees 3 of 3 tools: notes 2, mails 1",
        "nobody sees 0 of 3 tools: none",
    ]
    assert READER not in printed


@pytest.mark.parametrize(
    ("text", "flags", "why"),
    [
        (TABLE, (), "keys: expected with --http"),
        ("", ("--http", "8200"), "keys: no key in it"),
        ("a=short", ("--http", "8200"), "keys: api_keys: key 1 has 5 characters"),
        (f"a={READER};namespace=x", ("--check",), "there is no option namespace"),
        (f"a={READER};scopes=search", ("--check",), "key 1: scopes are of the service"),
        (None, ("--check",), "keys: cannot be read"),
    ],
)
def test_a_file_at_fault_is_refused_at_the_start(
    tmp_path: Path,
    text: str | None,
    flags: tuple[str, ...],
    why: str,
    capsys: pytest.CaptureFixture[str],
):
    if text is not None:
        (tmp_path / "keys").write_text(text, "utf-8")
    config = str(write(tmp_path, SERVERS))
    assert main(["mcp", "--config", config, "--keys", str(tmp_path / "keys"), *flags]) == 2
    said = capsys.readouterr().err
    assert why in said
    assert READER not in said


def test_one_key_for_all_is_not_given_beside_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("TOOLSCOUT_MCP_KEY", READER)
    (tmp_path / "keys").write_text(TABLE, "utf-8")
    config = str(write(tmp_path, SERVERS))
    flags = ["--keys", str(tmp_path / "keys"), "--http", "8200"]
    assert main(["mcp", "--config", config, *flags]) == 2
    assert "keys: expected without TOOLSCOUT_MCP_KEY" in capsys.readouterr().err
