"""What `toolscout mcp --import` leaves where it is, and why."""

from pathlib import Path

import pytest

from tests.gateway.mcp.host_lists import (
    DOCS,
    GATEWAY,
    GITHUB,
    SECRET,
    Run,
    files_in,
    put,
    read,
    servers_of,
)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"mcpServers": {"x": GITHUB | {"disabled": True}}}, "x stays: it is switched off"),
        (
            {"mcpServers": {"x": GITHUB}, "projects": {"/a": {"disabledMcpServers": ["x"]}}},
            "x stays: it is switched off",
        ),
        ({"mcpServers": {"x": GITHUB}, "disabledMcpServers": ["x"]}, "x stays: it is switched off"),
        ({"mcpServers": {"x": GITHUB}, "mcp": {"allowed": ["y"]}}, "x stays: it is switched off"),
        ({"mcpServers": {"x": GITHUB | {"blockedTools": ["y"]}}}, "x.blockedTools: unknown key"),
        ({"mcpServers": {"x": DOCS | {"headersHelper": "y"}}}, "x.headersHelper: no command is"),
        ({"mcpServers": {"x": 5}}, "x stays: it is no object"),
        ({"mcpServers": {"same": {"command": "y"}}}, "mcp.json has another server same: rename"),
        (
            {"mcpServers": {"x": GITHUB | {"cwd": "${workspaceFolder}"}}},
            "its file is of no project",
        ),
        ({"mcpServers": {"x": {"command": "y", "cwd": "srv"}}}, "x stays: its cwd is relative"),
        ({"mcpServers": {}}, "nothing to move"),
        ({"hooks": {}, "mcp": {"discovery": {"enabled": True}}}, "nothing to move"),
    ],
)
def test_what_cannot_be_moved_stays_and_is_told(home: Path, run: Run, content, why):
    put(home / "mcp.json", {"mcpServers": {"same": {"command": "x"}}})
    path = put(home / ".cursor" / "mcp.json", content)
    before = files_in(home)
    status, printed = run(path, "--write")
    assert (status, files_in(home)) == (0, before)
    assert why in printed
    assert SECRET not in printed
    assert printed.splitlines()[-1] == "there is nothing to move"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"mcpServers": {"x": GITHUB}, "deniedMcpServers": [{"n": "y"}]}, "it may say which serv"),
        ({"mcpServers": {"x": GITHUB}, "tools": {"y": False}}, "it may say which tools not to"),
        ({"mcpServers": {"x": GITHUB, "gateway": GATEWAY}}, "gateway is the gateway, with another"),
        ({"mcpServers": {"x": {"command": "uvx", "args": ["toolscout", "mcp"]}}}, "is the gateway"),
        ({"servers": {"x": {"command": ["/a/toolscout", "mcp"]}}}, "is the gateway, with another"),
        ({"mcpServers": {"x": GITHUB, "toolscout": {"url": "https://x"}}}, "already named toolsc"),
        ({"mcp": {"servers": {"x": GITHUB}}}, "mcp.servers.x is not in an object mcpServers"),
        ({"mcp": {"x": {"type": "local", "command": ["x"]}}}, "mcp.x is not in an object"),
        ({"amp.mcpServers": {"x": GITHUB}}, "amp.mcpServers.x is not in an object"),
        ({"mcpServers": [DOCS | {"name": "docs"}]}, "mcpServers[0] is not in an object"),
        ({"x": GITHUB}, "x is not in an object"),
        ("{", "not valid JSON"),
        ('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "is there twice"),
    ],
)
def test_a_file_at_fault_stays_and_where_all_are_the_status_says_so(
    home: Path, run: Run, content, why
):
    path = put(home / ".cursor" / "mcp.json", content)
    before = files_in(home)
    status, printed = run(path, "--write")
    assert (status, files_in(home)) == (2, before)
    assert why in printed
    assert SECRET not in printed


def test_a_file_of_codex_is_said_not_to_be_moved(home: Path, run: Run):
    status, printed = run(put(home / "config.toml", "[mcp_servers.x]\ncommand = 'x'\n"))
    assert status == 2
    assert "TOML, as of Codex, is not moved" in printed


def test_a_server_with_the_gateways_name_among_its_words_moves(home: Path, run: Run):
    entry = {"command": "npx", "args": ["-y", "server-filesystem", "toolscout"]}
    assert run(put(home / "host.json", {"mcpServers": {"fs": entry}}), "--write")[0] == 0
    assert servers_of(home) == {"fs": entry}


def test_values_within_a_command_are_not_shown(home: Path, run: Run):
    servers = {"a": {"command": f"KEY={SECRET} npx"}, "b": {"command": f"npx --token {SECRET}"}}
    _, printed = run(put(home / "host.json", {"mcpServers": servers}))
    assert "  - a (KEY)\n  - b (npx)" in printed
    assert SECRET not in printed


def test_a_permission_that_a_host_denies_is_told(home: Path, run: Run):
    content = {"mcpServers": {"x": GITHUB}, "permissions": {"deny": ["mcp__x__y"]}}
    _, printed = run(put(home / "host.json", content))
    assert "  ! permissions: tools that it denies are offered here" in printed


def test_a_variable_that_is_not_set_is_told(home: Path, run: Run):
    content = {"servers": {"x": {"command": "y", "env": {"K": "${input:no-such-key}"}}}}
    _, printed = run(put(home / "host.json", content))
    assert "the variable NO_SUCH_KEY is not set" in printed


def test_a_file_at_fault_keeps_no_other_from_being_moved(home: Path, run: Run):
    put(home / ".claude.json", "{")
    path = put(home / ".cursor" / "mcp.json", {"mcpServers": {"github": GITHUB}})
    assert run("--write")[0] == 0
    assert list(read(path)["mcpServers"]) == ["toolscout"]
