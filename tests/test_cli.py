"""The command line."""

import json
import shlex
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support import TOOLS, ran, running, toolscout, until
from toolscout import __version__
from toolscout.cli import main
from toolscout.settings import SETTINGS


@pytest.fixture
def tools(tmp_path: Path) -> str:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(TOOLS), "utf-8")
    return str(path)


@pytest.mark.parametrize("ranker", ["auto", "regex", "bm25", "semantic", "hybrid", "rrf", "okapi"])
def test_search_takes_a_ranker(tools: str, capsys: pytest.CaptureFixture[str], ranker: str):
    assert main(["search", "forecast", "--tools", tools, "--ranker", ranker]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "get_weather"


def test_search_keeps_pins(tools: str, capsys: pytest.CaptureFixture[str]):
    pins = ["--always-keep", "send_email", "--always-keep", "nowhere"]
    assert main(["search", "--tools", tools, *pins, "forecast"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1] == "send_email"
    assert printed.err == "toolscout: --always-keep nowhere: there is no tool of this name\n"


def test_search_explains(tools: str, capsys: pytest.CaptureFixture[str]):
    assert main(["search", "forecast", "--tools", tools, "--explain"]) == 0
    printed = capsys.readouterr().out
    assert "match" in printed.splitlines()[0]
    assert "get_weather" in printed
    assert "keyword" in printed


def test_search_prints_json(tools: str, capsys: pytest.CaptureFixture[str]):
    assert main(["search", "forecast", "--tools", tools, "--json", "--explain"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["selected_names"][0] == "get_weather"
    assert printed["matches"][0]["reasons"]


def test_nothing_found_is_status_one(tools: str, capsys: pytest.CaptureFixture[str]):
    assert main(["search", "zxqv wvut", "--tools", tools]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "toolscout: no tool fits; --explain says how it was judged\n"


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ('[\n  {"name": "a"},\n  {"näme": oops}\n]', ":3:12: "),
        ('[{"name": "a"}', ":1:15: "),
        ("[1]\n]", ":2:1: "),
        ("[1,\n]", ":2:1: "),
    ],
)
def test_a_file_that_is_no_json_is_told_by_line_and_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, place: str
):
    path = tmp_path / "wrong.json"
    path.write_text(content, "utf-8")
    assert main(["search", "x", "--tools", str(path)]) == 2
    assert f"wrong.json{place}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            '# mine\nport = "x"\n',
            "wrong.toml, line 2): expected a whole number, 0 to 65,535, got 'x'",
        ),
        ("# mine\n\nprot = 1\n", "wrong.toml, line 3: unknown setting prot; did you mean port?"),
        ("port = 1\nranker = \n", "at line 2"),
        ("[[rankr]]\n", "wrong.toml, line 1: unknown setting rankr; did you mean ranker?"),
    ],
)
def test_a_settings_file_is_told_by_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, said: str, monkeypatch
):
    monkeypatch.delenv("TOOLSCOUT_DATA", raising=False)
    path = tmp_path / "wrong.toml"
    path.write_text(content, "utf-8")
    assert main(["check-config", "--config", str(path)]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["serve", "--prot", "1"], "did you mean --port?"),
        (["serve", "--rankr=bm25"], "did you mean --ranker?"),
        (["search", "x", "--tools", "t", "--explane"], "did you mean --explain?"),
        (["serach", "x"], "argument COMMAND: there is no 'serach'; did you mean search?"),
        (["search", "x", "--ranker", "hybird"], "there is no 'hybird'; did you mean hybrid?"),
        (["search", "x", "--ranker", "ouija"], "there is no 'ouija'; it is one of auto, regex"),
        (["search", "x", "--top-k", "few"], "--top-k: expected a whole number, got 'few'"),
        (["proxy", "--port", "http"], "--port: expected a whole number, got 'http'"),
    ],
)
def test_what_is_unknown_is_answered_with_the_nearest(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
):
    with pytest.raises(SystemExit):
        main(arguments)
    assert said in capsys.readouterr().err


