"""`toolscout mcp --import` moves servers out of hosts' own files, and `--undo` puts them back."""

import json
import shlex
from pathlib import Path

import pytest

from tests.gateway.mcp.host_lists import (
    DOCS,
    GITHUB,
    SECRET,
    Run,
    files_in,
    put,
    read,
    servers_of,
)
from toolscout.cli import main, parser
from toolscout.gateway.mcp import takeover
from toolscout.gateway.mcp.cache import write_private
from toolscout.gateway.mcp.config import read_config
from toolscout.gateway.mcp.host_files import list_possible_files


def test_without_write_it_is_said_what_would_change_and_nothing_is_written(home: Path, run: Run):
    path = put(home / ".cursor" / "mcp.json", {"mcpServers": {"github": GITHUB, "docs": DOCS}})
    before = files_in(home)
    status, printed = run(path)
    assert (status, files_in(home)) == (0, before)
    assert SECRET not in printed
    lines = printed.splitlines()
    assert lines[:3] == [str(path), "  - github (npx)", "  - docs (docs.example)"]
    assert lines[3].startswith("  + toolscout (toolscout mcp --config ")
    assert lines[4:7] == [str(home / "mcp.json"), "  + github", "  + docs"]
    assert lines[7].startswith("nothing is written yet; then: ")


def test_the_commands_that_are_printed_do_what_they_say(home: Path, run: Run, capsys):
    path = put(home / ".claude.json", {"mcpServers": {"ls": {"command": "ls"}}, "count": 1})
    before = path.read_bytes()
    _, printed = run()
    write = shlex.split(printed.splitlines()[-1].partition("then: ")[2])
    assert main(write[1:]) == 0
    *_, check, back = capsys.readouterr().out.splitlines()
    assert path.read_bytes() != before
    assert main(shlex.split(check.removeprefix("then: "))[1:]) == 2  # `ls` is no server
    assert "its process has ended" in capsys.readouterr().out
    assert main(shlex.split(back.removeprefix("or back: "))[1:]) == 0
    assert path.read_bytes() == before


def test_the_servers_move_and_one_that_runs_the_gateway_takes_their_place(home: Path, run: Run):
    path = put(home / ".cursor" / "mcp.json", {"mcpServers": {"github": GITHUB, "docs": DOCS}})
    assert run(path, "--write")[0] == 0
    assert servers_of(home) == {"github": GITHUB, "docs": DOCS}
    (only,) = read(path)["mcpServers"].items()
    assert only[0] == "toolscout"
    assert Path(only[1]["command"]).name == "toolscout"
    assert parser().parse_args(only[1]["args"]).config == home / "mcp.json"
    assert list(read_config(home / "mcp.json", {}).servers) == ["github", "docs"]
    assert (home / "mcp.json").stat().st_mode & 0o777 == 0o600


ODD = """\ufeff// of mine
{
\t"theme": "dark", // stays
\t"mcpServers": {
\t\t"github": {"command": "npx"}, /* gone */
\t\t"off":   {"command": "x",  "disabled": true},
\t},
\t"number": 1.50, "twice": [1,2,],
}
"""


def test_all_else_in_a_file_stays_as_it_is_written(home: Path, run: Run):
    path = put(home / "host.json", ODD, 0o640)
    assert run(path, "--write")[0] == 0
    text = path.read_text("utf-8")
    assert text.startswith('\ufeff// of mine\n{\n\t"theme": "dark", // stays\n\t"mcpServers": {\n')
    assert '\n\t\t"off":   {"command": "x",  "disabled": true},\n\t\t"toolscout": {' in text
    assert text.endswith('\n\t},\n\t"number": 1.50, "twice": [1,2,],\n}\n')
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(servers_of(home)) == ["github"]


