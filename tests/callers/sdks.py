"""The SDKs over a transport, and any program before the proxy."""

import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2

from tests.callers.cases import Caller, Running
from tests.client.agents import Agent
from tests.client.upstream import answers, free_port, until
from tests.integration import proxies
from tests.support import environment
from toolscout.discovery import Transport

LINE = "1"
LIBRARIES = ["openai", "anthropic", "httpx2"]


class Proxied(Agent):
    """An SDK without any change, and a proxy at the address that it takes for its provider."""

    def __init__(self, interface: str, url: str, service: str, *args: Any, **options: Any) -> None:
        port = free_port()
        command = [sys.executable, "-m", "toolscout", "proxy", "--upstream", url]
        command += ["--selector", service, "--port", str(port)]
        self.process = subprocess.Popen(
            command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until(lambda: answers(port))
        transport = httpx2.HTTPTransport()
        super().__init__(interface, f"http://127.0.0.1:{port}", transport, *args, **options)

    def close(self) -> None:
        super().close()
        self.process.kill()
        self.process.wait()


class BehindLiteLLM(Agent):
    """An SDK without any change before the LiteLLM proxy, which has our callback."""

    def __init__(self, interface: str, url: str, service: str, *args: Any, **options: Any) -> None:
        self.folder = tempfile.TemporaryDirectory()
        log = Path(self.folder.name) / "log"
        env = proxies.variables(url, TOOLSCOUT_ENDPOINT=service)
        self.stack = ExitStack()
        proxy = self.stack.enter_context(proxies.running(env, proxies.StrictProviders(), log))
        options |= {"model": "gpt", "key": proxies.MASTER_KEY}
        super().__init__(interface, f"{proxy.url}/v1", httpx2.HTTPTransport(), *args, **options)

    def close(self) -> None:
        super().close()
        self.stack.close()
        self.folder.cleanup()


def over_transport(interface: str) -> Any:
    def start(url: str, service: str, about: dict[str, str], **options: Any) -> Running:
        return Agent(interface, url, Transport(service), about, **options)

    return start


def behind(proxy: type[Agent], interface: str) -> Any:
    def start(url: str, service: str, about: dict[str, str], **options: Any) -> Running:
        return proxy(interface, url, service, about, **options)  # type: ignore[arg-type]

    return start


NAMES = {
    "openai": "OpenAI SDK, chat completions",
    "openai-responses": "OpenAI SDK, Responses",
    "anthropic": "Anthropic SDK",
}
CALLERS = [Caller(name, LINE, over_transport(interface)) for interface, name in NAMES.items()]
CALLERS += [
    Caller("any program, `toolscout proxy`", "0, one variable", behind(Proxied, "openai")),
    Caller("LiteLLM proxy, chat completions", "2", behind(BehindLiteLLM, "openai")),
    Caller("LiteLLM proxy, Responses", "2", behind(BehindLiteLLM, "openai-responses")),
]
