"""The LiteLLM proxy with the callback, between a caller and a scripted model."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any
from urllib.request import Request, urlopen

from evals.programs import free_port, running, says_yes
from evals.prompt_cost.models import INTERFACES, Json, Model

KEY = "sk-of-the-measurement"

PATHS = {
    "anthropic": "/v1/messages",
    "openai": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
}
PROVIDERS = {"anthropic": "anthropic", "openai": "openai", "openai-responses": "openai"}

COMMON: dict[str, Json] = {
    "anthropic": {
        "type": "message",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    "openai": {
        "object": "chat.completion",
        "created": 1,
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    },
    "openai-responses": {
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    },
}
"""What an answer of each interface has in addition to its content."""


class Proxy:
    """A running proxy, and the model behind it at the time."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.model: Model | None = None

    def answer(self, body: Json) -> Json:
        """Answer as the provider of the model."""
        assert self.model is not None
        name = self.model.interface.name
        content = self.model.forward(body)
        about = {"id": f"answer_{self.model.requests}", "model": body["model"]}
        return {**COMMON[name], **about, **content}

    def ask(self, request: Json, interface: str) -> Json:
        """Return what a caller gets for a request."""
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        sent = Request(self.url + PATHS[interface], json.dumps(request).encode(), headers)
        with urlopen(sent, timeout=60) as response:
            answer: Json = json.load(response)
        return answer


@contextmanager
def litellm(program: Path, service: str) -> Iterator[Proxy]:
    """Yield the proxy of an installed LiteLLM, before a service."""
    proxy = Proxy(f"http://127.0.0.1:{free_port()}")
    with _upstream(proxy.answer) as upstream, TemporaryDirectory() as folder:
        (Path(folder) / "config.yaml").write_text(json.dumps(_config(upstream)))
        settings = {
            "LITELLM_MASTER_KEY": KEY,
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "TOOLSCOUT_ENDPOINT": service,
            "TOOLSCOUT_LEARN": "off",
        }
        port = proxy.url.rpartition(":")[2]
        command = [str(program.absolute()), "--config", "config.yaml", "--host", "127.0.0.1"]
        url = f"{proxy.url}/health/liveliness"
        with running(
            [*command, "--port", port, "--telemetry", "False"],
            lambda: says_yes(url),
            cwd=folder,
            env={**os.environ, **settings},
        ):
            yield proxy


def _config(upstream: str) -> Json:
    """Return a configuration in which every model has its own name; JSON is YAML too."""
    models: list[Json] = []
    for interface in INTERFACES.values():
        provider = PROVIDERS[interface.name]
        base = upstream if provider == "anthropic" else f"{upstream}/v1"
        deployed = {
            "model": f"{provider}/{interface.model}",
            "api_base": base,
            "api_key": "sk-none",
        }
        models.append({"model_name": interface.model, "litellm_params": deployed})
    callbacks = "toolscout.integrations.litellm.hook"
    return {"model_list": models, "litellm_settings": {"callbacks": callbacks}}


@contextmanager
def _upstream(answer: Callable[[Json], Json]) -> Iterator[str]:
    """Yield the address of a provider that gives these answers."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            content = json.dumps(answer(body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
