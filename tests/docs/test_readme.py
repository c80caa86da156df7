"""Everything README.md tells to do is done by a test, and what it shows is what comes of it."""

import ast
import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.readme import BLOCKS, ROOT, TEXT, blocks, commands
from tests.support import TOOLS, Server
from toolscout.cli import main

HERE = "tests/docs/test_readme.py"
FRESH = "tests/integration/test_fresh_install.py"
PROXY = "tests/gateway/test_proxy.py"
GATEWAY = "tests/gateway/mcp/test_gateway.py"
README = "tests/integration/test_readme.py"

RUN_BY = {
    "make serve": f"{README}::test_make_serve_answers_the_first_question",
    "make test": f"{HERE}::test_make_test_checks_style_types_and_tests",
    "curl": f"{HERE}::test_the_first_answer_is_the_one_shown",
    ".venv/bin/toolscout search": f"{HERE}::test_the_search_finds_it",
    "pip install .": f"{FRESH}::test_the_base_install_has_no_server",
    "pip install '.[proxy]'": f"{FRESH}::test_the_proxy_install_serves_the_proxy",
    "toolscout proxy": f"{PROXY}::test_an_sdk_with_another_base_url_calls_what_was_found",
    "pip install '.[engine]'": f"{FRESH}::test_the_engine_install_ranks_without_a_server",
    "pip install '.[mcp]'": f"{FRESH}::test_the_mcp_install_serves_the_gateway",
    "toolscout mcp": f"{GATEWAY}::test_results_come_as_the_server_made_them",
    "export OPENAI_BASE_URL": f"{PROXY}::test_an_sdk_with_another_base_url_calls_what_was_found",
    "docker build": "tests/integration/test_image.py::"
    "test_the_image_serves_without_network_on_a_root_it_cannot_write",
    "docker compose": f"{README}::test_compose_takes_the_command",
    "helm install": f"{README}::test_the_chart_takes_the_command",
    "TOOLSCOUT_API_KEYS='acme=…at least 32 characters…' .venv/bin/toolscout serve": "tests/server/"
    "test_serve.py::test_an_open_address_is_served_with_a_key",
    ".venv/bin/toolscout serve": "tests/server/test_serve.py::"
    "test_settings_of_a_file_reach_the_server",
    ".venv/bin/toolscout check-config": f"{HERE}::test_the_settings_are_accepted",
}
"""Which test does what each command (by how it begins) says. The image is built by buildah."""


def test_every_command_is_run_by_a_test():
    left = set(RUN_BY)
    for command in commands():
        (beginning,) = [known for known in RUN_BY if command.startswith(known)]
        left.discard(beginning)
    assert left == set()


@pytest.mark.parametrize("place", RUN_BY.values())
def test_the_tests_that_run_them_are_there(place: str):
    file, _, name = place.partition("::")
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_only_known_languages_stand_in_blocks():
    assert {language for language, _ in BLOCKS} == {"sh", "json", "python"}
    assert "\n    make" not in TEXT


def test_the_first_answer_is_the_one_shown(server: Server):
    command = next(block for block in blocks("sh") if block.startswith("curl"))
    done = subprocess.run(
        ["sh", "-c", command.replace("http://127.0.0.1:8080", server.url)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == blocks("json")[0].strip()


def test_the_library_finds_it():
    code = next(block for block in blocks("python") if "Engine" in block)
    *lines, last = code.strip().splitlines()
    names: dict[str, Any] = {"tools": TOOLS}
    exec("\n".join(lines), names)
    assert eval(last, names)[0] == "create_issue"


def test_the_search_finds_it(tmp_path: Path, monkeypatch, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS), "utf-8")
    monkeypatch.chdir(tmp_path)
    (command,) = [one for one in commands() if one.startswith(".venv/bin/toolscout search")]
    assert main(shlex.split(command)[1:]) == 0
    assert "create_issue" in capsys.readouterr().out.splitlines()[1]


def test_the_settings_are_accepted(tmp_path: Path, monkeypatch):
    (tmp_path / "toolscout.toml").write_text("port = 9000\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOOLSCOUT_DATA", raising=False)
    found = [one for one in commands() if ".venv/bin/toolscout" in one and " search" not in one]
    assert len(found) == 3
    for command in found:
        before, _, arguments = command.partition(".venv/bin/toolscout ")
        if before:
            name, _, value = shlex.split(before)[0].partition("=")
            monkeypatch.setenv(name, value + "k" * 32)
        assert main(["check-config", *shlex.split(arguments)[1:]]) == 0


def test_make_test_checks_style_types_and_tests():
    done = subprocess.run(
        ["make", "-n", "test"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for part in ("ruff check", "ruff format --check", "mypy", "pytest -m 'not integration'"):
        assert part in done.stdout


def cells(text: str) -> set[tuple[str, ...]]:
    """The rows of tables."""
    rows = re.findall(r"^\|(.+)\|$", text.replace("**", ""), re.M)
    return {tuple(cell.strip() for cell in row.split("|")) for row in rows}


def test_the_figures_of_rankers_are_those_of_the_full_table():
    full = {row[0]: (row[3], row[2]) for row in cells(read("ranking.md")) if len(row) == 8}
    names = {
        "rank-bm25": "rank-bm25",
        "chuk-tool-processor": "chuk-tool-processor",
        "all-MiniLM-L6-v2, a transformer": "minilm",
        "the same with our BM25": "minilm+bm25",
        "our BM25": "bm25",
        "our static model": "semantic",
        "hybrid (default)": "hybrid",
    }
    shown = {row[0]: row[1:] for row in cells(TEXT) if row[0] in names}
    assert shown == {title: full[name] for title, name in names.items()}


def test_the_figures_of_speed_are_those_of_the_full_table():
    full = {row[0]: row for row in cells(read("speed.md"))}
    rows = {
        "300, sent": ("warm hybrid, 300 inline", "floor, 300 inline"),
        "300, by digest": ("by digest, 300", ""),
        "10,000, sent (5 MB)": ("warm hybrid, 10,000 inline", "floor, 10,000 inline"),
        "10,000, by digest": ("by digest, 10,000", ""),
        "300 never seen before": ("cold hybrid, 300", ""),
    }
    shown = {row[0]: row[1:] for row in cells(TEXT) if row[0] in rows}
    for title, (name, floor) in rows.items():
        base = full[floor][1] if floor else ""
        assert shown[title] == (full[name][1], full[name][3], base)


def read(page: str) -> str:
    return (ROOT / "docs" / page).read_text("utf-8")


def test_pictures_are_drawn_for_light_and_dark_and_fetch_nothing():
    picture = (ROOT / "docs" / "images" / "flow.svg").read_text("utf-8")
    assert "prefers-color-scheme: dark" in picture
    assert "<title" in picture
    assert not re.findall(r"(?:href|src|url\()", picture)
