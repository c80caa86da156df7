"""The tutorials show what they say, block by block, with the programs that they start."""

import re
import sys
from contextlib import ExitStack
from pathlib import Path
from shutil import which

import pytest

from evals import programs
from tests.support import environment, free_port, ran, running

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```", re.S | re.M)
PROGRAM = re.compile(r"(?:UPSTREAM=(\S+) )?.venv/bin/python (examples/\w+.py)\n")
SECONDS = re.compile(r" +\d+\.\d$", re.M)
"""How long something took, at the end of a line."""
ELSEWHERE = ("python3.11 -m venv", ".venv/bin/pip install", "claude ", "unset OPENAI_BASE_URL")
"""How blocks begin that install, or need a host or a provider."""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a folder with what the tutorials use of a clone."""
    for name in ("examples", "service"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    return tmp_path


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_the_blocks_of_a_tutorial_show_what_it_says(page: Path, clone: Path):
    ports = {port: str(free_port()) for port in ("8200", "9000")}
    settings = {}
    output = ""
    with ExitStack() as started:
        for language, text in BLOCK.findall(page.read_text("utf-8")):
            block = re.sub(r"(?<=127\.0\.0\.1:)\d{4}", lambda port: ports[port[0]], text)
            if language == "text":
                logs = "".join(log.read_text("utf-8") for log in clone.glob("*.log"))
                shown = SECONDS.sub(" …", output + logs)
                assert [
                    line for line in SECONDS.sub(" …", block).splitlines() if line not in shown
                ] == []
            elif block == "make serve\n":
                service = started.enter_context(running(clone))
                ports["8080"] = service.url.rpartition(":")[2]
                settings["TOOLSCOUT_ENDPOINT"] = service.url
            elif program := PROGRAM.fullmatch(block):
                port = ports["9000" if "model" in program[2] else "8200"]
                started.enter_context(
                    programs.running(
                        [sys.executable, program[2]],
                        lambda port=port: programs.answers(int(port)),
                        log=clone / f"{port}.log",
                        cwd=clone,
                        env=environment(**settings, PORT=port, UPSTREAM=program[1] or ""),
                    )
                )
            elif block.startswith("node") and which("node") is None:
                break
            elif not block.startswith(ELSEWHERE):
                done = ran(["bash", "-e"], input=block, cwd=clone, env=environment(**settings))
                output += done.stdout + done.stderr