def test_a_missing_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "nowhere.json"
    assert main(["search", "x", "--tools", str(path)]) == 2
    assert capsys.readouterr().err == f"toolscout: {path}: No such file or directory\n"


def test_a_folder_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["search", "x", "--tools", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err


def test_a_blank_pattern_is_refused(tools: str, capsys: pytest.CaptureFixture[str]):
    assert main(["search", " ", "--tools", tools]) == 2
    assert "blank" in capsys.readouterr().err


def test_a_model_that_is_not_there_is_said(tools: str):
    done = toolscout("search", "x", "--tools", tools, "--model", "/nowhere/model")
    assert done.returncode == 2
    assert done.stderr == (
        "toolscout: model: there is no folder /nowhere/model, "
        "and a model of the hub is named OWNER/NAME@COMMIT, with all 40 digits of the commit\n"
    )


@pytest.mark.parametrize("name", ["minishlab/potion-base-8M", "minishlab/potion-base-8M@main"])
def test_a_model_of_the_hub_without_its_commit_is_refused(tools: str, name: str):
    done = toolscout("search", "x", "--tools", tools, "--model", name)
    assert done.returncode == 2
    assert "is named OWNER/NAME@COMMIT" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["unheard-of"], ["search"], ["search", "x", "--tools", "t", "--top-k", "0"]],
)
def test_wrong_usage_is_status_two(capsys: pytest.CaptureFixture[str], arguments: list[str]):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_an_unknown_flag_shows_the_usage_of_its_command(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["backup", "file", "--stor", "memory", "--unheard-of"])
    assert capsys.readouterr().err.startswith("usage: toolscout backup ")


def test_help_says_what_a_flag_is_if_not_given(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["proxy", "--help"])
    assert "port to listen on (default 8100)" in capsys.readouterr().out


def test_check_config_tells_where_values_come_from(tmp_path: Path):
    config = tmp_path / "toolscout.toml"
    config.write_text('ranker = "bm25"\nmax_tools = 5\n', "utf-8")
    key = "k" * 40
    done = toolscout(
        "check-config",
        "--config",
        str(config),
        "--port",
        "9000",
        TOOLSCOUT_MAX_TOOLS="6",
        TOOLSCOUT_API_KEYS=key,
    )
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stdout.splitlines() if not line.startswith("key ")]
    lines = {line.split()[0]: line for line in told}
    assert set(lines) == {setting.name for setting in SETTINGS}
    assert "9000" in lines["port"]
    assert "flag --port" in lines["port"]
    assert "6" in lines["max_tools"]
    assert "environment TOOLSCOUT_MAX_TOOLS" in lines["max_tools"]
    assert "bm25" in lines["ranker"]
    assert str(config) in lines["ranker"]
    assert lines["host"].endswith("default")
    assert key not in done.stdout


