"""Files as hosts write them mean here what they mean there."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.gateway.mcp.test_config import HTTP, STDIO, read
from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.config import read_config
from toolscout.gateway.mcp.servers import HttpServer, OAuthClient, StdioServer


def test_all_that_hosts_write_is_read(tmp_path: Path):
    servers = {
        "git": {
            "type": "stdio",
            "command": "uvx",
            "args": ["mcp-server-git"],
            "env": {"KEY": "k"},
            "cwd": "/srv",
            "timeout": 60_000,
            "description": "Repositories",
        },
        "docs": {
            "type": "http",
            "url": "https://docs.example/mcp",
            "headers": {"X-Key": "k"},
            "auth": "oauth",
        },
        "old": {"transport": "sse", "url": "https://old.example/sse"},
        "off": {"command": "x", "disabled": True},
    }
    config = read(tmp_path, servers)
    assert list(config.servers) == ["git", "docs", "old"]
    assert config.servers["git"] == StdioServer(
        command="uvx",
        args=("mcp-server-git",),
        env={"KEY": "k"},
        cwd="/srv",
        timeout_s=60,
    )
    assert isinstance(config.servers["docs"], HttpServer)
    assert config.servers["docs"].auth == OAuthClient()
    assert not config.warnings


@pytest.mark.parametrize(
    "written",
    [
        {"auth": {"client_id": "x", "client_secret": "${KEY}", "scopes": ["a", "b"]}},
        {"auth": {"CLIENT_ID": "x", "CLIENT_SECRET": "${env:KEY}", "scopes": ["a", "b"]}},
        {"oauth": {"clientId": "x", "clientSecret": "${KEY}", "scope": "a b"}},
        {"oauth": {"clientId": "x", "clientSecret": "${KEY}", "scopes": ["a", "b"]}},
    ],
)
def test_a_client_of_oauth_is_read_as_each_host_writes_it(tmp_path: Path, written: Any):
    server = read(tmp_path, {"a": {"url": "http://a"} | written}, {"KEY": "hunter22"}).servers["a"]
    assert isinstance(server, HttpServer)
    assert server.auth == OAuthClient(client_id="x", client_secret="hunter22", scopes=("a", "b"))
    assert "hunter22" in server.secrets


@pytest.mark.parametrize(
    ("entry", "same_as"),
    [
        (STDIO | {"alwaysAllow": ["y"], "autoApprove": True, "trust": True}, STDIO),
        (STDIO | {"disabledTools": ["y"], "excludeTools": ["z"]}, STDIO | {"deny": ["z", "y"]}),
        (STDIO | {"disabledTools": ["y*"], "deny": ["z"]}, STDIO | {"deny": ["z", "y*"]}),
        (STDIO | {"includeTools": ["y"]}, STDIO | {"allow": ["y"]}),
        (STDIO | {"startup_timeout_sec": 5, "tool_timeout_sec": 9}, STDIO | {"timeout_ms": 9_000}),
        (STDIO | {"timeout": 2_500}, STDIO | {"timeout_ms": 2_500}),
        (STDIO | {"timeout": 60, "timeout_ms": 300}, STDIO | {"timeout_ms": 300}),
        (STDIO | {"timeout": 0, "startup_timeout_sec": 0, "type": "", "cwd": ""}, STDIO),
        (STDIO | {"args": [1, "y", True]}, STDIO | {"args": ["1", "y", "true"]}),
        (STDIO | {"env": {"A": None, "B": "b"}}, STDIO | {"env": {"B": "b"}}),
        ({"command": ["x", "y"], "args": None}, STDIO | {"args": ["y"]}),
        (
            STDIO | {"enabled_tools": ["y"], "disabled_tools": ["z"]},
            STDIO | {"allow": ["y"], "deny": ["z"]},
        ),
        (STDIO | {"tools": ["*"]}, STDIO),
        (
            STDIO | {"configs": {"y*": {"enabled": False}, "z": {"enabled": True}}},
            STDIO | {"deny": ["y[*]"]},
        ),
        (
            STDIO | {"default_config": {"enabled": False}, "configs": {"z": {"enabled": True}}},
            STDIO | {"allow": ["z"]},
        ),
        (STDIO | {"default_config": {"enabled": True}}, STDIO),
        (STDIO | {"default_config": {"defer_loading": False}}, STDIO | {"alwaysLoad": True}),
        (STDIO | {"deferTools": "never"}, STDIO | {"alwaysLoad": True}),
        (STDIO | {"deferTools": "auto", "alwaysLoad": False}, STDIO),
        (STDIO | {"tools": []}, STDIO | {"allow": []}),
        (STDIO | {"tools": ["y", "z*"]}, STDIO | {"allow": ["y", "z[*]"]}),
        (
            STDIO | {"tools": ["y"], "disabled_tools": ["y"]},
            STDIO | {"allow": ["y"], "deny": ["y"]},
        ),
        (
            {"type": "local", "command": ["x", "y"], "environment": {"A": "b"}, "enabled": True},
            STDIO | {"args": ["y"], "env": {"A": "b"}},
        ),
        (HTTP | {"requestOptions": {"headers": {"K": "v"}}}, HTTP | {"headers": {"K": "v"}}),
        (STDIO | {"source": "custom", "enabled": True, "type": "local", "env": None}, STDIO),
        (STDIO | {"name": "a", "displayName": "A", "gallery": True, "version": "1"}, STDIO),
        (STDIO | {"watchPaths": ["."], "dev": {}, "sandboxEnabled": True, "$schema": "s"}, STDIO),
        (STDIO | {"env": {"A": 1, "B": True}}, STDIO | {"env": {"A": "1", "B": "true"}}),
        (
            {"command": {"path": "x", "args": ["y"], "env": {"A": "b"}}},
            STDIO | {"args": ["y"], "env": {"A": "b"}},
        ),
        ({"serverUrl": "http://a/mcp"}, HTTP),
        (HTTP | {"serverUrl": "http://a/mcp"}, HTTP),
        ({"httpUrl": "http://a/sse"}, {"url": "http://a/sse", "type": "http"}),
        (HTTP | {"type": "streamableHttp"}, HTTP | {"type": "http"}),
        (HTTP | {"transport": "streamable_http"}, HTTP | {"type": "streamable-http"}),
        (HTTP | {"type": "remote"}, HTTP | {"type": "http"}),
        (HTTP | {"headers": {"K": 1, "L": None}}, HTTP | {"headers": {"K": "1"}}),
        (HTTP | {"http_headers": {"K": "v"}}, HTTP | {"headers": {"K": "v"}}),
        (HTTP | {"requestInit": {"headers": {"K": "v"}}}, HTTP | {"headers": {"K": "v"}}),
    ],
)
def test_keys_of_hosts_mean_what_their_hosts_mean(tmp_path: Path, entry, same_as):
    config, expected = read(tmp_path, {"a": entry}), read(tmp_path, {"a": same_as})
    if start := entry.get("startup_timeout_sec"):
        assert config.servers["a"].start_s == start
        expected.servers["a"] = msgspec.structs.replace(expected.servers["a"], start_s=start)
    assert config == expected
    assert not config.warnings


@pytest.mark.parametrize("key", ["servers", "context_servers"])
def test_files_of_other_hosts_are_read_with_comments_and_trailing_commas(tmp_path: Path, key: str):
    path = tmp_path / ".vscode" / "mcp.json"
    path.parent.mkdir()
    content = """\ufeff{
      // asked of a person
      "inputs": [{"id": "api-key", "type": "promptString"}, {"id": "level", "default": "info"}],
      "KEY": { /* of "a" */
        "a": {"command": "x", "args": ["//no /* comment */, ]", "${input:level}", "${userHome}"],
              "cwd": "${workspaceFolder}", "env": {"KEY": "${input:api-key}",},},
        "off": {"command": "${NOWHERE}", "disabled": true},
      },
    }"""
    path.write_text(content.replace("KEY", key, 1), "utf-8")
    found = read_config(path, {"API_KEY": "sesame"}).servers["a"]
    assert isinstance(found, StdioServer)
    assert found.args == ("//no /* comment */, ]", "info", str(Path.home()))
    assert found.cwd == str(tmp_path)
    assert found.env == {"KEY": "sesame"}


AMP = {"command": "x", "includeTools": ["read_*"]}


@pytest.mark.parametrize(
    ("content", "same_as"),
    [
        ({"mcp": {"a": STDIO}, "$schema": "https://opencode.ai/config.json"}, STDIO),
        ({"mcp": {"servers": {"a": STDIO | {"disabled": False}}}}, STDIO),
        ({"mcp": {"servers": STDIO, "a": STDIO | {"enabled": False}}}, STDIO),
        (
            {"mcp": {"a": STDIO | {"type": "stdio", "disabled_tools": ["y"]}}},
            STDIO | {"deny": ["y"]},
        ),
        ({"amp.mcpServers": {"a": AMP}}, STDIO | {"allow": ["read_*"]}),
        ({"mcpServers": {"a": AMP}}, STDIO | {"allow": ["read_[*]"]}),
        ({"mcpServers": [{"name": "a", **STDIO}]}, STDIO),
        ({"a": STDIO, "$schema": "x"}, STDIO),
        ({"a": HTTP | {"type": "http"}, "toolscout": {}}, HTTP | {"type": "http"}),
    ],
)
def test_servers_are_found_where_hosts_have_them(tmp_path: Path, content, same_as):
    path = tmp_path / "hosts.json"
    path.write_text(json.dumps(content), "utf-8")
    found = read_config(path, {})
    assert list(found.servers.values()) == list(read(tmp_path, {"a": same_as}).servers.values())
    assert not found.warnings


def test_an_error_in_a_file_with_comments_is_where_it_says(tmp_path: Path):
    path = tmp_path / "mcp.json"
    path.write_text('{ /* a\n   comment */\n  "mcpServers": {]\n}', "utf-8")
    with pytest.raises(ConfigurationError, match=r":3:18: not valid JSON"):
        read_config(path, {})
