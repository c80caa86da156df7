"""The SDKs over a transport, and any program before the proxy."""

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2

from tests.callers.cases import PICTURES, THINKING, Caller, Running
from tests.gateway.proxies import proxy
from tests.integration import proxies
from tests.turns.agents import Agent
from toolscout.discovery import Transport

LINE = "1"
LIBRARIES = ["openai", "anthropic", "httpx2"]


class Proxied(Agent):
    """An SDK without any change, and a proxy at the address that it takes for its provider."""

    def __init__(self, interface: str, url: str, service: str, *args: Any, **options: Any) -> None:
        self.stack = ExitStack()
        url, more = self.enter(url, service)
        super().__init__(interface, url, httpx2.HTTPTransport(), *args, **options | more)

    def enter(self, url: str, service: str) -> tuple[str, dict[str, str]]:
        """Start the proxy; its URL, and what else the SDK is given."""
        return self.stack.enter_context(proxy(url, selector=service)).url, {}

    def close(self) -> None:
        super().close()
        self.stack.close()


class BehindLiteLLM(Proxied):
    """The same before the LiteLLM proxy, which has our callback."""

    def enter(self, url: str, service: str) -> tuple[str, dict[str, str]]:
        folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        env = proxies.variables(url, TOOLSCOUT_ENDPOINT=service)
        running = proxies.running(env, proxies.StrictProviders(), Path(folder) / "log")
        started = self.stack.enter_context(running)
        return f"{started.url}/v1", {"model": "gpt", "key": proxies.MASTER_KEY}


def over_transport(interface: str) -> Any:
    def start(url: str, service: str, about: dict[str, str], **options: Any) -> Running:
        return Agent(interface, url, Transport(service), about, **options)

    return start


def behind(kind: type[Agent], interface: str) -> Any:
    def start(url: str, service: str, about: dict[str, str], **options: Any) -> Running:
        return kind(interface, url, service, about, **options)  # type: ignore[arg-type]

    return start


BOTH = (THINKING, PICTURES)
CALLERS = [
    Caller("OpenAI SDK, chat completions", LINE, over_transport("openai"), can=[PICTURES]),
    Caller("OpenAI SDK, Responses", LINE, over_transport("openai-responses"), can=[PICTURES]),
    Caller("Anthropic SDK", LINE, over_transport("anthropic"), can=BOTH),
    Caller(
        "any program, `toolscout proxy`",
        "0, one variable",
        behind(Proxied, "openai"),
        can=[PICTURES],
    ),
    Caller("LiteLLM proxy, chat completions", "2", behind(BehindLiteLLM, "openai"), can=[PICTURES]),
    Caller(
        "LiteLLM proxy, Responses", "2", behind(BehindLiteLLM, "openai-responses"), can=[PICTURES]
    ),
]
