"""Patience with servers, which on a busy machine start slowly, and a home folder for hosts."""

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.gateway.mcp.host_lists import Run
from tests.support import PATIENCE_S
from toolscout.cli import main


@pytest.fixture(autouse=True, scope="session")
def patient() -> Iterator[None]:
    """Have the first answer of a gateway in this process wait for all servers."""
    with patch("toolscout.gateway.mcp.view.START_S", PATIENCE_S):
        yield


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home folder, beside a project in which a command runs."""
    home, project = tmp_path / "home of mine", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(project)
    return home


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Import into `mcp.json` of the home folder; returns the exit status and what was printed."""

    def run(*arguments: str | Path) -> tuple[int, str]:
        config = ["mcp", "--config", str(home / "mcp.json"), "--import"]
        status = main([*config, *map(str, arguments)])
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    return run
