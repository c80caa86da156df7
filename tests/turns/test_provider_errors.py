"""A provider's error after a search: the stream ends with it, in the provider's own form."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from tests.client.upstream import Exchange, Peer, peer
from tests.turns.bedrock_streaming import unframed
from tests.turns.flows import search
from tests.turns.shapes import ABOUT, BY_NAME, Json, tools_of
from tests.turns.streaming import EVENTS
from toolscout.discovery import AsyncTransport, Transport

FILLER = {f"tool_{number}": f"Does the thing of number {number}" for number in range(20)}
JSON = ("Content-Type", "application/json")
ERRORS: dict[str, Json] = {
    "openai": {"error": {"message": "slow down", "code": "rate_limit_exceeded", "type": "tokens"}},
    "anthropic": {"type": "error", "error": {"type": "overloaded_error", "message": "slow down"}},
    "gemini": {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}},
    "bedrock": {"message": "slow down"},
}
ERRORS["openai-responses"] = ERRORS["openai"]


class Failing:
    """A provider that writes text and searches, and then refuses."""

    def __init__(self, name: str, status: int, problem: bytes | None = None) -> None:
        self.name, self.status = name, status
        self.problem = json.dumps(ERRORS[name]).encode() if problem is None else problem

    def __call__(self, exchange: Exchange) -> None:
        if exchange.number:
            exchange.answer(self.problem, self.status, [JSON, ("Retry-After", "7")])
            return
        events = b"".join(EVENTS[self.name](search("read", text="Let me look.")))
        exchange.answer(events, headers=[("Content-Type", "text/event-stream")])


@pytest.fixture
def service() -> Iterator[Peer]:
    with peer(lambda exchange: exchange.select("read_file")) as started:
        yield started


def asked(name: str) -> Any:
    shape = BY_NAME[name]
    return shape.request("please", tools_of(shape, FILLER | ABOUT)) | {"stream": True}


@pytest.mark.parametrize("status", [429, 500, 503])
@pytest.mark.parametrize("interface", ["openai", "openai-responses"])
def test_the_openai_sdk_raises_its_error(service, interface, status):
    with (
        peer(Failing(interface, status)) as upstream,
        httpx2.Client(transport=Transport(service.url)) as http,
        openai.OpenAI(
            api_key="k", base_url=upstream.url, http_client=http, max_retries=0
        ) as client,
    ):
        create: Any = client.chat.completions if interface == "openai" else client.responses
        with pytest.raises(openai.APIError, match="slow down") as caught:
            list(create.create(**asked(interface)))
        assert caught.value.code == "rate_limit_exceeded"
        assert len(upstream.requests) == 2


@pytest.mark.parametrize("status", [429, 500, 529])
def test_the_anthropic_sdk_raises_its_error(service, status):
    async def ask(url: str) -> None:
        http = httpx2.AsyncClient(transport=AsyncTransport(service.url))
        client = anthropic.AsyncAnthropic(
            api_key="k", base_url=url, http_client=http, max_retries=0
        )
        async with client:
            stream: Any = await client.messages.create(**asked("anthropic"), max_tokens=9)
            async for _ in stream:
                pass

    with peer(Failing("anthropic", status)) as upstream:
        with pytest.raises(anthropic.APIStatusError, match="slow down") as caught:
            asyncio.run(ask(upstream.url))
        assert caught.value.body == ERRORS["anthropic"]


def test_the_error_of_gemini_is_the_last_of_its_stream(service):
    with (
        peer(Failing("gemini", 429)) as upstream,
        httpx2.Client(transport=Transport(service.url)) as http,
    ):
        url = f"{upstream.url}/models/m:streamGenerateContent?alt=sse"
        text = http.post(url, json=asked("gemini")).text
    assert json.loads(text.split("data: ")[-1]) == ERRORS["gemini"]


def test_the_error_of_bedrock_is_an_exception_in_a_frame(service):
    with (
        peer(Failing("bedrock", 429)) as upstream,
        httpx2.Client(transport=Transport(service.url)) as http,
    ):
        url = f"{upstream.url}/model/m/converse-stream"
        content = http.post(url, json=asked("bedrock")).content
    headers, payload = unframed(content)[-1]
    assert headers[":message-type"] == "exception"
    assert headers[":exception-type"] == "throttlingException"
    assert payload == ERRORS["bedrock"]
