"""The skills for coding agents have the form of Agent Skills, and their commands run."""

import json
import os
import re
import sys
from pathlib import Path

import pytest
import yaml

from evals import programs
from evals.board.data import OWN_TOOLS, ROOT
from tests.client.upstream import peer
from tests.support import environment, free_port, ran, running

SKILLS = ROOT / "skills"
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.S | re.M)
SERVER = {"command": sys.executable, "args": ["-m", "toolscout.gateway.mcp.sample"]}
ANSWER = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Done."}}]}
PLAIN = "from openai import OpenAI\nclient = OpenAI()"
ASK = """
import json
asked = [{"role": "user", "content": "open a pull request"}]
client.chat.completions.create(model="none", messages=asked, tools=json.load(open("tools.json")))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tools.json").write_text(json.dumps(json.loads(OWN_TOOLS.read_text())["tools"]))
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"sample": SERVER}}))
    return tmp_path


def blocks(skill: str, language: str = "sh") -> list[str]:
    every = BLOCK.findall((SKILLS / skill / "SKILL.md").read_text("utf-8"))
    return [block for each, block in every if each == language and "pip install" not in block]


def run(block: str, folder: Path, provider: str = "") -> str:
    """Run a block in a folder, a program if it asks a provider, and return what it prints."""
    path = f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"
    variables = {"PATH": path, "XDG_CACHE_HOME": str(folder / "cache")}
    variables |= {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": provider}
    command = ["python", "-"] if provider else ["bash", "-e"]
    return ran(command, input=block, cwd=folder, env=environment(**variables)).stdout


@pytest.mark.parametrize("path", sorted(SKILLS.iterdir()), ids=lambda path: path.name)
def test_a_skill_says_what_it_is_for_and_is_short(path: Path):
    _, head, body = (path / "SKILL.md").read_text("utf-8").split("---\n", 2)
    about = yaml.safe_load(head)
    assert about == {"name": path.name, "description": about["description"]}
    assert re.fullmatch(r"[a-z0-9-]{1,64}", path.name)
    assert re.fullmatch(r".{1,512}\. Use when .{1,500}", about["description"])
    assert len(re.findall(r"\S*\w\S*", BLOCK.sub("", head + body))) <= 450


def test_toolscout_is_added_as_it_says(folder: Path):
    is_httpx2, serve, proxy, check, count = blocks("add-toolscout")
    (transport,) = blocks("add-toolscout", "python")
    assert (run(is_httpx2, folder), serve) == ("", "toolscout serve\n")
    port, metrics = free_port(), str(free_port())
    with peer(lambda exchange: exchange.answer(json.dumps(ANSWER).encode())) as model:
        with running(folder) as service:
            run(transport.replace("http://127.0.0.1:8080", service.url) + ASK, folder, model.url)
            words = proxy.replace("http://127.0.0.1:8080", service.url).replace("9100", metrics)
            words = words.replace("https://api.openai.com/v1", model.url) + f" --port {port}"
            program = [sys.executable, "-m", *words.replace("\\\n", "").split()]
            with programs.running(program, lambda: programs.answers(port), env=environment()):
                run(PLAIN + ASK, folder, f"http://127.0.0.1:{port}")
                counted = run(count.replace("9100", metrics), folder)
        assert [len(each.json["tools"]) for each in model.requests] == [7, 7]
    figures = dict(re.findall(r'tools="(\w+)"} ([\d.]+)', counted))
    assert float(figures["shown"]) < float(figures["offered"]) / 5
    assert re.search("^sample +ok +6 ", run(check, folder), re.M)


def test_tools_are_measured_as_it_says(folder: Path):
    for block in blocks("measure-tools"):
        run(block, folder)
        if block.startswith("toolscout init"):
            (folder / "questions.csv").write_text(
                "query,tools\nwhat is still to do,sample__list_tasks\n"
            )


def test_descriptions_are_mended_as_it_says(folder: Path):
    (folder / "questions.csv").write_text("query,tools\nopen a pull request,pr_open\n")
    printed = [run(block, folder) for block in blocks("mend-descriptions")]
    assert printed[-1].splitlines()[-1] == "1.0 1.0"
