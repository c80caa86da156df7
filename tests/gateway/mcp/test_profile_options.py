"""Profiles in the configuration: how a wrong one is refused, and what each has."""

from pathlib import Path
from typing import Any

import pytest

from tests.gateway.mcp.hosts import cache_in, write
from tests.gateway.mcp.test_profiles import KEYS, PROFILES, SERVERS, config, seen_by
from tests.support import until
from toolscout.cli import main


@pytest.mark.parametrize(
    ("profile", "said"),
    [
        ([], "toolscout.profiles.x: expected an object"),
        ({"server": ["notes"]}, "toolscout.profiles.x.server: unknown key; did you mean servers?"),
        ({"keyy": "k"}, "toolscout.profiles.x.keyy: unknown key"),
        ({"servers": ["note"]}, "x.servers: expected names of servers; there are notes, library"),
        ({"servers": []}, "x.servers: expected names of servers"),
        ({"key": ""}, "toolscout.profiles.x.key: expected at least 32 characters"),
        ({"key": "short"}, "toolscout.profiles.x.key: expected at least 32 characters"),
        ({"key": KEYS["office"] + "\n"}, "toolscout.profiles.x.key: expected at least 32"),
        ({"key": "${NO_SUCH_KEY}"}, "profiles.x.key: the variable NO_SUCH_KEY is not set"),
        ({"key": KEYS["office"]}, "toolscout.profiles.x.key: it is that of office, too"),
        ({"key": KEYS["whole"]}, "x.key: it is that of TOOLSCOUT_MCP_KEY, too"),
        ({"max_risk": "all"}, "toolscout.profiles.x.max_risk: expected one of read_only"),
        ({"allow": "notes__*"}, "toolscout.profiles.x.allow: "),
        (
            {"servers": ["notes"], "pinned": ["library__find_book"]},
            "x.pinned: library__find_book is not among the profile's tools",
        ),
        ({"deny": ["*_book"], "pinned": ["library__find_book"]}, "x.pinned: library__find_book is"),
    ],
)
def test_a_wrong_profile_is_refused_in_a_line_that_says_where(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    profile: Any,
    said: str,
):
    monkeypatch.setenv("TOOLSCOUT_MCP_KEY", KEYS["whole"])
    path = config(tmp_path, x=profile)
    assert main(["mcp", "--config", str(path), "--http", "8200"]) == 2
    printed = capsys.readouterr().err
    assert said in printed
    assert printed.count("\n") == 1
    assert not [key for key in KEYS.values() if key in printed]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--profile", "sales"], "profile: no sales in"),
        (["--profile", "office", "--http", "8200"], "profile: over HTTP the key of a host says"),
    ],
)
def test_a_profile_is_chosen_by_its_name_over_stdio_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], said: str
):
    assert main(["mcp", "--config", str(config(tmp_path)), *flags]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("address", "profiles", "said"),
    [
        ("127.0.0.1:8200", {"x": {}}, "profiles: none has a key"),
        ("0.0.0.0:8200", {"x": {}}, "profiles: none has a key"),
        ("0.0.0.0:8200", {}, "is reachable by others and no API key is set"),
    ],
)
def test_profiles_that_nobody_can_use_are_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    address: str,
    profiles: dict[str, Any],
    said: str,
):
    monkeypatch.delenv("TOOLSCOUT_MCP_KEY", raising=False)
    path = write(tmp_path, SERVERS, profiles=profiles)
    assert main(["mcp", "--config", str(path), "--http", address]) == 2
    assert said in capsys.readouterr().err


def test_a_profile_never_raises_the_limits_of_all(tmp_path: Path):
    profile = {"servers": ["notes"], "allow": ["*"], "max_risk": "destructive"}
    options: dict[str, Any] = {"profiles": {"office": profile}, "max_risk": "read_only"}
    with seen_by(tmp_path, "office", **options) as office:
        until(lambda: "notes__list_notes" in office.names())
        assert not {"notes__crash", "notes__send_note"} & office.names()
        assert "call_tool_write" not in {tool.name for tool in office.tools()}


@pytest.mark.integration
def test_a_check_prints_how_many_tools_each_profile_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", cache_in(tmp_path)["XDG_CACHE_HOME"])
    servers = {name: SERVERS[name] for name in ("notes", "library")}
    profiles = {"office": PROFILES["office"], "books": {"servers": ["library"]}}
    path = write(tmp_path, servers, profiles=profiles)
    assert main(["mcp", "--config", str(path), "--check"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "all: 9 tools of notes, library",
        "profile office: 5 tools of notes",
        "profile office: left out: 1 above its max_risk: notes__erase_notebook",
        "profile books: 2 tools of library",
    ]
    write(tmp_path, servers, profiles={"books": {"pinned": ["library__sell_book"]}})
    assert main(["mcp", "--config", str(path), "--check"]) == 2
    printed = capsys.readouterr().err
    assert "profile books: pinned: there is no tool library__sell_book" in printed
