"""`--check`, and the log at the start, say which tools are not offered, and why."""

from pathlib import Path
from typing import Any

import pytest

from tests.gateway.mcp.hosts import cache_in, host, raw_server, write
from tests.support import until
from toolscout.cli import main

pytestmark = pytest.mark.integration

OBJECT = {"type": "object"}
LONG = "x" * 62 + "_long"
ODD = [
    {"name": "GET /users/{id}", "description": "Read one user", "inputSchema": OBJECT},
    {"name": LONG, "description": "Paint a fence", "inputSchema": OBJECT},
    {
        "name": "lookup",
        "description": "Look a document up",
        "inputSchema": OBJECT | {"properties": {"title": {"type": "strng"}}},
    },
    {"name": "fine", "description": "Read one city", "inputSchema": OBJECT},
]


@pytest.fixture
def check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Any:
    for name, folder in cache_in(tmp_path).items():
        monkeypatch.setenv(name, folder)

    def run(servers: dict[str, Any], *flags: str, **options: Any) -> tuple[int, list[str]]:
        path = write(tmp_path, servers, **options)
        status = main(["mcp", "--config", str(path), "--check", *flags])
        printed = capsys.readouterr()
        return status, (printed.out + printed.err).splitlines()

    return run


def test_pinned_tools_that_providers_refuse_are_named_with_who_refuses_them(check: Any):
    pinned = [f"odd__{tool['name']}" for tool in ODD]
    status, lines = check({"odd": raw_server(ODD)}, pinned=pinned)
    assert status == 0
    assert lines[0] == "all: 4 tools of odd"
    assert [line.split(": ")[1] for line in lines[1:]] == pinned[:3]
    assert lines[1].endswith("(all); it is found, not listed")
    assert lines[2].endswith(
        "its name has 72 characters, 64 are taken (openai, bedrock, bedrock-anthropic, gemini)"
    )
    assert "properties.title is of type strng" in lines[3]


def test_a_pinned_tool_that_all_providers_refuse_is_not_listed_but_found(tmp_path: Path):
    pinned = [f"odd__{tool['name']}" for tool in ODD]
    with host(tmp_path, {"odd": raw_server(ODD)}, pinned=pinned) as office:
        listed = [tool.name for tool in office.tools() if tool.name.startswith("odd__")]
        assert listed == [f"odd__{LONG}", "odd__fine"]
        until(lambda: "WARNING pinned: odd__lookup: " in office.stderr)
        assert "odd__fine:" not in office.stderr
        assert office.found("read one user")[0] == "odd__GET /users/{id}"


def test_a_check_says_what_is_left_out_of_each_server(check: Any):
    ill = [{"name": "bare"}, *ODD[3:]]
    status, lines = check({"odd": raw_server(ill)})
    assert (status, lines) == (0, ["all: 1 tools of odd", "odd: left out: 1 that cannot be read"])
    status, lines = check({"odd": raw_server(ill)}, "--pin", "odd__bare")
    assert status == 2
    assert "there is no tool odd__bare; odd: left out: 1 that cannot be read" in lines[0]
