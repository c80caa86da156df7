"""What a configuration may be, and how a wrong one is refused: one line, exit status 2."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.mcp.hosts import ROOT, write
from toolscout.cli import main, parser
from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.config import read_config
from toolscout.gateway.mcp.servers import Config, HttpServer, StdioServer, find_prefix

GOOD = {"command": "notes"}
STDIO: dict[str, Any] = {"command": "x"}
HTTP: dict[str, Any] = {"url": "http://a/mcp"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", ":1:2: not valid JSON"),
        ("[]", "expected an object"),
        ('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "mcpServers.a is there"),
        ('{"mcpServers": {"a": {"command": "x", "args": ["y"], "args": []}}}', "a.args is there"),
        ('{"mcpServers": {}}', "at least one server"),
        ('{"a": {"comand": "x"}}', "at least one server"),
        ('{"mcpServers": {"a": {"comand": "x"}}}', "got neither; unknown here: comand"),
        ('{"mcpServers": {"a": {"command": "x", "url": "http://b"}}}', "either command or url"),
        ('{"mcpServers": {"a": {}}}', "either command or url"),
        (
            '{"mcpServers": {"a": {"url": "http://b", "headersHelper": "print-headers"}}}',
            "mcpServers.a.headersHelper: no command is run for headers",
        ),
        (
            '{"mcpServers": {"a": {"url": "http://b", "httpUrl": "http://c"}}}',
            "mcpServers.a: url and httpUrl mean the same: give one",
        ),
        (
            '{"mcpServers": {"a": {"command": "x", "envFile": "none.env"}}}',
            "mcpServers.a.envFile: ",
        ),
        ('{"mcpServers": {"a": {"command": "x", "disabledTools": "y"}}}', "a.disabledTools: "),
        (
            '{"servers": {"a": {"command": "x", "args": ["${input:api-key}"]}}}',
            "servers.a.args[0]: the variable API_KEY is not set, in place of the input api-key",
        ),
        (
            '{"mcpServers": {"a": {"command": "x"}}, "toolscout": {"max_risk": "hgih"}}',
            "toolscout.max_risk: expected one of read_only, write_local, write_remote, destructive",
        ),
        (
            '{"mcpServers": {"a": {"command": "x", "max_result_chars": -1}}}',
            "mcpServers.a.max_result_chars: expected at least 0",
        ),
        (
            '{"mcpServers": {"a": {"command": "x"}}, "toolscout": {"max_result_chars": 1.5}}',
            "toolscout.max_result_chars: ",
        ),
        (
            '{"mcpServers":{"a":{"url":"http://b","auth":"oauth","headers":{"authorization":"x"}}}}',
            "mcpServers.a: either auth or the header Authorization: give one",
        ),
        (
            '{"mcpServers": {"a": {"url": "http://b", "auth": {"client_id": 5}}}}',
            "mcpServers.a.auth.client_id: expected text",
        ),
        (
            '{"mcpServers": {"a": {"url": "http://b", "auth": {"callback_port": 0}}}}',
            "mcpServers.a.auth.callback_port: expected at least 1",
        ),
        ('{"mcpServers": {"a": []}}', "mcpServers.a: expected an object"),
        ('{"mcpServers": {"a": {"command": ["x"], "args": 5}}}', "mcpServers.a.args: "),
        ('{"mcpServers": {"a": {"command": "x", "tools": "y"}}}', "mcpServers.a.tools: "),
        (
            '{"mcpServers": {"a": {"command": "x", "tools": ["y"], "allow": ["z"]}}}',
            "mcpServers.a: allow and tools mean the same: give one",
        ),
        (
            '{"mcpServers": {"a": {"command": "x", "allowedTools": ["y"]}}}',
            "mcpServers.a.allowedTools: unknown key; it may say which tools not to offer",
        ),
        ('{"mcp": {"a": {"command": "x"}}, "tools": {"a_*": false}}', "tools: unknown key; it may"),
        (
            '{"amp.mcpServers": {"a": {"command": "x"}}, "amp.tools.disable": ["mcp__a__y"]}',
            "amp.tools.disable: unknown key; it may",
        ),
        ('{"mcpServers": [{"command": "x"}]}', "mcpServers[0]: expected a name"),
        ('{"mcpServers": ["x"]}', "mcpServers[0]: expected an object"),
        ('{"mcp": 5}', "mcp: expected an object"),
        ('{"a": {"command": "x", "url": "http://b"}}', ": a: expected either command or url"),
        ('{"mcpServers": {"a": {"command": "x", "env": {"K": []}}}}', "mcpServers.a.env"),
        ('{"mcpServers": {"a": {"command": ""}}}', "mcpServers.a: expected either command"),
        ('{"mcpServers": {"a": {"url": "ftp://b"}}}', "mcpServers.a.url: expected an http://"),
        ('{"mcpServers": {"a": {"url": "http://b", "type": "stdio"}}}', "mcpServers.a.type"),
        (
            '{"mcpServers": {"a": {"url": "https://<backend>/mcp"}}}',
            "mcpServers.a.url: write your own in place of <backend>",
        ),
        (
            '{"mcpServers": {"a": {"url": "https://b.example/{{team}}/mcp"}}}',
            "mcpServers.a.url: write your own in place of {{team}}",
        ),
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


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        (["--http", "0.0.0.0:8200"], "host 0.0.0.0 is reachable by others and no API key is set"),
        (["--http", "8200x"], "http: expected HOST:PORT"),
    ],
)
def test_an_address_that_cannot_be_served_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, flag, said
):
    monkeypatch.delenv("TOOLSCOUT_MCP_KEY", raising=False)
    assert main(["mcp", "--config", str(write(tmp_path, {"a": GOOD})), *flag]) == 2
    assert capsys.readouterr().err.startswith(f"toolscout: {said}")


def test_a_missing_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["mcp", "--config", str(tmp_path / "none.json")]) == 2
    assert "cannot be read: No such file" in capsys.readouterr().err


def read(folder: Path, servers: dict, environ: dict[str, str] | None = None) -> Config:
    return read_config(write(folder, servers), environ or {})


@pytest.mark.parametrize(
    ("entry", "warnings"),
    [
        (STDIO | {"startup": 1}, ("mcpServers.a.startup: ignored: unknown key",)),
        (HTTP | {"oauth": {"callbackPort": 1}}, ('mcpServers.a.oauth: ignored: expected "auth"',)),
        (HTTP | {"oauth": True}, ('mcpServers.a.oauth: ignored: expected "auth"',)),
        (HTTP | {"auth": {"token": "k"}}, ('mcpServers.a.auth: ignored: expected "auth"',)),
        (
            HTTP | {"auth": {"client_id": "x", "scops": []}},
            ("mcpServers.a.auth.scops: ignored: unknown key; did you mean scopes?",),
        ),
        (
            HTTP | {"oauth": {"clientId": "x"}, "headers": {"Authorization": "k"}},
            ("mcpServers.a.oauth: ignored: it has the header Authorization",),
        ),
        (STDIO | {"auth": "oauth"}, ("mcpServers.a.auth: ignored: it has no url",)),
        (STDIO | {"timeout": 60}, ("mcpServers.a.timeout: read as 60 seconds; timeout_ms is",)),
    ],
)
def test_what_is_not_as_it_looks_is_a_warning_that_names_key_and_server(
    tmp_path: Path, entry, warnings
):
    found = read(tmp_path, {"a": entry}).warnings
    assert len(found) == len(warnings)
    assert all(map(str.startswith, found, warnings))


def test_a_longer_key_is_not_taken_for_a_shorter_one_that_would_switch_the_server_off(
    tmp_path: Path,
):
    (warning,) = read(tmp_path, {"a": STDIO | {"enabledMcp": ["y"]}}).warnings
    assert warning == "mcpServers.a.enabledMcp: ignored: unknown key"


def test_variables_that_hold_keys_are_named_as_codex_does(tmp_path: Path):
    entry = HTTP | {"bearer_token_env_var": "KEY", "env_http_headers": {"X-Team": "TEAM"}}
    found = read(tmp_path, {"a": entry}, {"KEY": "k", "TEAM": "t"}).servers["a"]
    assert isinstance(found, HttpServer)
    assert found.headers == {"Authorization": "Bearer k", "X-Team": "t"}
    fault = read(tmp_path, {"a": entry}, {"TEAM": "t"}).servers["a"].fault
    assert fault == "mcpServers.a.headers.Authorization: the variable KEY is not set"


def test_when_a_server_runs_and_what_its_tools_risk_is_read(tmp_path: Path):
    more = {"start": "eager", "idle_timeout": 900, "default_risk": "read_only"}
    read_as = read(tmp_path, {"a": STDIO | more, "b": STDIO | {"idle_timeout": 0}}).servers
    assert (read_as["a"].start, read_as["a"].idle_timeout_s) == ("eager", 900)
    assert read_as["a"].default_risk == "read_only"
    assert (read_as["b"].start, read_as["b"].idle_timeout_s) == ("demand", None)
    assert read_as["b"].default_risk == "write_remote"
    for wrong in ({"start": "late"}, {"idle_timeout": "soon"}, {"default_risk": "none"}):
        with pytest.raises(ConfigurationError, match=f"mcpServers.a.{next(iter(wrong))}: expected"):
            read(tmp_path, {"a": STDIO | wrong})


def test_a_short_timeout_is_in_seconds(tmp_path: Path):
    assert read(tmp_path, {"a": STDIO | {"timeout": 60}}).servers["a"].timeout_s == 60


def test_a_warning_is_printed_and_the_command_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = write(tmp_path, {"a": {"url": "http://127.0.0.1:1/mcp", "colour": "red"}})
    assert main(["mcp", "--config", str(path), "--http", "x:0"]) == 2
    warning, error = capsys.readouterr().err.splitlines()
    assert warning == f"toolscout: {path}: mcpServers.a.colour: ignored: unknown key"
    assert "http: " in error


def test_variables_of_a_file_reach_the_server_unless_env_has_others(tmp_path: Path):
    (tmp_path / "a.env").write_text("# keys\nexport A='one'\nB=${A}\nC\nD=four # no\n", "utf-8")
    entry = STDIO | {"envFile": "${env:NAME}.env", "env": {"D": "4"}}
    found = read(tmp_path, {"a": entry}, {"NAME": "a"}).servers["a"]
    assert isinstance(found, StdioServer)
    assert found.env == {"A": "one", "B": "${A}", "D": "4"}


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
    assert find_prefix(name) == prefix


def test_every_configuration_in_the_documentation_is_one(tmp_path: Path):
    blocks = re.findall(
        r"^```json\n(.*?)^```", (ROOT / "docs" / "mcp.md").read_text("utf-8"), re.S | re.M
    )
    whole, *hosts = map(json.loads, blocks)
    (tmp_path / "mcp.json").write_text(json.dumps(whole), "utf-8")
    assert len(read_config(tmp_path / "mcp.json", {"DOCS_KEY": "k"}).servers) == 3
    assert len(hosts) == 2
    for content in hosts:
        (server,) = (content.get("mcpServers") or content["servers"]).values()
        assert server["command"].endswith("toolscout")
        assert parser().parse_args(server["args"]).config.name == "mcp.json"


def test_the_example_is_a_configuration():
    example = ROOT / "examples" / "mcp.json"
    assert list(read_config(example, {}).servers) == ["sample"]
