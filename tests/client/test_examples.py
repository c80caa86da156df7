"""The examples run as they say, with the real SDKs, before a scripted model."""

import inspect
import sys
from pathlib import Path

import pytest

from tests.client.model import PHANTOM, ScriptedModel
from tests.client.shapes import SHAPES, Json, Said
from tests.client.upstream import peer
from tests.support import Process, environment, ran
from toolscout.client import Selector
from toolscout.discovery import ToolDiscovery

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
QUESTION = "please write to a@b.example"


def run(example: str, **settings: str) -> str:
    done = ran(
        [sys.executable, f"examples/{example}.py", *QUESTION.split()],
        cwd=ROOT,
        env=environment() | settings,
    )
    return done.stdout.strip()


def agent(example: str, url: str, server: Process) -> str:
    return run(
        example,
        TOOLSCOUT_ENDPOINT=server.url,
        OPENAI_BASE_URL=url,
        ANTHROPIC_BASE_URL=url,
        OPENAI_API_KEY="none",
        ANTHROPIC_API_KEY="none",
    )


def test_the_openai_agent_finds_and_calls_its_tool(server: Process):
    model = ScriptedModel({"to": "a@b.example"})
    with peer(model) as upstream:
        said = agent("openai_agent", upstream.url, server)
    assert said == "It said: sent to a@b.example"
    first, second = model.seen(SHAPES[0])
    assert first == second
    assert PHANTOM in first
    assert "send_email" in first


def test_the_anthropic_agent_finds_and_calls_its_tool(server: Process):
    model = ScriptedModel({"to": "a@b.example"})
    with peer(model) as upstream:
        said = agent("anthropic_agent", upstream.url, server)
    assert said == "It said: sent to a@b.example"
    first, second = model.seen(SHAPES[1])
    assert first == second
    assert PHANTOM in first
    assert "send_email" in first


class Restless(ScriptedModel):
    """Calls a tool again and again."""

    def say(self, interface: str, body: Json) -> Said:
        call = (f"call_{len(self.requests)}", self.wants, self.arguments)
        return Said("Once more.", (call,))


@pytest.mark.parametrize("example", ["openai_agent", "anthropic_agent"])
def test_a_model_that_never_answers_is_stopped(example: str, server: Process):
    model = Restless({"to": "a@b.example"})
    with peer(model) as upstream:
        assert agent(example, upstream.url, server) == "no answer after 10 steps"
    assert not model.refused
    assert len(model.requests) == 10


def test_selecting_tools_keeps_the_one_that_fits(server: Process):
    names = run("select_tools", TOOLSCOUT_ENDPOINT=server.url).split()
    assert names[0] == "send_email"
    assert len(names) <= 3


def test_without_a_service_every_tool_is_kept():
    names = run("select_tools", TOOLSCOUT_ENDPOINT="http://127.0.0.1:9").split()
    assert len(names) == 8


@pytest.mark.parametrize("kind", [Selector, ToolDiscovery])
def test_every_setting_is_documented(kind: type):
    manual = (ROOT / "docs" / "client.md").read_text("utf-8")
    for name in inspect.signature(kind).parameters:
        assert f"`{name}`" in manual or name in ("config", "selector_options"), name
