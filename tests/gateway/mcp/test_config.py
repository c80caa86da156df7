"""What a configuration may be, and how a wrong one is refused: one line, exit status 2."""

import json
import re
from pathlib import Path

import pytest

from tests.gateway.mcp.hosts import ROOT, write
from toolscout.cli import main, parser
from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.config import read_config
from toolscout.gateway.mcp.servers import Config, HttpServer, StdioServer, prefix_of

GOOD = {"command": "notes"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", ":1:2: not valid JSON"),
        ("[]", "expected an object"),
        ('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "mcpServers.a is there"),
        ('{"mcpServers": {"a": {"command": "x", "args": ["y"], "args": []}}}', "a.args is there"),
        ('{"mcpServers": {}}', "at least one server"),
        ('{"servers": {"a": {"command": "x"}}}', "did you mean mcpServers?"),
        ('{"mcpServers": {"a": {"comand": "x"}}}', "mcpServers.a.comand: unknown key; did you"),
        ('{"mcpServers": {"a": {"command": "x", "url": "http://b"}}}', "either command or url"),
        ('{"mcpServers": {"a": {}}}', "either command or url"),
        (
            '{"mcpServers": {"a": {"command": "x", "autoApprove": []}}}',
            "mcpServers.a.autoApprove: unknown key; known are allow, deny, timeout, disabled, "
            "description, command, args, env, cwd, type, transport, url, headers",
        ),
        (
            '{"mcpServers": {"a": {"command": "x"}}, "toolscout": {"max_risk": "hgih"}}',
            "toolscout.max_risk: expected one of read_only, write_local, write_remote, destructive",
        ),
        ('{"mcpServers": {"a": []}}', "mcpServers.a: expected an object"),
        ('{"mcpServers": {"a": {"command": "x", "env": {"K": 1}}}}', "mcpServers.a.env"),
        ('{"mcpServers": {"a": {"command": ""}}}', "mcpServers.a.command"),
        ('{"mcpServers": {"a": {"url": "ftp://b"}}}', "mcpServers.a.url: expected an http://"),
        ('{"mcpServers": {"a": {"url": "http://b", "type": "stdio"}}}', "mcpServers.a.type"),
        ('{"mcpServers": {"a": {"command": "${NOWHERE}"}}}', "the variable NOWHERE is not set"),
        ('{"mcpServers": {"a b": {"command": "x"}, "a_b": {"command": "x"}}}', "the same prefix"),
        ('{"mcpServers": {"--": {"command": "x"}, "__": {"command": "x"}}}', "'__' is no name"),
        ('{"mcpServers": {"a": {"command": "x", "disabled": true}}}', "every server is disabled"),
        (
            '{"mcpServers": {"a": {"command": "x"}}, "toolscout": {"max_risk": "all"}}',
            "toolscout.max_risk",
        ),
        (
            '{"mcpServers": {"a": {"command": "x"}}, "toolscout": {"pined": []}}',
            "did you mean pinned?",
        ),
    ],
)
@pytest.mark.parametrize(
    "command",
    [["mcp", "--config"], ["import", "--catalog", "office", "--mcp"]],
    ids=["mcp", "import"],
)
def test_a_wrong_file_is_refused_in_a_line_that_says_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command, content, said
):
    path = tmp_path / "mcp.json"
    path.write_text(content, "utf-8")
    assert main([*command, str(path)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"toolscout: {path}")
    assert said in printed.err
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize("flag", [["--http", "0.0.0.0:8200"], ["--http", "8200x"]])
def test_an_address_that_cannot_be_served_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, flag
):
    monkeypatch.delenv("TOOLSCOUT_MCP_KEY", raising=False)
    assert main(["mcp", "--config", str(write(tmp_path, {"a": GOOD})), *flag]) == 2
    assert capsys.readouterr().err.startswith("toolscout: http: ")


def test_a_missing_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["mcp", "--config", str(tmp_path / "none.json")]) == 2
    assert "cannot be read: No such file" in capsys.readouterr().err


def read(folder: Path, servers: dict, environ: dict[str, str] | None = None) -> Config:
    return read_config(write(folder, servers), environ or {})


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
        "docs": {"type": "http", "url": "https://docs.example/mcp", "headers": {"X-Key": "k"}},
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
        timeout=60_000,
        description="Repositories",
    )
    assert isinstance(config.servers["docs"], HttpServer)


def test_variables_are_expanded_in_every_value_as_hosts_do(tmp_path: Path):
    server = {
        "command": "${TOOLS}/notes",
        "args": ["${env:FOLDER}", "${MISSING:-inbox}", "$HOME", "${ }"],
        "env": {"KEY": "Bearer ${SECRET}"},
    }
    environ = {"TOOLS": "/opt", "FOLDER": "work", "SECRET": "sesame", "HOME": "/root"}
    found = read(tmp_path, {"notes": server}, environ).servers["notes"]
    assert isinstance(found, StdioServer)
    assert found.command == "/opt/notes"
    assert found.args == ("work", "inbox", "$HOME", "${ }")
    assert found.env == {"KEY": "Bearer sesame"}


def test_an_error_repeats_no_value_of_a_variable(tmp_path: Path):
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, {"a": {"url": "${ADDRESS}"}}, {"ADDRESS": "sesame://x"})
    assert "sesame" not in caught.value.detail


@pytest.mark.parametrize(
    ("name", "prefix"), [("git", "git"), ("My notes", "My_notes"), ("a__b_", "a_b"), ("é-1", "-1")]
)
def test_a_prefix_leaves_one_reading_of_a_whole_name(name: str, prefix: str):
    assert prefix_of(name) == prefix


def test_every_configuration_in_the_documentation_is_one(tmp_path: Path):
    blocks = re.findall(
        r"^```json\n(.*?)^```", (ROOT / "docs" / "mcp.md").read_text("utf-8"), re.S | re.M
    )
    whole, *hosts = map(json.loads, blocks)
    (tmp_path / "mcp.json").write_text(json.dumps(whole), "utf-8")
    assert len(read_config(tmp_path / "mcp.json", {"DOCS_KEY": "k"}).servers) == 3
    assert len(hosts) == 4
    for content in hosts:
        (server,) = (content.get("mcpServers") or content["servers"]).values()
        assert server["command"].endswith("toolscout")
        assert parser().parse_args(server["args"]).config.name == "mcp.json"


def test_the_example_is_a_configuration():
    example = ROOT / "examples" / "mcp.json"
    assert len(read_config(example, {"DOCS_KEY": "k"}).servers) > 1
