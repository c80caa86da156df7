"""The gateway finds, pins and hides tools by an overlay, and reads its file again."""

import fcntl
import os
import signal
import subprocess
import sys
import termios
from pathlib import Path
from unittest.mock import patch

import pytest
from fastmcp.client.transports import StreamableHttpTransport

from tests.gateway.mcp.hosts import cache_in, connected, inside, listening, raw_server, write
from tests.support import answers, environment, free_port, until
from toolscout.cli import main
from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp import commands, gateway
from toolscout.tools.overlay import Overlay, read_overlay

SCHEMA = {"type": "object", "properties": {}}
TOOLS = [
    {"name": "op_17", "description": "Executes operation 17", "inputSchema": SCHEMA},
    {"name": "read_it", "description": "Reads a text file", "inputSchema": SCHEMA},
    {"name": "get_it", "description": "Gets the current weather", "inputSchema": SCHEMA},
]
ROWS = """
[[tool]]
name = "works__op_17"
search_text = "piano tuning"
pin = true
[[tool]]
name = "*__read_it"
hide = true
[[tool]]
name = "works__get_it"
risk = "destructive"
"""
SELDOM_LOOKING = """
import sys
from toolscout.cli import main
from toolscout.gateway.mcp import gateway
gateway.FOLLOW_S = 3_600
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway, "FOLLOW_S", 0.05)


def test_rows_hold_for_search_list_and_call_and_the_file_is_followed(tmp_path: Path):
    file = tmp_path / "overlay.toml"
    file.write_text("# none yet", "utf-8")
    with inside(tmp_path, {"works": raw_server(TOOLS)}, "--overlay", str(file)) as office:
        assert office.names() == {"works__op_17", "works__read_it", "works__get_it"}
        assert office.found("piano tuning") == []

        file.write_text(ROWS, "utf-8")
        until(lambda: office.names() == {"works__op_17", "works__get_it"})
        until(lambda: "works__op_17" in {tool.name for tool in office.tools()})
        assert office.found("piano tuning") == ["works__op_17"]
        assert "piano" not in str(office.ask("search_tools", query="piano tuning"))
        assert office.call("works__read_it").is_error
        refused = office.call("works__get_it")
        assert refused.is_error
        assert "works__get_it is destructive" in str(refused)

        file.write_text("[[tool]", "utf-8")
        until(lambda: f"overlay_kept reason=overlay: {file}: " in office.stderr)
        assert office.found("piano tuning") == ["works__op_17"]


def test_a_namespace_stays_the_server_of_a_tool(tmp_path: Path):
    file = tmp_path / "overlay.toml"
    row = '[[tool]]\nname = "works__get_it"\nsearch_text = "umbrella"\nnamespace = "{}"\n'
    servers = {name: raw_server(TOOLS) for name in ("works", "other")}
    for space in ("billing", "other"):
        file.write_text(row.format(space), "utf-8")
        with inside(tmp_path, servers, "--overlay", str(file)) as office:
            until(lambda: len(office.names()) == 6)
            assert office.found("umbrella", namespace="works")[0] == "works__get_it"
            assert "works__get_it" not in office.found("umbrella weather", namespace="other")
            assert len(office.ask("list_tools_meta", namespace="works")["tools"]) == 3
            uri = "toolscout://overview"
            overview = office.portal.call(office.client.read_resource, uri)[0].text
            lines = {line.partition(")")[0] for line in overview.split("\n")}
            assert lines == {"6 tools", "works (3", "other (3"}


def test_a_check_names_rows_that_are_for_no_tool(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "overlay.toml"
    file.write_text(ROWS + '[[tool]]\nname = "other__*"\npin = true\n', "utf-8")
    config = write(tmp_path, {"works": raw_server(TOOLS)})
    assert main(["mcp", "--config", str(config), "--overlay", str(file), "--check"]) == 0
    printed = capsys.readouterr().out
    assert "overlay: row 4: no tool is called other__*" in printed
    assert "1 hidden by the overlay: read_it" in printed


def test_a_file_is_taken_once_three_looks_have_found_it_so(tmp_path: Path):
    file = tmp_path / "overlay.toml"
    file.write_text(ROWS, "utf-8")
    config = write(tmp_path, {"works": raw_server(TOOLS)})
    with patch("toolscout.gateway.mcp.serving.serve", return_value=0) as served:
        assert main(["mcp", "--config", str(config), "--overlay", str(file)]) == 0
    look = served.call_args.args[0].changed
    assert [look(), look(), look()] == [None, None, None]

    file.write_text(ROWS.partition('[[tool]]\nname = "*')[0], "utf-8")  # no more for now
    assert [look(), look()] == [None, None]
    file.write_text(ROWS.replace("piano", "organ"), "utf-8")
    assert [look(), look()] == [None, None]
    assert [row.search_text for row in look().overlay.rows] == ["organ tuning", "", ""]
    assert look() is None

    file.write_text("# x", "utf-8")
    config.write_text("{", "utf-8")
    assert [look(), look()] == [None, None]
    with pytest.raises(ConfigurationError, match=r"mcp\.json"):
        look()
    assert look().overlay.rows == []
    assert look() is None


def test_a_blank_overlay_changes_nothing_and_a_comment_takes_all_rows_away(tmp_path: Path):
    file = tmp_path / "overlay.toml"
    file.write_text(ROWS, "utf-8")
    with inside(tmp_path, {"works": raw_server(TOOLS)}, "--overlay", str(file)) as office:
        until(lambda: office.names() == {"works__op_17", "works__get_it"})
        file.write_text("", "utf-8")
        until(lambda: f"overlay_kept reason=overlay: {file} is blank" in office.stderr)
        assert office.names() == {"works__op_17", "works__get_it"}
        file.write_text("# x", "utf-8")
        until(lambda: office.names() == {"works__op_17", "works__read_it", "works__get_it"})


def test_servers_change_beside_an_overlay_at_fault(tmp_path: Path):
    file = tmp_path / "overlay.toml"
    file.write_text(ROWS, "utf-8")
    with inside(tmp_path, {"works": raw_server(TOOLS)}, "--overlay", str(file)) as office:
        file.write_text("", "utf-8")
        until(lambda: "overlay_kept" in office.stderr)
        write(tmp_path, {"works": raw_server(TOOLS), "other": raw_server(TOOLS[:2])})
        until(lambda: "other__op_17" in office.names())
        assert office.names() == {"works__op_17", "works__get_it", "other__op_17"}


@pytest.mark.integration
@pytest.mark.parametrize("keys", [False, True])
def test_the_files_are_read_at_once_on_sighup(tmp_path: Path, keys: bool):
    file = tmp_path / "overlay.toml"
    file.write_text(ROWS, "utf-8")
    config = str(write(tmp_path, {"works": raw_server(TOOLS)}))
    key = "reader-0123456789abcdefghijklmnopqrst"
    flags = ["mcp", "--config", config, "--overlay", str(file), "--http", "127.0.0.1:PORT"]
    if keys:
        (tmp_path / "keys").write_text(f"readers={key}", "utf-8")
        flags += ["--keys", str(tmp_path / "keys")]
    with listening(tmp_path, "-c", SELDOM_LOOKING, *flags) as (url, process):
        transport = StreamableHttpTransport(url, headers={"Authorization": f"Bearer {key}"})
        with connected(transport, tmp_path) as office:
            until(lambda: office.names() == {"works__op_17", "works__get_it"})
            file.write_text("# x", "utf-8")
            process.send_signal(signal.SIGHUP)
            until(lambda: len(office.names()) == 3)
            write(tmp_path, {"works": raw_server(TOOLS[:1])})
            process.send_signal(signal.SIGHUP)
            until(lambda: office.names() == {"works__op_17"})


@pytest.mark.integration
def test_a_gateway_ends_with_the_terminal_that_it_was_started_from(tmp_path: Path):
    config = str(write(tmp_path, {"works": raw_server(TOOLS)}))
    port = free_port()
    near, far = os.openpty()

    def take_terminal() -> None:
        os.setsid()
        fcntl.ioctl(far, termios.TIOCSCTTY, 0)

    command = [sys.executable, "-m", "toolscout", "mcp", "--config", config]
    process = subprocess.Popen(
        [*command, "--http", f"127.0.0.1:{port}"],
        stdin=far,
        stderr=subprocess.DEVNULL,
        env=environment(**cache_in(tmp_path)),
        preexec_fn=take_terminal,
    )
    os.close(far)
    until(lambda: catches_hangup(process.pid))
    process.send_signal(signal.SIGHUP)  # its files are read again
    until(lambda: answers(port))
    assert process.poll() is None
    os.close(near)
    process.wait()


def catches_hangup(process: int) -> bool:
    status = Path(f"/proc/{process}/status").read_text("ascii")
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) & 1 << (signal.SIGHUP - 1))


def test_changes_are_applied_after_one_that_could_not_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def read(path: Path) -> Overlay:
        if path.read_text("utf-8") == "too deep":
            raise RecursionError
        return read_overlay(path)

    monkeypatch.setattr(commands, "read_overlay", read)
    file = tmp_path / "overlay.toml"
    file.write_text(ROWS, "utf-8")
    with inside(tmp_path, {"works": raw_server(TOOLS)}, "--overlay", str(file)) as office:
        file.write_text("too deep", "utf-8")
        until(lambda: "the configuration was not applied: RecursionError" in office.stderr)
        file.write_text('[[tool]]\nname = "works__op_17"\nhide = true\n', "utf-8")
        until(lambda: office.names() == {"works__read_it", "works__get_it"})
