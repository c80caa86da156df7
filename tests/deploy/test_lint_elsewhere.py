"""`toolscout lint` in the repositories of others: the steps of the action, and the hook."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.venvs import interpreter
from tests.support import environment

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load(
    (ROOT / ".github" / "actions" / "lint" / "action.yml").read_text("utf-8")
)
GOOD = [{"name": "find_customer", "description": "Look a buyer up by name or city"}]
BAD = [{"name": "find customer", "description": "Look a buyer up by name or city"}]


def write(folder: Path, **files: list[dict[str, str]]) -> None:
    for name, tools in files.items():
        (folder / f"{name}.json").write_text(json.dumps(tools, indent=2))


def run_step(name: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a step of the action as a runner does."""
    (step,) = [step for step in ACTION["runs"]["steps"] if step["name"] == name]
    settings = environment(RUNNER_TEMP=str(folder / "temp"), **env)
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Make a repository on a runner, which has the package of this environment."""
    bin_folder = tmp_path / "temp" / "toolscout" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "toolscout").symlink_to(Path(sys.executable).parent / "toolscout")
    return tmp_path


def test_the_action_annotates_each_file(installed):
    write(installed, good=GOOD, bad=BAD)
    done = run_step("lint", installed, FILES="good.json bad.json", IGNORE="too-long no-provider")
    assert done.returncode == 1
    assert done.stdout.startswith("::error file=bad.json,line=3,title=refused::find customer: ")
    assert len(done.stdout.splitlines()) == 1


def test_the_action_passes_files_without_findings(installed):
    write(installed, good=GOOD)
    done = run_step("lint", installed, FILES="good.json", IGNORE="")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_steps_of_the_action_take_inputs_as_variables_alone():
    assert not [step for step in ACTION["runs"]["steps"] if "${{" in step["run"]]


@pytest.mark.integration
def test_the_hook_judges_changed_files_of_a_repository(tmp_path):
    pre_commit = interpreter(ROOT / ".venv-hook", ["pre-commit>=4,<5"]).parent / "pre-commit"
    repository = tmp_path / "theirs"
    repository.mkdir()
    write(repository, tools=BAD)
    (repository / "package.json").write_text("{}")
    env = environment(PRE_COMMIT_HOME=str(tmp_path / "home"), GIT_CONFIG_GLOBAL=os.devnull)
    for command in (["git", "init", "-q"], ["git", "add", "."]):
        subprocess.run(command, cwd=repository, env=env, check=True)
    command = [pre_commit, "try-repo", str(ROOT), "toolscout-lint", "--all-files"]
    done = subprocess.run(command, cwd=repository, env=env, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "find customer: its name has other characters" in done.stdout
    assert "package.json" not in done.stdout
