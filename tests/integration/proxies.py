"""The real LiteLLM proxy with the callback of the wheel, in an environment of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from evals import programs
from tests.integration.providers import PHANTOM, StrictProviders
from tests.integration.venvs import interpreter
from tests.support import environment, free_port
from tests.turns.shapes import SHAPES, Json, Said
from tests.turns.streaming import read

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "proxies" / "litellm"
VENV = ROOT / ".venv-litellm"

MASTER_KEY = "sk-master-of-the-proxy"
PROVIDER_KEYS = {"OPENAI_API_KEY": "sk-openai-secret", "ANTHROPIC_API_KEY": "sk-anthropic-secret"}

CLIENTS = {"openai": SHAPES[0], "anthropic": SHAPES[1]}
PATHS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}


def python() -> Path:
    """Return the interpreter of an environment with LiteLLM and the client, made on first use."""
    return interpreter(VENV, ["litellm[proxy]>=1.94,<2", "-e", str(ROOT)])


def variables(upstream: str, **settings: str) -> dict[str, str]:
    """Return the environment of a proxy before an upstream."""
    env = environment(
        UPSTREAM_OPENAI=f"{upstream}/v1",
        UPSTREAM_ANTHROPIC=upstream,
        LITELLM_MASTER_KEY=MASTER_KEY,
        LITELLM_LOCAL_MODEL_COST_MAP="True",
        **PROVIDER_KEYS,
        **settings,
    )
    return {name: value for name, value in env.items() if name != "PYTHONPATH"}


class Proxy:
    """A running proxy, the providers behind it, and its log."""

    def __init__(self, url: str, providers: StrictProviders, log: Path) -> None:
        self.url = url
        self.providers = providers
        self._log = log
        self._client = httpx2.Client(base_url=url, timeout=60, trust_env=False)

    @property
    def log(self) -> str:
        return self._log.read_text("utf-8", "replace")

    def ask(self, client: str, body: Json, stream: bool = False) -> Said:
        """Return what a client with the SDK of a provider gets to see; never the search tool."""
        headers = {"authorization": f"Bearer {MASTER_KEY}", "x-api-key": MASTER_KEY}
        sent = {**body, "stream": True} if stream else body
        if stream and client == "openai":
            sent["stream_options"] = {"include_usage": True}
        answer = self._client.post(PATHS[client], json=sent, headers=headers)
        assert answer.status_code == 200, answer.text
        assert PHANTOM not in answer.text
        shape = CLIENTS[client]
        return read(shape, answer.content) if stream else shape.read(answer.json())

    def close(self) -> None:
        self._client.close()


@contextmanager
def running(
    env: dict[str, str], providers: StrictProviders, log: Path, folder: Path = FOLDER
) -> Iterator[Proxy]:
    """Yield a proxy with the configuration in a folder, as long as the block lasts."""
    port = free_port()
    flags = ["--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"]
    command = [python().parent / "litellm", "--config", "config.yaml", *flags]
    url = f"http://127.0.0.1:{port}"
    proxy = Proxy(url, providers, log)
    with programs.running(command, lambda: is_live(url), log, env=env, cwd=folder):
        try:
            yield proxy
        finally:
            proxy.close()


def is_live(url: str) -> bool:
    """Whether the proxy answers."""
    return programs.says_yes(f"{url}/health/liveliness")
