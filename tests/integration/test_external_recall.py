"""Catalogs that PostgreSQL keeps find nearly what a process finds that holds all tools."""

import json
from pathlib import Path

import pytest

from evals.sets import load_set
from tests.postgres_server import PostgresServer
from tests.support import PATIENCE_S, running
from toolscout import Engine
from toolscout.cli import main

pytestmark = pytest.mark.integration


def write(path: Path, tools: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(tool) + "\n" for tool in tools), "utf-8")
    return path


def test_a_file_of_tools_is_written_and_found_as_in_one_process(
    data: Path, tmp_path: Path, postgres_server: PostgresServer, capsys: pytest.CaptureFixture[str]
):
    known = load_set(data / "toolsets/dev/pooled-dev")
    tools = [
        {"name": tool.name, "description": tool.description or ""} for tool in known.tools[:10_000]
    ]
    file = write(tmp_path / "tools.jsonl", tools)
    engine = Engine(tools)
    postgres_server.empty()
    with running(
        tmp_path, TOOLSCOUT_STORE=postgres_server.url, TOOLSCOUT_LATENCY_BUDGET_MS="60000"
    ) as server:
        server.client.timeout = PATIENCE_S
        command = ["import", "--tools", str(file), "--catalog", "all", "--url", server.url]
        assert main(command) == 0
        printed = capsys.readouterr()
        assert printed.out == f"all: {len(tools):,} tools\n"
        assert printed.err.count("tools written") == -(-len(tools) // 1_000)
        assert main(command) == 0  # again: nothing is new
        assert capsys.readouterr().out == f"all: {len(tools):,} tools\n"
        ours = theirs = 0.0
        for question in known.questions:  # of 200 alone, chance moves a fiftieth
            found = server.names(question.text, catalog="all")
            theirs += len(question.gold & set(found)) / len(question.gold)
            ours += len(question.gold & set(engine.search(question.text).names)) / len(
                question.gold
            )
    assert theirs >= 0.98 * ours


def test_a_byte_order_mark_is_passed_over_and_a_list_joins_what_is_kept_one_by_one(
    tmp_path: Path, postgres_server: PostgresServer, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "tools.jsonl"
    file.write_text('{"name": "a"}\n{"name": "b"}', "utf-8-sig")
    postgres_server.empty()
    with running(tmp_path, TOOLSCOUT_STORE=postgres_server.url) as server:
        command = ["import", "--tools", str(file), "--catalog", "b", "--url", server.url]
        assert main(command) == 0
        assert capsys.readouterr().out == "b: 2 tools\n"
        file.write_text('[{"name": "c"}]')
        assert main(command) == 0
        assert capsys.readouterr().out == "b: 3 tools\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"name": "a"}\n\n{"name": "b"}\n{"name": \n', "line 4: not JSON"),
        ('{"name": 5}\n{"name": 6}\n', "refuses (4"),
        (None, "No such file"),
    ],
)
def test_what_cannot_be_written_says_where_and_why(
    text: str | None,
    said: str,
    tmp_path: Path,
    postgres_server: PostgresServer,
    capsys: pytest.CaptureFixture[str],
):
    file = tmp_path / "tools.jsonl"
    if text is not None:
        file.write_text(text, "utf-8")
    with running(tmp_path, TOOLSCOUT_STORE=postgres_server.url) as server:
        assert main(["import", "--tools", str(file), "--catalog", "b", "--url", server.url]) == 2
        assert said in capsys.readouterr().err
