"""`toolscout search` on standard input and at a running service."""

import json
import os
import pty
import select
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ZENITH
from tests.support import PATIENCE_S, TOOLS, Process, crowd, ran, toolscout
from toolscout.cli import main


@pytest.fixture
def offered(tmp_path: Path) -> str:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(TOOLS), "utf-8")
    return str(path)


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["search", *arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_tools_come_from_standard_input():
    command = ("search", "read a file", "--tools", "-", "--top-k", "1")
    done = toolscout(*command, stdin=json.dumps(TOOLS))
    assert (done.returncode, done.stdout) == (0, "read_file\n")


def test_a_fault_of_standard_input_has_line_and_column():
    done = toolscout("search", "read a file", "--tools", "-", stdin='[{"name": "a"},\n{]')
    assert done.returncode == 2
    assert done.stderr.startswith("toolscout: standard input:2:2: not valid JSON")


def test_a_service_answers_as_the_engine_does(server: Process, offered: str, capsys):
    here = answer(capsys, "forecast", "--tools", offered)
    there = answer(capsys, "forecast", "--tools", offered, "--url", server.url)
    assert there["selected_names"] == here["selected_names"] == ["get_weather"]
    assert there["matches"] == here["matches"]
    assert set(here) <= set(there)


def test_a_service_explains_as_the_engine_does(server: Process, offered: str, capsys):
    printed = []
    for where in ([], ["--url", server.url]):
        assert main(["search", "forecast", "--tools", offered, "--explain", *where]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


def test_a_catalog_of_a_service_is_searched(server: Process, capsys):
    server.client.put("/v1/catalogs/desk", json={"tools": TOOLS}).raise_for_status()
    found = answer(capsys, "forecast", "--url", server.url, "--catalog", "desk")
    assert found["selected_names"] == ["get_weather"]


def test_a_catalog_that_is_not_there_is_named(server: Process, capsys):
    assert main(["search", "forecast", "--url", server.url, "--catalog", "nowhere"]) == 2
    said = f"{server.url} refuses (404): there is no catalog 'nowhere'"
    assert said in capsys.readouterr().err


def test_an_explanation_has_the_notes_of_the_answer(offered: str, capsys):
    asked = ["search", "([a-z", "--ranker", "regex", "--explain", "--tools", offered]
    assert main(asked) == 1
    printed = capsys.readouterr()
    assert "note: " in printed.out
    assert "--explain" not in printed.err


def test_a_service_with_keys_takes_the_key_of_the_environment(keyed: Process, offered: str):
    command = ["search", "forecast", "--tools", offered, "--url", keyed.url]
    assert toolscout(*command, TOOLSCOUT_API_KEY=ZENITH).stdout == "get_weather\n"
    refused = toolscout(*command)
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"toolscout: {keyed.url} refuses (401): give one of its keys")


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--url", "http://127.0.0.1:9"], "give --tools FILE, or --url URL and --catalog NAME"),
        (["--catalog", "x"], "--catalog is a catalog of a service: give its --url, too"),
        (["--catalog", "x", "--url", "http://127.0.0.1:9"], "http://127.0.0.1:9 does not answer: "),
        (["--catalog", "x", "--url", "nowhere"], "--url: expected an http(s) URL, got 'nowhere'"),
        (
            ["--catalog", "x", "--url", "http://127.0.0.1:9", "--model", "m"],
            "--model: the service at --url",
        ),
    ],
)
def test_what_does_not_fit_or_answer_is_said_in_a_line(flags: list[str], told: str, capsys):
    assert main(["search", "forecast", *flags]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith(f"toolscout: {told}")
    assert printed.count("\n") == 1


def test_without_a_file_sample_tools_are_searched_and_the_next_command_is_said(capsys):
    assert main(["search", "open a pull request"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[0] == "pr_open"
    assert "searched 60 sample tools; to search yours: toolscout search 'open a pull" in printed.err


@pytest.mark.parametrize("query", ["open a pull request", 'it\'s a "file" of $HOME `id`'])
def test_the_command_that_is_said_next_works_as_written(
    query: str, offered: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(Path(offered).parent)
    main(["search", query])
    own = shlex.split(capsys.readouterr().err.rpartition("to search yours: ")[2])
    assert own == ["toolscout", "search", query, "--tools", "tools.json"]
    assert main(own[1:]) in (0, 1)  # found, or nothing fits
    assert "sample" not in capsys.readouterr().err


def test_a_service_that_is_none_is_said(server: Process, capsys):
    assert main(["search", "x", "--url", f"{server.url}/docs", "--catalog", "y"]) == 2
    assert "refuses (404)" in capsys.readouterr().err


def test_a_limit_names_its_setting_which_holds_here_too(
    tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "some.json"
    path.write_text(json.dumps(crowd(20)), "utf-8")
    monkeypatch.setenv("TOOLSCOUT_MAX_TOOLS", "19")
    assert main(["search", "gadget_17_spin", "--tools", str(path)]) == 2
    said = "holds 20 distinct names; the limit is 19: max_tools (TOOLSCOUT_MAX_TOOLS) raises it"
    assert said in capsys.readouterr().err
    questions = tmp_path / "questions.csv"
    questions.write_text("query,tools\nspin a gadget,gadget_1_spin\n", "utf-8")
    assert main(["evaluate", "--tools", str(path), "--questions", str(questions)]) == 2
    assert said in capsys.readouterr().err
    monkeypatch.setenv("TOOLSCOUT_MAX_TOOLS", "20")
    assert main(["search", "gadget_17_spin", "--tools", str(path)]) == 0
    monkeypatch.setenv("TOOLSCOUT_MAX_TOOLS", "many")
    assert main(["search", "gadget_17_spin", "--tools", str(path)]) == 2
    assert "TOOLSCOUT_MAX_TOOLS" in capsys.readouterr().err


def test_a_search_imports_nothing_that_only_others_need(offered: str):
    script = "import sys; from toolscout.cli import main; main(); print(*sys.modules)"
    done = ran([sys.executable, "-c", script, "search", "forecast", "--tools", offered])
    unneeded = {
        "asyncio",
        "rapidfuzz",
        "toolscout.commands.evaluation",
        "toolscout.gateway",
        "uvicorn",
    }
    assert done.stdout.startswith("get_weather\n")
    assert unneeded.isdisjoint(done.stdout.split())


def test_a_terminal_is_told_what_takes_more_than_a_second(offered: str):
    terminal, its_end = pty.openpty()
    with socket.create_server(("127.0.0.1", 0)) as silent, os.fdopen(terminal, "rb"):
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        command = [sys.executable, "-m", "toolscout", "search", "forecast", "--tools", offered]
        asking = subprocess.Popen(
            [*command, "--url", address], stdout=subprocess.DEVNULL, stderr=its_end
        )
        assert select.select([terminal], [], [], PATIENCE_S)[0]
        assert f"asking {address} …" in os.read(terminal, 4_096).decode()
        asking.kill()
        asking.wait()
