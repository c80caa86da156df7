"""What a host's file says of tools and servers is read, stops the start, or warns."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.config import read_config
from toolscout.gateway.mcp.servers import Config, StdioServer, find_unmatched, is_permitted
from toolscout.gateway.mcp.texts import may_read

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
    "entry",
    [
        *({key: ["y"]} for key in ("dney", "alow", "exclude", "excluded", "include", "blocked")),
        *(
            {key: ["y"]}
            for key in ("blocklist", "denylist", "disabled_actions", "disabledFunctions")
        ),
        *({key: True} for key in ("Disabled", "disable", "isDisabled", "readOnly")),
        *({key: False} for key in ("enable", "active", "Enabled", "is_active")),
        {"filter": {"deny": ["y"]}},
    ],
)
def test_an_unknown_key_that_may_restrict_a_server_stops_the_start(
    tmp_path: Path, entry: dict[str, Any]
):
    (key,) = entry
    with pytest.raises(ConfigurationError, match=rf"mcpServers\.a\.{key}: unknown key"):
        read(tmp_path, {"mcpServers": {"a": STDIO | entry}})


@pytest.mark.parametrize(
    "more",
    [
        {"disabledServers": ["a"]},
        {"disabled_servers": ["a"]},
        {"mcp": {"disabled": ["a"]}},
        {"allowedServers": []},
        {"mcp": {"blockedServers": ["a"]}},
    ],
)
def test_an_unknown_list_of_servers_stops_the_start(tmp_path: Path, more: dict[str, Any]):
    with pytest.raises(ConfigurationError, match="it may say which servers not to offer"):
        read(tmp_path, TWO | more)


def test_a_server_that_is_not_active_is_disabled(tmp_path: Path):
    config = read(tmp_path, {"mcpServers": {"a": STDIO, "b": STDIO | {"isActive": False}}})
    assert (list(config.servers), config.disabled) == (["a"], ("b",))


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
        {"disabledMcpServers": ["a"]},
        {"enabledMcpjsonServers": ["b"]},
    ],
)
def test_lists_of_servers_say_which_there_are(tmp_path: Path, more: dict[str, Any]):
    found = read(tmp_path, TWO | more)
    assert list(found.servers) == ["b"]
    assert not found.warnings


@pytest.mark.parametrize(
    ("place", "more"),
    [
        ("deniedMcpServers", {"deniedMcpServers": [{"serverName": "a"}]}),
        ("allowedMcpServers", {"allowedMcpServers": []}),
        ("projects./me.disabledMcpServers", {"projects": {"/me": {"disabledMcpServers": ["a"]}}}),
        ("mcp.blockedMcpServers", {"mcp": {"blockedMcpServers": ["a"]}}),
    ],
)
def test_unknown_lists_of_servers_stop_the_start(tmp_path: Path, place, more):
    with pytest.raises(ConfigurationError) as refused:
        read(tmp_path, TWO | more)
    assert f"{place}: unknown key; it may say which servers not to offer" in refused.value.detail


@pytest.mark.parametrize(
    "more",
    [
        {"enableAllProjectMcpServers": True},
        {"deniedMcpServers": []},
        {"projects": {"/me": {"mcpServers": {"c": STDIO}, "disabledMcpjsonServers": ["a"]}}},
    ],
)
def test_what_leaves_no_server_of_the_file_out_does_not(tmp_path: Path, more: dict[str, Any]):
    (key,) = more
    (warning,) = read(tmp_path, TWO | more).warnings
    assert warning.startswith(f"{key}: ignored: unknown key")


def test_a_server_that_is_left_out_and_not_there_is_told(tmp_path: Path):
    found = read(tmp_path, TWO | {"disabledMcpServers": ["a", "gone"]})
    assert list(found.servers) == ["b"]
    assert found.warnings == ("disabledMcpServers: there is no server gone",)


@pytest.mark.parametrize(
    "entry",
    [{"toolTimeout": 5}, {"supports_parallel_tool_calls": True}, {"cacheToolsList": False}],
)
def test_keys_of_comfort_never_stop_the_start(tmp_path: Path, entry: dict[str, Any]):
    (key,) = entry
    found = read(tmp_path, {"mcpServers": {"a": STDIO | entry}})
    assert found.warnings[0].startswith(f"mcpServers.a.{key}: ignored: unknown key")


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"alwaysLoad": ["y"]}, "alwaysLoad: ignored: expected a bool"),
        ({"alwaysLoad": "true"}, "alwaysLoad: ignored: expected a bool"),
        ({"deferTools": False}, "deferTools: ignored: expected a str"),
        (
            {"configs": {"y": {"defer_loading": False}}},
            "configs.y.defer_loading: ignored: write pinned in toolscout instead",
        ),
    ],
)
def test_what_lists_tools_as_themselves_is_read_or_told(tmp_path: Path, entry, told):
    found = read(tmp_path, {"mcpServers": {"a": STDIO | entry}})
    assert found.warnings == (f"mcpServers.a.{told}",)


@pytest.mark.parametrize("config", [{"enabled": False, "policy": "ask"}, {"enabled": "no"}, False])
def test_a_config_of_a_tool_that_is_not_understood_stops_the_start(tmp_path: Path, config):
    with pytest.raises(ConfigurationError, match=r"mcpServers\.a\.configs"):
        read(tmp_path, {"mcpServers": {"a": STDIO | {"configs": {"y": config}}}})


def test_a_denied_name_is_a_name_and_a_pattern():
    assert not is_permitted("delete_file", None, ["delete_*"])
    assert not is_permitted("GET /a[1]", None, ["GET /a[1]"])
    assert not is_permitted("GET /a1", None, ["GET /a[1]"])
    assert not may_read("Ask[1]", ["ask[1]"])


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
    assert find_unmatched(("get_[*]", "read_*", "b", "a"), ["get_a", "a"]) == [
        "get_* (an exact name)",
        "read_*",
        "b",
    ]
    assert find_unmatched(None, ["a"]) == []
