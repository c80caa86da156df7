"""The examples run as they say, with the real SDKs, before a scripted model."""

import subprocess
import sys
from pathlib import Path

from tests.client.model import PHANTOM, ScriptedModel
from tests.client.shapes import SHAPES
from tests.client.upstream import peer
from tests.support import Server, environment

ROOT = Path(__file__).parents[2]
QUESTION = "please write to a@b.example"


def run(example: str, **settings: str) -> str:
    done = subprocess.run(
        [sys.executable, f"examples/{example}.py", *QUESTION.split()],
        cwd=ROOT,
        env=environment() | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def agent(example: str, url: str, server: Server) -> str:
    return run(
        example,
        TOOLSCOUT_ENDPOINT=server.url,
        OPENAI_BASE_URL=url,
        ANTHROPIC_BASE_URL=url,
        OPENAI_API_KEY="none",
        ANTHROPIC_API_KEY="none",
    )


def test_the_openai_agent_finds_and_calls_its_tool(server: Server):
    model = ScriptedModel({"to": "a@b.example"})
    with peer(model) as upstream:
        said = agent("openai_agent", upstream.url, server)
    assert said == "It said: sent to a@b.example"
    seen = model.seen(SHAPES[0])
    assert seen[0] == [PHANTOM]
    assert seen[1][:2] == seen[2][:2] == [PHANTOM, "send_email"]


def test_the_anthropic_agent_finds_and_calls_its_tool(server: Server):
    model = ScriptedModel({"to": "a@b.example"})
    with peer(model) as upstream:
        said = agent("anthropic_agent", upstream.url, server)
    assert said == "It said: sent to a@b.example"
    assert model.seen(SHAPES[1])[0] == [PHANTOM]


def test_selecting_tools_keeps_the_one_that_fits(server: Server):
    names = run("select_tools", TOOLSCOUT_ENDPOINT=server.url).split()
    assert names[0] == "send_email"
    assert len(names) <= 3


def test_without_a_service_every_tool_is_kept():
    names = run("select_tools", TOOLSCOUT_ENDPOINT="http://127.0.0.1:9").split()
    assert len(names) == 8


def test_every_example_is_run_here():
    examples = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert examples == {"openai_agent", "anthropic_agent", "select_tools", "toolbox"}
