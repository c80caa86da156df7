"""The keys of the gateway's page: the file and the commands as they are written there."""

import re
import shlex
from pathlib import Path

import httpx2
import pytest

from tests.docs.commands import ROOT, commands
from tests.gateway.mcp.hosts import listening
from tests.gateway.mcp.test_http import ACCEPTS, HELLO
from toolscout.cli import main

PAGE = ROOT / "docs" / "mcp.md"

pytestmark = pytest.mark.integration


def test_the_keys_of_the_page_see_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (table,) = re.findall(r"```text\n(# name=key.*?)```", PAGE.read_text("utf-8"), re.S)
    (tmp_path / "keys").write_text(table, "utf-8")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    check, serve = [one for one in commands(PAGE) if "--keys" in one]
    assert main(shlex.split(check)[1:]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^key \w+ of readers sees \d of 5 tools: sample \d$", printed, re.M)
    assert re.search(r"^key \w+ of admins sees 5 of 5 tools: sample 5$", printed, re.M)
    command = ["-m", *shlex.split(serve.replace("8200", "PORT"))]
    with listening(tmp_path, *command) as (url, _):
        for key in re.findall(r"^\w+=(\w+)", table, re.M):
            headers = ACCEPTS | {"Authorization": f"Bearer {key}"}
            assert httpx2.post(url, json=HELLO, headers=headers).status_code == 200
        assert httpx2.post(url, json=HELLO, headers=ACCEPTS).status_code == 401