def test_undo_restores_each_byte_and_the_permissions_through_a_link_too(home: Path, run: Run):
    real = put(home / "dotfiles" / "cursor.json", ODD, 0o640)
    link = home / ".cursor" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(real)
    before = real.read_bytes()
    run(link, "--write")
    assert link.is_symlink()
    assert real.read_bytes() != before
    assert run("--undo")[0] == 0
    assert (real.read_bytes(), real.stat().st_mode & 0o777) == (before, 0o640)
    assert link.is_symlink()
    assert sorted(path.name for path in real.parent.iterdir()) == ["cursor.json"]


def test_undo_restores_the_servers_alone_where_a_host_has_changed_other_keys(home: Path, run: Run):
    path = put(home / ".claude.json", {"mcpServers": {"github": GITHUB}, "numStartups": 1})
    run(path, "--write")
    put(path, json.dumps({"tip": "new"} | read(path) | {"numStartups": 2}, indent=4))
    assert run(path, "--undo")[0] == 0
    assert read(path) == {"tip": "new", "mcpServers": {"github": GITHUB}, "numStartups": 2}
    assert sorted(one.name for one in home.iterdir()) == [".claude.json", "mcp.json"]


def test_undo_refuses_a_file_whose_servers_have_changed_and_names_what_it_was(home: Path, run: Run):
    path = put(home / ".claude.json", {"mcpServers": {"github": GITHUB}})
    before = path.read_bytes()
    run(path, "--write")
    content = read(path)
    content["mcpServers"]["docs"] = DOCS
    put(path, content)
    changed = files_in(home)
    status, printed = run(path, "--undo")
    assert (status, files_in(home)) == (2, changed)
    assert "its servers have changed since the import; as it was: " in printed
    assert Path(printed.rpartition("as it was: ")[2].strip()).read_bytes() == before


def test_imports_one_after_the_other_are_undone_one_by_one(home: Path, run: Run):
    path = put(home / ".claude.json", {"mcpServers": {"github": GITHUB}})
    first = path.read_bytes()
    run(path, "--write")
    content = read(path)
    content["mcpServers"]["docs"] = DOCS
    second = put(path, content).read_bytes()
    run(path, "--write")
    assert list(read(path)["mcpServers"]) == ["toolscout"]
    assert servers_of(home) == {"github": GITHUB, "docs": DOCS}
    assert run(path, "--undo")[0] == 0
    assert path.read_bytes() == second
    assert first != second


def test_there_is_nothing_to_undo_where_nothing_was_imported(home: Path, run: Run):
    path = put(home / ".claude.json", {"mcpServers": {"github": GITHUB}})
    assert run(path, "--undo") == (2, f"toolscout: {path}: there is no import to undo\n")


def test_write_and_undo_together_are_refused(home: Path, run: Run):
    path = put(home / ".claude.json", {"mcpServers": {"github": GITHUB}})
    run(path, "--write")
    before = files_in(home)
    status, printed = run(path, "--write", "--undo")
    assert (status, files_in(home)) == (2, before)
    assert "expected one of them" in printed


@pytest.mark.parametrize("flag", ["--write", "--undo"])
def test_write_and_undo_alone_are_refused(home: Path, capsys, flag: str):
    assert main(["mcp", "--config", str(home / "mcp.json"), flag]) == 2
    assert "expected --import, too" in capsys.readouterr().err


def test_servers_of_claude_codes_projects_stay_there(home: Path, run: Run):
    project = {"allowedTools": [], "mcpServers": {"docs": DOCS}, "enabledMcpjsonServers": []}
    other = {"mcpServers": {}, "allowedTools": ["Bash"]}
    content = {
        "numStartups": 5,
        "mcpServers": {"github": GITHUB},
        "projects": {"/home/me/a": project, "/home/me/b": other},
    }
    path = put(home / ".claude.json", content)
    status, printed = run(path, "--write")
    assert status == 0
    assert "  ! docs, of /home/me/a, stays: other projects would have it, too" in printed
    assert servers_of(home) == {"github": GITHUB}
    after = read(path)
    assert list(after["mcpServers"]) == ["toolscout"]
    assert after | {"mcpServers": content["mcpServers"]} == content


