"""The examples run as they say, with the real SDKs, before a scripted model."""

import inspect
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.client.model import PHANTOM, ScriptedModel
from tests.client.shapes import ABOUT, SHAPES, Json, Said
from tests.client.upstream import Exchange, peer
from tests.support import Process, answers, environment, free_port, ran, until
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


@contextmanager
def forwarding_to(upstream: str, server: Process) -> Iterator[str]:
    """Yield the address of the proxy of the example."""
    port = free_port()
    settings = {"TOOLSCOUT_ENDPOINT": server.url, "UPSTREAM": upstream, "PORT": str(port)}
    program = [sys.executable, "examples/forwarding_proxy.py"]
    with subprocess.Popen(program, cwd=ROOT, env=environment() | settings) as running:
        try:
            until(lambda: answers(port))
            yield f"http://127.0.0.1:{port}"
        finally:
            running.terminate()


@pytest.fixture
def forwarding(server: Process) -> Iterator[tuple[str, ScriptedModel]]:
    """Yield the address of that proxy, and the model behind it."""
    model = ScriptedModel({"to": "a@b.example"})
    with peer(model) as upstream, forwarding_to(upstream.url, server) as url:
        yield url, model


def test_the_proxy_of_forty_lines_lets_an_agent_find_its_tool(forwarding, server: Process):
    url, model = forwarding
    assert agent("openai_agent", url, server) == "It said: sent to a@b.example"
    assert "send_email" in model.seen(SHAPES[0])[0]


def test_the_proxy_of_forty_lines_keeps_no_cookies(server: Process):
    cookies: list[str] = []

    def script(exchange: Exchange) -> None:
        cookies.append(exchange.headers.get("cookie", ""))
        exchange.answer(b"{}", headers=[("Set-Cookie", "session=ann")])

    with peer(script) as upstream, forwarding_to(upstream.url, server) as url:
        for _ in range(2):
            assert httpx2.get(f"{url}/v1/models").status_code == 200
    assert cookies == ["", ""]


def test_the_proxy_of_forty_lines_says_that_the_provider_is_gone(server: Process):
    with forwarding_to("http://127.0.0.1:9", server) as url:
        assert httpx2.get(f"{url}/v1/models").status_code == 502


@pytest.mark.parametrize("streams", [False, True])
def test_the_proxy_of_forty_lines_chooses_tools_itself(forwarding, streams: bool):
    url, model = forwarding
    tools = [SHAPES[0].tool(name, about) for name, about in ABOUT.items()]
    tools += [SHAPES[0].tool(f"other_{number}", "Does another thing") for number in range(20)]
    body = SHAPES[0].request("write an email", tools, model="gpt-4.1", stream=streams)
    response = httpx2.post(f"{url}/chat/completions", json=body, timeout=20)
    assert response.status_code == 200
    assert not any(PHANTOM in line for line in response.text.splitlines())
    assert len(model.seen(SHAPES[0])[0]) < len(tools)


@pytest.mark.parametrize("kind", [Selector, ToolDiscovery])
def test_every_setting_is_documented(kind: type):
    manual = (ROOT / "docs" / "client.md").read_text("utf-8")
    for name in inspect.signature(kind).parameters:
        assert f"`{name}`" in manual or name in ("config", "selector_options"), name