def test_check_config_prints_json(capsys: pytest.CaptureFixture[str], monkeypatch):
    monkeypatch.delenv("TOOLSCOUT_DATA", raising=False)
    assert main(["check-config", "--json", "--ranker", "rrf", "--insecure"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["ranker"] == {"value": "rrf", "origin": "flag --ranker"}
    assert printed["insecure"]["value"] is True
    assert printed["port"]["origin"] == "default"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"TOOLSCOUT_PRT": "1"}, "did you mean TOOLSCOUT_PORT"),
        ({"TOOLSCOUT_PORT": "x"}, "TOOLSCOUT_PORT"),
        ({"TOOLSCOUT_API_KEYS": "short"}, "32"),
        ({"TOOLSCOUT_HOST": "0.0.0.0"}, "no API key is set"),
        ({"TOOLSCOUT_API_KEYS": f"a={'k' * 32};expires=2020-01-31"}, "every key has expired"),
        ({"TOOLSCOUT_STORE": "foo"}, "store: expected memory, sqlite:PATH, redis"),
        ({"TOOLSCOUT_MODEL": "/nowhere"}, "model: there is no folder /nowhere"),
    ],
)
def test_check_config_says_what_is_wrong(settings: dict[str, str], said: str):
    done = toolscout("check-config", **settings)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_key_that_ends_is_named_by_check_config_and_at_the_start(tmp_path: Path):
    soon, later = ((datetime.now(UTC) + timedelta(days=n)).date() for n in (13, 16))
    keys = (
        f"a={'k' * 32};expires=2020-01-31,b={'l' * 32}"
        f",c={'m' * 32};expires={soon},d={'n' * 32};expires={later}"
    )
    done = toolscout("check-config", TOOLSCOUT_API_KEYS=keys)
    assert done.returncode == 0
    assert "expired 2020-01-31" in done.stdout
    warnings = [
        "key 1 of a expired at 2020-01-31 00:00:00+00:00",
        f"key 3 of c ends at {soon} 00:00:00+00:00",
    ]
    assert done.stderr.splitlines() == [f"toolscout: warning: {warning}" for warning in warnings]
    with running(tmp_path, TOOLSCOUT_API_KEYS=keys) as server:
        until(lambda: "try " in server.stderr)
        lines = [line.strip() for line in server.stderr.splitlines() if "warning" in line]
        assert lines == [f"warning {warning}" for warning in warnings]


def test_the_version_is_a_command_and_a_flag(capsys: pytest.CaptureFixture[str]):
    for flag in ("-v", "--version"):
        with pytest.raises(SystemExit) as stopped:
            main([flag])
        assert (stopped.value.code, capsys.readouterr().out) == (0, f"{__version__}\n")
    assert main(["version"]) == 0
    assert capsys.readouterr().out.strip() == __version__


@pytest.mark.parametrize(
    ("command", "key", "value"),
    [("version", "version", __version__), ("openapi", "openapi", "3.1.0")],
)
def test_a_command_prints_json(capsys: pytest.CaptureFixture[str], command, key, value):
    assert main([command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[key] == value


@pytest.mark.parametrize(("about", "first"), [([], "COMMAND ..."), (["search"], "search [-h]")])
def test_help_is_a_command_too(capsys: pytest.CaptureFixture[str], about: list[str], first: str):
    with pytest.raises(SystemExit) as stopped:
        main(["help", *about])
    assert stopped.value.code == 0
    assert first in capsys.readouterr().out.split("\n\n")[0]


def test_help_lists_every_setting(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stopped:
        main(["serve", "--help"])
    assert stopped.value.code == 0
    printed = capsys.readouterr().out
    assert all(setting.flag in printed for setting in SETTINGS if not setting.secret)
    assert "--api-keys" not in printed


@pytest.mark.parametrize("command", ["openapi", "check-config"])
def test_a_reader_that_has_enough_is_no_error(command: str):
    said = ran(["sh", "-c", f"{shlex.quote(sys.executable)} -m toolscout {command} | head -n 1"])
    assert said.stdout
    assert said.stderr == ""


@pytest.mark.parametrize("flags", [(), ("--json",)])
@pytest.mark.parametrize(
    "url",
    [
        "redis://:plugh@h:1/0",
        "rediss://me:plugh@h/0",
        "redis://h/0?password=plugh",
        "postgres://me:plugh@h/d",
    ],
)
def test_the_password_of_a_store_is_not_shown(flags: tuple[str, ...], url: str):
    done = toolscout("check-config", *flags, TOOLSCOUT_STORE=url)
    assert done.returncode == 0
    assert "***" in done.stdout
    assert "plugh" not in done.stdout + done.stderr


@pytest.mark.parametrize("command", ["serve", "check-config"])
def test_a_password_is_no_flag(command: str):
    done = toolscout(command, "--store", "redis://:plugh@h:1/0")
    assert done.returncode == 2
    assert "TOOLSCOUT_STORE" in done.stderr
    assert "plugh" not in done.stderr