def test_files_of_projects_are_imported_only_where_they_are_named(home: Path, run: Run):
    put(home / ".claude.json", {"mcpServers": {"github": GITHUB}})
    path = put(Path.cwd() / ".mcp.json", {"mcpServers": {"docs": DOCS}})
    before = path.read_bytes()
    run("--write")
    assert (servers_of(home), path.read_bytes()) == ({"github": GITHUB}, before)
    _, printed = run(path, "--write")
    assert list(servers_of(home)) == ["github", "docs"]
    assert "hold your keys, and belong into no repository" in printed


@pytest.mark.parametrize(
    ("place", "entry", "cwd"),
    [
        (".mcp.json", {"args": ["srv/s.py"]}, ""),
        (".cursor/mcp.json", {"cwd": "srv"}, "srv"),
        (".vscode/mcp.json", {"cwd": "${workspaceFolder}/srv"}, "srv"),
        (".mcp.json", {"cwd": "/srv"}, "/srv"),
    ],
)
def test_servers_of_a_project_run_in_its_folder(home: Path, run: Run, place, entry, cwd):
    path = put(Path.cwd() / place, {"mcpServers": {"own": {"command": "python"} | entry}})
    assert run(path, "--write")[0] == 0
    assert servers_of(home)["own"] == {"command": "python"} | entry | {"cwd": str(Path.cwd() / cwd)}


def test_servers_of_all_projects_get_no_folder_of_one(home: Path, run: Run):
    path = put(home / ".config" / "Code" / "User" / "mcp.json", {"servers": {"github": GITHUB}})
    assert run(path, "--write")[0] == 0
    assert servers_of(home) == {"github": GITHUB}


def test_the_gateways_file_can_be_read_by_its_owner_alone_once_it_has_secrets(home: Path, run: Run):
    own = put(home / "mcp.json", {"mcpServers": {"a": {"command": "x"}}}, 0o644)
    run(put(home / "host.json", {"mcpServers": {"github": GITHUB}}), "--write")
    assert own.stat().st_mode & 0o777 == 0o600


def test_nothing_changes_where_one_file_cannot_be_kept(home: Path, run: Run):
    first = put(home / "host.json", {"mcpServers": {"github": GITHUB}})
    long = put(home / ("x" * 250), {"mcpServers": {"docs": DOCS}})
    before = files_in(home)
    status, printed = run(first, long, "--write")
    assert (status, files_in(home)) == (2, before)
    assert printed.startswith(f"toolscout: {long}: nothing has changed, ")


def test_a_file_that_changes_meanwhile_is_left_and_the_others_are_told(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
):
    first = put(home / "a.json", {"mcpServers": {"github": GITHUB}})
    second = put(home / "b.json", {"mcpServers": {"docs": DOCS}})

    def write(path: Path, content: bytes, mode: int = 0o600) -> None:
        write_private(path, content, mode)
        if path == home / "mcp.json":
            put(second, {"mcpServers": {}})

    monkeypatch.setattr(takeover, "write_private", write)
    status, printed = run(first, second, "--write")
    assert status == 0
    assert f"{first} as it was: " in printed
    assert f"{second} stays as it is: it has changed meanwhile" in printed
    assert read(second) == {"mcpServers": {}}
    assert len(list(home.iterdir())) == 4


def test_vs_codes_file_has_its_own_words(home: Path, run: Run):
    entry = {"type": "stdio", "command": "${workspaceFolder}/run", "envFile": "keys.env"}
    path = Path.cwd() / ".vscode" / "mcp.json"
    put(path, {"servers": {"mine": entry}, "inputs": []})
    put(path.with_name("keys.env"), "A=1\n")
    assert run(path, "--write")[0] == 0
    (moved,) = servers_of(home).values()
    assert moved["command"] == f"{Path.cwd()}/run"
    assert moved["envFile"] == str(path.with_name("keys.env"))
    assert read(path)["servers"]["toolscout"]["type"] == "stdio"


