"""What CONTRIBUTING.md and the hooks tell to run is there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
HOOKS = [
    hook
    for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
    for hook in repo["hooks"]
]


def test_every_command_of_the_dev_loop_is_a_target():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    told = set(re.findall(r"`make ([a-z-]+)`", (ROOT / "CONTRIBUTING.md").read_text("utf-8")))
    assert {"check", "test", "bench", "eval", "load", "docs"} <= told
    assert told <= targets


def test_every_room_it_shows_is_there():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    rooms = re.findall(r"`([a-z_/]+)`", text.partition("## Where")[2].partition("## What")[0])
    assert len(rooms) > 5
    for room in rooms:
        assert (ROOT / room).is_dir() or (ROOT / "service/toolscout" / room).is_dir(), room


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_runs_what_make_check_runs(hook: dict[str, str]):
    done = subprocess.run(
        ["make", "-n", "check"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert hook["entry"].removesuffix(" --force-exclude") in done.stdout
    assert hook["language"] == "system"


@pytest.mark.integration
def test_the_hooks_pass_on_every_file(tmp_path: Path):
    def run(*command: object) -> None:
        done = subprocess.run(
            [str(part) for part in command],
            cwd=clone,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    clone = ROOT
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    run(tmp_path / "venv/bin/pip", "install", "--quiet", "pre-commit>=4,<5")
    run("git", "clone", "--quiet", ROOT, tmp_path / "clone")
    clone = tmp_path / "clone"
    (clone / ".venv").symlink_to(sys.prefix)
    run(tmp_path / "venv/bin/pre-commit", "validate-config")
    run(tmp_path / "venv/bin/pre-commit", "run", "--all-files")
