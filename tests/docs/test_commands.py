"""The commands of the pages can be run as they are written."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from evals import programs
from tests.docs.commands import ROOT, commands, toolscout_commands
from tests.support import environment, free_port, ran, running
from toolscout.cli import parser


@pytest.mark.parametrize("command", toolscout_commands())
def test_a_command_has_the_arguments_that_a_page_gives_it(command: str):
    words = shlex.split(command.partition("toolscout ")[2].partition(">")[0])
    assert parser().parse_args(words).run


@pytest.mark.parametrize("page", ["docs/catalogs.md", "docs/learning.md"])
def test_the_calls_of_a_page_are_answered(tmp_path: Path, page: str):
    with running(tmp_path) as server:
        for command in [one for one in commands(ROOT / page) if one.startswith("curl")]:
            asked = command.replace("curl -s", "curl -sSf").replace("localhost:8080", server.url)
            ran(["sh", "-c", asked])


def test_certificates_made_as_shown_let_a_caller_in(tmp_path: Path):
    page = commands(ROOT / "docs" / "operations.md")
    made = [one for one in page if one.startswith(("openssl", "for who"))]
    for command in made:
        subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, check=True)
    (serving,) = [one for one in page if "--tls-client-ca" in one]
    (asking,) = [one for one in page if one.startswith("curl --cacert")]
    port = free_port()
    service = [sys.executable, "-m", *shlex.split(serving), "--port", str(port), "--drain-s", "0"]
    ask = [*shlex.split(asking.replace(":8080", f":{port}")), "--silent", "--fail"]
    lets_in = lambda: status(ask, tmp_path) == 0  # noqa: E731
    with programs.running(service, lets_in, cwd=tmp_path, env=environment()):
        without = [*ask[: ask.index("--cert")], *ask[ask.index("client.key") + 1 :]]
        assert status(without, tmp_path) != 0


def status(command: list[str], folder: Path) -> int:
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode
