"""Our hook inside the real LiteLLM proxy, before a scripted model and behind real requests."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.client.model import PHANTOM, ScriptedModel
from tests.client.shapes import SHAPES, Json, Said
from tests.client.streaming import read
from tests.client.upstream import peer
from tests.support import Server, environment, free_port

ROOT = Path(__file__).parents[2]
HOOK = ROOT / "deploy" / "proxies" / "litellm"
VENV = ROOT / ".venv-litellm"
KEY = "sk-loopback"

pytestmark = pytest.mark.integration

ABOUT = {
    "send_email": "Send an email to an address",
    **{f"spin_{n}": f"Spin gadget {n} around its axis" for n in range(30)},
}
SHAPE_OF = {"gpt": SHAPES[0], "claude": SHAPES[1]}
PATHS = {"gpt": "/v1/chat/completions", "claude": "/v1/messages"}


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter of an environment with LiteLLM and the client, made on first use."""
    done = VENV / ".installed"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        pip = [VENV / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "litellm[proxy]>=1.80,<2", "-e", ROOT], check=True)
        done.touch()
    return VENV / "bin" / "python"


class Proxy:
    """A running LiteLLM proxy and the model behind it."""

    def __init__(self, url: str, model: ScriptedModel) -> None:
        self.model = model
        self._client = httpx2.Client(base_url=url, timeout=60, trust_env=False)

    def post(self, name: str, body: Json) -> Json:
        headers = {"authorization": f"Bearer {KEY}", "x-api-key": KEY}
        answer = self._client.post(PATHS[name], json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    def stream(self, name: str, body: Json) -> Said:
        """The same, streamed, as the provider's SDK reads it."""
        headers = {"authorization": f"Bearer {KEY}", "x-api-key": KEY}
        sent = {**body, "stream": True}
        if name == "gpt":
            sent["stream_options"] = {"include_usage": True}
        answer = self._client.post(PATHS[name], json=sent, headers=headers)
        assert answer.status_code == 200, answer.text
        assert PHANTOM not in answer.text
        return read(SHAPE_OF[name], answer.content)

    def close(self) -> None:
        self._client.close()


@pytest.fixture(scope="module")
def proxy(
    python: Path, server: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    model = ScriptedModel()
    port = free_port()
    log = tmp_path_factory.mktemp("litellm") / "log"
    with peer(model) as upstream, log.open("wb") as out:
        settings = {
            "UPSTREAM_OPENAI": upstream.url,
            "UPSTREAM_ANTHROPIC": upstream.url,
            "OPENAI_API_KEY": "none",
            "ANTHROPIC_API_KEY": "none",
            "LITELLM_MASTER_KEY": KEY,
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "TOOLSCOUT_ENDPOINT": server.url,
        }
        flags = ["--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"]
        process = subprocess.Popen(
            [python.parent / "litellm", "--config", HOOK / "config.yaml", *flags],
            env=_without_python_path(environment(**settings)),
            cwd=HOOK,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        running = Proxy(f"http://127.0.0.1:{port}", model)
        try:
            _wait(f"http://127.0.0.1:{port}/health/liveliness", process, log)
            yield running
        finally:
            running.close()
            process.terminate()
            process.wait(30)


def _without_python_path(env: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name != "PYTHONPATH"}


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text("utf-8", "replace")
        try:
            if httpx2.get(url, trust_env=False).status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(0.2)
    raise AssertionError(log.read_text("utf-8", "replace"))


def request(name: str, text: str, **more: Any) -> Json:
    shape = SHAPE_OF[name]
    tools = [shape.tool(tool, about) for tool, about in ABOUT.items()]
    return {**shape.request(text, tools, max_tokens=50, **more), "model": name}


@pytest.mark.parametrize("name", ["gpt", "claude"])
def test_tools_shrink_and_the_search_tool_never_reaches_the_caller(proxy: Proxy, name: str):
    shape = SHAPE_OF[name]
    proxy.model.requests.clear()
    body = request(name, f"please write to somebody ({name})")
    first = proxy.post(name, body)
    seen = proxy.model.seen(shape)
    assert seen[0] == [PHANTOM]
    assert seen[1][0] == PHANTOM
    assert seen[1][1] == "send_email"
    assert len(seen[1]) <= 6
    said = shape.read(first)
    assert [call[1] for call in said.calls] == ["send_email"]
    assert PHANTOM not in str(first)
    follow_up = shape.history(body, Said(said.text, said.calls), ["sent"], "and?")
    second = proxy.post(name, follow_up)
    assert "send_email" in proxy.model.seen(shape)[-1]
    assert shape.read(second).text == "It said: sent"


@pytest.mark.parametrize("name", ["gpt", "claude"])
def test_tools_shrink_in_a_stream_too(proxy: Proxy, name: str):
    proxy.model.requests.clear()
    said = proxy.stream(name, request(name, f"please write to somebody, streaming ({name})"))
    seen = proxy.model.seen(SHAPE_OF[name])
    assert seen[0] == [PHANTOM]
    assert seen[1][:2] == [PHANTOM, "send_email"]
    assert said.text == "Let me look.Sending."
    assert [call[1] for call in said.calls] == ["send_email"]


@pytest.mark.parametrize("name", ["gpt", "claude"])
def test_a_request_with_few_tools_is_left_alone(proxy: Proxy, name: str):
    shape = SHAPE_OF[name]
    proxy.model.requests.clear()
    body = request(name, "few")
    proxy.post(name, {**body, "tools": body["tools"][:3]})
    assert proxy.model.seen(shape) == [list(ABOUT)[:3]]


def test_a_service_that_is_gone_leaves_every_tool(python: Path):
    script = """
import asyncio, os
os.environ["TOOLSCOUT_ENDPOINT"] = "http://127.0.0.1:9"
import toolscout_hook
async def main():
    tools = [{"name": f"t{n}", "input_schema": {}} for n in range(9)]
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": tools}
    turn = toolscout_hook.hook.discovery.begin(body, "anthropic")
    call = {"type": "tool_use", "id": "1", "name": "gateway_search_tools", "input": {"query": "x"}}
    async def forward(body):
        print(len(body["tools"]))
        return {"content": [], "stop_reason": "end_turn"}
    await toolscout_hook.hook.discovery.resume(turn, {"content": [call]}, forward)
asyncio.run(main())
"""
    env = {**os.environ, "PYTHONPATH": str(HOOK)}
    done = subprocess.run(
        [python, "-c", script], env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "10", done.stderr
