"""The first minute: what there is to do, examples that work, and files to fill in."""

import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.support import TOOLS
from toolscout.cli import main, parser
from toolscout.commands.beginning import EXAMPLES, FIRST


def commands() -> dict[str, argparse.ArgumentParser]:
    (found,) = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(found.choices)


def test_the_program_alone_says_what_there_is_to_do(capsys: pytest.CaptureFixture[str]):
    assert main([]) == 0
    assert capsys.readouterr().out == FIRST
    for line in FIRST.splitlines():
        if line.startswith("  toolscout "):
            assert line.split()[1] in commands()


def test_the_first_commands_work_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    written = re.findall(r"^  toolscout (.*?)(?:  .*| from yours.*)?$", FIRST, re.M)
    ending = [line for line in written if line.split()[0] in ("search", "evaluate")]
    assert len(ending) == 3
    for line in ["init", *ending]:
        assert main(shlex.split(line)) == 0, line


@pytest.mark.parametrize(
    ("command", "is_buffered"),
    [
        *((command, True) for command in ("", "version", "--version", "serve --help", "openapi")),
        *((command, False) for command in ("", "version", "--version", "serve --help", "openapi")),
    ],
)
def test_a_full_disk_is_told_in_a_line(command: str, is_buffered: bool):
    ended = ended_with_output(Path("/dev/full"), command, is_buffered=is_buffered)
    assert ended.returncode == 2
    assert ended.stderr == "toolscout: No space left on device\n"


@pytest.mark.parametrize("command", ["", "version", "openapi", "completion bash"])
def test_a_closed_standard_output_is_no_error(command: str):
    program = shlex.join([sys.executable, "-m", "toolscout", *command.split()])
    ended = subprocess.run(["sh", "-c", f"{program} >&-"], stderr=subprocess.PIPE, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


def ended_with_output(
    file: Path, command: str, *, is_buffered: bool
) -> subprocess.CompletedProcess[str]:
    """Run a command whose standard output goes to a file, as an interpreter buffers it or not."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    if not is_buffered:
        variables["PYTHONUNBUFFERED"] = "1"
    program = [sys.executable, "-m", "toolscout", *command.split()]
    with file.open("w") as output:
        return subprocess.run(
            program, stdout=output, stderr=subprocess.PIPE, text=True, env=variables, check=False
        )


def test_an_interrupt_ends_a_command_without_a_traceback(tmp_path: Path):
    pipe = tmp_path / "tools.json"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "toolscout", "lint", "--tools", str(pipe)]
    # A shell's background job has its child ignore interrupts.
    heeds_interrupts = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(command, stderr=subprocess.PIPE, preexec_fn=heeds_interrupts)
    with pipe.open("wb"):  # opens once it is being read
        process.send_signal(signal.SIGINT)
        assert process.communicate()[1] == b""
    assert process.returncode == -signal.SIGINT


def test_every_command_has_an_example():
    assert EXAMPLES.keys() == commands().keys()


@pytest.mark.parametrize(
    "name", [name for name in EXAMPLES if name not in ("completion", "openapi")]
)
def test_an_example_can_be_parsed(name: str):
    program, *arguments = shlex.split(EXAMPLES[name])
    assert (program, arguments[0]) == ("toolscout", name)
    assert parser().parse_args(arguments).command.prog == f"toolscout {name}"


def test_help_ends_with_an_example(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    assert capsys.readouterr().out.rstrip().endswith(EXAMPLES["serve"])


def test_wrong_usage_is_told_in_two_lines(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["serve", "--prot", "80"])
    usage, wrong = capsys.readouterr().err.splitlines()
    assert usage == "usage: toolscout serve …; toolscout serve --help has the rest"
    assert "did you mean --port?" in wrong


def test_init_writes_files_that_work_and_leaves_what_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    assert capsys.readouterr().out.split() == ["toolscout.toml", "questions.csv", "tools.json"]
    assert main(["check-config", "--config", "toolscout.toml"]) == 0
    assert main(shlex.split(EXAMPLES["evaluate"])[1:]) == 0
    assert "R@5" in capsys.readouterr().out
    Path("questions.csv").write_text("query,tools\nmine,read_file\n", "utf-8")
    capsys.readouterr()
    assert main(["init"]) == 2
    assert "already there, and left as before" in capsys.readouterr().err
    assert "mine" in Path("questions.csv").read_text("utf-8")
    assert main(["init", "new"]) == 0
    assert Path("new/questions.csv").is_file()


@pytest.mark.parametrize("folder", [".", "new", "a new one"])
@pytest.mark.parametrize("own", [[], TOOLS[:4]])
def test_what_init_says_to_do_then_works_as_written(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    folder: str,
    own: list[dict[str, str]],
):
    monkeypatch.chdir(tmp_path)
    tools = Path(folder, "tools.json")
    tools.parent.mkdir(exist_ok=True)
    if own:
        tools.write_text(json.dumps(own), "utf-8")
    assert main(["init", folder]) == 0
    then = capsys.readouterr().err.partition("then: ")[2].strip()
    assert main(shlex.split(then)[1:]) == 0
    assert "1.000" in capsys.readouterr().out  # every sample question finds its tools
    assert not own or json.loads(tools.read_text("utf-8")) == own