def test_the_gateways_own_file_keeps_its_comments_and_servers(home: Path, run: Run):
    own = '{\n  // mine\n  "mcpServers": {\n    "a": {"command": "x"}, // first\n  },\n}\n'
    put(home / "mcp.json", own)
    path = put(home / "host.json", {"mcpServers": {"github": GITHUB}})
    run(path, "--write")
    text = (home / "mcp.json").read_text("utf-8")
    assert text.startswith('{\n  // mine\n  "mcpServers": {\n    "a": {"command": "x"},\n')
    assert "// first" in text
    assert list(read_config(home / "mcp.json", {}).servers) == ["a", "github"]


@pytest.mark.parametrize(
    "own", ["{}", '{"toolscout": {"max_risk": "read_only"}}', '{"mcpServers": {}, "inputs": []}']
)
def test_the_gateways_own_file_may_have_no_servers_yet(home: Path, run: Run, own: str):
    put(home / "mcp.json", own)
    assert run(put(home / "host.json", {"mcpServers": {"github": GITHUB}}), "--write")[0] == 0
    assert list(read_config(home / "mcp.json", {}).servers) == ["github"]


def test_two_hosts_with_one_server_share_it_and_one_of_its_name_stays(home: Path, run: Run):
    first = put(home / "a.json", {"mcpServers": {"github": GITHUB}})
    second = put(home / "b.json", {"mcpServers": {"github": GITHUB}})
    third = put(home / "c.json", {"mcpServers": {"github": {"command": "other"}}})
    _, printed = run(first, second, third, "--write")
    assert servers_of(home) == {"github": GITHUB}
    assert [list(read(path)["mcpServers"]) for path in (first, second, third)] == [
        ["toolscout"],
        ["toolscout"],
        ["github"],
    ]
    assert printed.count("another server github: rename one") == 1


def test_the_gateways_own_file_is_not_imported_into_itself(home: Path, run: Run):
    put(home / "mcp.json", {"mcpServers": {"github": GITHUB}})
    assert "it is the gateway's own file" in run(home / "mcp.json", "--write")[1]
    assert servers_of(home) == {"github": GITHUB}


def test_without_a_file_of_a_host_one_is_asked_for(home: Path, run: Run):
    assert run() == (2, "toolscout: import: there is no file of a host; name one\n")


def test_a_file_in_one_line_is_rewritten_too(home: Path, run: Run):
    path = put(home / "host.json", json.dumps({"a": 1, "mcpServers": {"x": GITHUB}, "b": 2}))
    run(path, "--write")
    after = read(path)
    assert list(after) == ["a", "mcpServers", "b"]
    assert list(after["mcpServers"]) == ["toolscout"]


@pytest.mark.parametrize(
    ("system", "place"),
    [
        ("linux", ".config/Claude/claude_desktop_config.json"),
        ("darwin", "Library/Application Support/Claude/claude_desktop_config.json"),
        ("win32", "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("win32", ".claude.json"),
        ("darwin", ".cursor/mcp.json"),
        ("linux", ".config/Code/User/mcp.json"),
    ],
)
def test_hosts_files_are_known_on_every_system(tmp_path: Path, system: str, place: str):
    assert tmp_path / place in list_possible_files({}, tmp_path, system)


def test_without_config_the_file_of_this_folder_is_meant(home: Path, capsys):
    host = put(home / "host.json", {"mcpServers": {"github": GITHUB}})
    assert main(["mcp", "--import", str(host), "--write"]) == 0
    assert [*read(Path("mcp.json"))["mcpServers"]] == ["github"]
    with pytest.raises(SystemExit):
        main(["mcp", "--check"])
    assert "required: --config" in capsys.readouterr().err


def test_a_program_whose_path_has_a_blank_is_called_by_its_name(home: Path, run: Run):
    program = put(home / "my server", "#!/bin/sh\n", 0o700)
    host = put(home / "host.json", {"mcpServers": {"own": {"command": str(program)}}})
    assert "- own (my server)" in run(host)[1]
