"""The addresses of docs/cookbook/any-language.md: a path of each provider, through the proxy."""

import httpx2
import openai
import pytest

from tests.client.upstream import Peer, peer
from tests.gateway.proxies import proxy
from tests.gateway.test_proxy import ABOUT, KEY, model, service, upstream
from tests.turns.shapes import BY_NAME

__all__ = ["model", "service", "upstream"]  # fixtures, found by their names

ASKED = [{"role": "user", "content": "please write to somebody"}]


def searches(service: Peer) -> list[str]:
    """Return the searches that the service was asked for."""
    return [each.path for each in service.requests if each.path.endswith("/search")]


def tools() -> list[dict]:
    return [BY_NAME["openai"].tool(name, about) for name, about in ABOUT.items()]


@pytest.mark.parametrize(
    "base", ["/openai/v1", "/api/v1", "/v1"], ids=["Azure, v1", "OpenRouter", "Ollama and vLLM"]
)
def test_tools_are_searched_below_the_path_of_a_provider(upstream, service, base):
    with (
        proxy(f"{upstream.url}{base}", selector=service.url) as started,
        openai.OpenAI(base_url=started.url, api_key=KEY, max_retries=0) as client,
    ):
        client.chat.completions.create(model="m", messages=ASKED, tools=tools())
    assert upstream.requests[0].path == f"{base}/chat/completions"
    assert searches(service)


def test_azures_deployments_keep_path_version_and_key(upstream, service):
    with (
        proxy(upstream.url, selector=service.url) as started,
        openai.AzureOpenAI(
            azure_endpoint=started.url, api_key=KEY, api_version="2024-10-21", max_retries=0
        ) as client,
    ):
        client.chat.completions.create(model="mine", messages=ASKED, tools=tools())
    (first, *_) = upstream.requests
    assert first.path == "/openai/deployments/mine/chat/completions?api-version=2024-10-21"
    assert first.headers["api-key"] == KEY
    assert searches(service)


def test_a_path_that_is_no_interface_of_tools_passes_unsearched(service):
    """Ollama's own `/api/chat`."""
    with (
        peer(lambda exchange: exchange.answer(b"{}")) as ollama,
        proxy(ollama.url, selector=service.url) as started,
    ):
        body = {"model": "m", "messages": ASKED, "tools": tools()}
        assert httpx2.post(f"{started.url}/api/chat", json=body).status_code == 200
        assert len(ollama.requests) == 1
    assert searches(service) == []
