"""What a host's file says of tools and servers is read, stops the start, or warns."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.config import read_config
from toolscout.gateway.mcp.servers import Config, StdioServer, unmatched

STDIO: dict[str, Any] = {"command": "x"}
TWO = {"mcpServers": {"a": STDIO, "b": STDIO}}
NOT_OFFERED = "unknown key; it may say which tools not to offer"
DENY = "ignored: tools that it denies are offered here: write deny of their server"


def read(folder: Path, content: dict[str, Any]) -> Config:
    path = folder / "hosts.json"
    path.write_text(json.dumps(content), "utf-8")
    return read_config(path, {})


@pytest.mark.parametrize(
    "key",
    ["toolsAllowed", "tool_filter", "toolFilter", "excludedToolNames", "disabled-TOOLS", "aTool"],
)
def test_an_unknown_key_of_a_server_about_tools_stops_the_start(tmp_path: Path, key: str):
    for where, entry in ((key, {key: ["y"]}), (f"filter.{key}", {"filter": {key: ["y"]}})):
        with pytest.raises(ConfigurationError) as refused:
            read(tmp_path, {"mcpServers": {"a": STDIO | entry}})
        assert f"mcpServers.a.{where}: {NOT_OFFERED}" in refused.value.detail


@pytest.mark.parametrize(
    ("place", "more"),
    [
        ("excludeTools", {"excludeTools": ["y"]}),
        ("agent.x.tools", {"agent": {"x": {"tools": {"a_*": False}}}}),
        (
            "agent.profiles.x.context_servers.a.tools",
            {"agent": {"profiles": {"x": {"context_servers": {"a": {"tools": {"y": False}}}}}}},
        ),
        ("options.disabled_tools", {"options": {"disabled_tools": ["mcp_a_y"]}}),
        ("modes[0].tools", {"modes": [{"tools": ["y"]}]}),
        ("mcp.excludeTools", {"mcp": {"excludeTools": ["y"]}}),
    ],
)
def test_tools_that_are_named_anywhere_in_a_file_stop_the_start(tmp_path: Path, place, more):
    with pytest.raises(ConfigurationError) as refused:
        read(tmp_path, TWO | more)
    assert f"{place}: {NOT_OFFERED}" in refused.value.detail


@pytest.mark.parametrize(
    "more",
    [
        {"agent": {"profiles": {"x": {"tools": {"terminal": False}}}}},
        {"options": {"disabled_tools": ["bash"]}},
        {"coreTools": ["ShellTool"]},
        {"chat.tools.terminal.autoApprove": {"ls": True}},
        {"projects": {"/home/me": {"allowedTools": ["mcp__a__y"]}}},
        {"files.exclude": {"**/tools": True}},
    ],
)
def test_a_hosts_own_tools_and_what_it_asks_about_do_not(tmp_path: Path, more: dict[str, Any]):
    (key,) = more
    assert read(tmp_path, TWO | more).warnings == (f"{key}: ignored: unknown key",)


@pytest.mark.parametrize(
    ("place", "more"),
    [
        ("permission", {"permission": {"a_y": "deny"}}),
        ("permissions", {"permissions": {"deny": ["mcp__a__y"], "allowed_tools": []}}),
        ("amp.mcpPermissions", {"amp.mcpPermissions": [{"action": "reject"}]}),
        ("agent.x.permission", {"agent": {"x": {"permission": {"a_y": "deny"}}}}),
    ],
)
def test_permissions_give_a_warning_that_says_how_to_deny(tmp_path: Path, place, more):
    assert read(tmp_path, TWO | more).warnings[0] == f"{place}: {DENY}"


@pytest.mark.parametrize(
    "more",
    [
        {"mcp": {"allowed": ["b"]}},
        {"mcp": {"excluded": ["a"]}},
        {"mcp": {"allowed": ["a", "b"], "excluded": ["a"]}},
        {"allowMCPServers": ["b"]},
        {"excludeMCPServers": ["a"]},
        {"disabledMcpjsonServers": ["a"]},
    ],
)
def test_lists_of_servers_say_which_there_are(tmp_path: Path, more: dict[str, Any]):
    found = read(tmp_path, TWO | more)
    assert list(found.servers) == ["b"]
    assert not found.warnings


def test_settings_beside_servers_are_none(tmp_path: Path):
    found = read(tmp_path, TWO | {"mcp": {"serverCommand": "x"}})
    assert list(found.servers) == ["a", "b"]
    assert found.warnings == ("mcp.serverCommand: ignored: unknown key",)
    found = read(tmp_path, {"mcp": {"allowed": STDIO, "excluded": STDIO}})
    assert list(found.servers) == ["allowed", "excluded"]
    for wrong in ({"allowed": "a"}, {"excluded": [1]}):
        with pytest.raises(ConfigurationError, match=r"mcp\.(allowed|excluded)"):
            read(tmp_path, TWO | {"mcp": wrong})
    with pytest.raises(ConfigurationError, match="every server is disabled"):
        read(tmp_path, TWO | {"mcp": {"allowed": []}})


def test_defaults_of_inputs_are_read_from_settings_too(tmp_path: Path):
    entry = STDIO | {"args": ["${input:level}"]}
    inputs = [{"id": "level", "default": "info"}]
    server = read(tmp_path, {"mcp": {"servers": {"a": entry}, "inputs": inputs}}).servers["a"]
    assert isinstance(server, StdioServer)
    assert server.args == ("info",)


def test_what_is_allowed_and_not_there_is_named():
    assert unmatched(("get_[*]", "read_*", "b", "a"), ["get_a", "a"]) == [
        "get_* (an exact name)",
        "read_*",
        "b",
    ]
    assert unmatched(None, ["a"]) == []
