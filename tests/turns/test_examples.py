"""The examples run as they say, with the real SDKs, before a scripted model."""

import inspect
import io
import os
import runpy
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from unittest.mock import patch

import httpx2
import pytest

from evals.programs import running
from tests.client.upstream import Exchange, Peer, peer
from tests.support import PATIENCE_S, Process, Server, answers, environment, free_port
from tests.turns.model import PHANTOM, ScriptedModel
from tests.turns.shapes import BY_NAME, SHAPES, Json, Said, tools_of
from toolscout.client import Selector
from toolscout.discovery import ToolDiscovery

pytestmark = pytest.mark.filterwarnings("ignore:The model .* is deprecated")

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
QUESTION = "please write to a@b.example"


def agent(example: str, url: str, server: Server) -> str:
    """Run an example in this process, as a program; return what it prints."""
    said = io.StringIO()
    settings = {"TOOLSCOUT_ENDPOINT": server.url, "OPENAI_API_KEY": "none"}
    settings |= {"OPENAI_BASE_URL": url, "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none"}
    program = ROOT / "examples" / f"{example}.py"
    with (
        patch.dict(os.environ, environment(**settings), clear=True),
        patch("sys.argv", [str(program), *QUESTION.split()]),
        patch("sys.path", [str(program.parent), *sys.path]),
        redirect_stdout(said),
    ):
        left = runpy.run_path(str(program), run_name="__main__")
        if "model" in left:
            left["model"].close()
    return said.getvalue().strip()


@pytest.mark.parametrize("interface", ["openai", "anthropic"])
def test_an_agent_finds_and_calls_its_tool(server: Process, interface: str):
    model = ScriptedModel({"to": "a@b.example"})
    with peer(model) as upstream:
        said = agent(f"{interface}_agent", upstream.url, server)
    assert said == "It said: sent to a@b.example"
    first, second = model.seen(BY_NAME[interface])
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


@pytest.fixture(scope="module")
def forwarding(server: Process) -> Iterator[tuple[str, Peer]]:
    """Yield the address of the proxy of the example, and the provider behind it."""
    port = free_port()
    program = [sys.executable, "examples/forwarding_proxy.py"]
    with peer(ScriptedModel()) as upstream:
        settings = {"TOOLSCOUT_ENDPOINT": server.url, "UPSTREAM": upstream.url, "PORT": str(port)}
        with running(program, lambda: answers(port), cwd=ROOT, env=environment(**settings)):
            yield f"http://127.0.0.1:{port}", upstream


def test_the_proxy_of_forty_lines_lets_an_agent_find_its_tool(forwarding, server: Process):
    url, upstream = forwarding
    upstream.script = model = ScriptedModel({"to": "a@b.example"})
    assert agent("openai_agent", url, server) == "It said: sent to a@b.example"
    assert "send_email" in model.seen(SHAPES[0])[0]


def test_the_proxy_of_forty_lines_keeps_no_cookies(forwarding):
    url, upstream = forwarding
    cookies: list[str] = []

    def script(exchange: Exchange) -> None:
        cookies.append(exchange.headers.get("cookie", ""))
        exchange.answer(b"{}", headers=[("Set-Cookie", "session=ann")])

    upstream.script = script
    for _ in range(2):
        assert httpx2.get(f"{url}/v1/models", timeout=PATIENCE_S).status_code == 200
    assert cookies == ["", ""]


def test_the_proxy_of_forty_lines_says_that_the_provider_is_gone(forwarding):
    url, upstream = forwarding
    upstream.script = Exchange.reset
    assert httpx2.get(f"{url}/v1/models", timeout=PATIENCE_S).status_code == 502


@pytest.mark.parametrize("streams", [False, True])
def test_the_proxy_of_forty_lines_chooses_tools_itself(forwarding, streams: bool):
    url, upstream = forwarding
    upstream.script = model = ScriptedModel({"to": "a@b.example"})
    tools = tools_of(SHAPES[0])
    tools += [SHAPES[0].tool(f"other_{number}", "Does another thing") for number in range(20)]
    body = SHAPES[0].request("write an email", tools, model="gpt-4.1", stream=streams)
    response = httpx2.post(f"{url}/chat/completions", json=body, timeout=PATIENCE_S)
    assert response.status_code == 200
    assert not any(PHANTOM in line for line in response.text.splitlines())
    assert len(model.seen(SHAPES[0])[0]) < len(tools)


@pytest.mark.parametrize("kind", [Selector, ToolDiscovery])
def test_every_setting_is_documented(kind: type):
    manual = (ROOT / "docs" / "client.md").read_text("utf-8")
    for name in inspect.signature(kind).parameters:
        assert f"`{name}`" in manual or name in ("config", "selector_options"), name
