"""Starting: what is refused, and said, before anything listens."""

import socket
import sys
from pathlib import Path

import pytest

from tests.support import PATIENCE_S, TOOLS, environment, free_port, ran, running, toolscout

KEY = "k" * 40


def test_an_open_address_is_served_when_meant(tmp_path: Path):
    with running(tmp_path, "--host", "0.0.0.0", "--insecure") as server:
        assert server.get("/readyz").status_code == 200
        assert "http://127.0.0.1" in server.stderr


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--model", "/nowhere/model"], "model"),
        (["--port", "70000"], "port"),
        (["--ranker", "best"], "ranker"),
        (["--unheard-of", "1"], "--unheard-of"),
        (["--config", "/nowhere.toml"], "/nowhere.toml"),
    ],
)
def test_what_is_wrong_is_said_without_a_traceback(flags: list[str], said: str):
    done = toolscout("serve", "--port", str(free_port()), *flags)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


LACKING = [
    ("mcp", ["--mcp", "on"], "mcp"),
    ("opentelemetry", ["--tracing", "on"], "otel"),
    ("redis", ["--store", "redis://127.0.0.1:9"], "redis"),
    ("psycopg", ["--store", "postgres://127.0.0.1:9/d"], "postgres"),
]


def test_a_missing_package_is_one_line_that_names_the_extra():
    script = f"""
import sys
sys.modules.update(dict.fromkeys({[package for package, _, _ in LACKING]}))
from toolscout.cli import main
for flags in {[flags for _, flags, _ in LACKING]}:
    assert main(["serve", "--port", "0", *flags]) == 2
"""
    done = ran([sys.executable, "-c", script], env=environment(), timeout=PATIENCE_S)
    for line, (_, _, extra) in zip(done.stderr.splitlines(), LACKING, strict=True):
        assert f"pip install '.[server,{extra}]'" in line


def test_a_taken_port_is_said():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = toolscout("serve", "--port", str(port))
    assert done.returncode == 2
    assert done.stderr == (
        f"toolscout: cannot listen at 127.0.0.1:{port}: Address already in use; "
        "set another by TOOLSCOUT_PORT or --port\n"
    )


def test_settings_of_a_file_reach_the_server(tmp_path: Path):
    file = tmp_path / "toolscout.toml"
    file.write_text('max_tools = 3\nlog = "off"\n', "utf-8")
    with running(tmp_path, "--config", str(file)) as server:
        assert server.search(tools=TOOLS[:3]).status_code == 200
        assert server.search(tools=TOOLS[:4]).status_code == 422


@pytest.mark.parametrize("errors", ["/dev/full", "&-"], ids=["a full disk", "closed"])
def test_whatever_is_at_standard_error_the_service_serves(tmp_path: Path, errors: str):
    before = ["sh", "-c", f'exec "$@" 2>{errors}', "sh"]
    with running(tmp_path, before=before) as server:
        assert server.get("/healthz").status_code == 200
