"""One line: an SDK's own client over a transport, and every request goes through the flow."""

import asyncio
import gc
import json
from collections.abc import Callable
from typing import Any

import httpx2
import openai
import pytest

from tests.client.upstream import Exchange, peer
from tests.support import PATIENCE_S
from tests.turns.agents import MODELS, QUESTION, Agent, model, service, upstream
from tests.turns.model import PHANTOM
from tests.turns.shapes import BY_NAME, SHAPES, Json, Said, Shape, tools_of
from toolscout.discovery import AsyncTransport, Transport
from toolscout.turns.turn import Turn

__all__ = ["model", "service", "upstream"]  # fixtures, found by their names

GEMINI = BY_NAME["gemini"]
OPENAI, ANTHROPIC = SHAPES[0], BY_NAME["anthropic"]
FILLER = {f"tool_{number}": f"Does the thing of number {number}" for number in range(20)}
ABOUT = FILLER | {"send_email": "Send an email to somebody"}

JSON_KIND = ("Content-Type", "application/json")

Ask = Callable[..., Any]


def tools(shape: Shape, about: Json = ABOUT) -> list[Json]:
    return tools_of(shape, about)


def asked(shape: Shape, about: Json = ABOUT, **more: Any) -> Json:
    request = shape.request(QUESTION, tools(shape, about), **more)
    return request | ({"max_tokens": 9} if shape is ANTHROPIC else {})


def called(completion: Any) -> list[str]:
    return [call.function.name for call in completion.choices[0].message.tool_calls or []]


def openai_client(transport: httpx2.BaseTransport, url: str) -> openai.OpenAI:
    client = httpx2.Client(transport=transport)
    return openai.OpenAI(api_key="k", base_url=url, http_client=client, max_retries=0)


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("interface", MODELS)
def test_an_sdk_gets_the_call_of_a_found_tool(upstream, service, model, interface, streams):
    transport = Transport(service.url, native=False)
    agent = Agent(interface, upstream.url, transport, ABOUT, streams=streams)
    assert agent.ask(QUESTION) == ["send_email"]
    first = [PHANTOM, "tool_3"]
    assert model.seen(agent.shape)[:2] == [first, [*first, "send_email"]]


def test_headers_of_a_searched_request_go_out_byte_for_byte(service):
    sent: list[httpx2.Request] = []

    def provider(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        return httpx2.Response(200, json={"choices": []})

    headers = [(b"Content-Type", b"application/json"), (b"X-Team", "Zoë".encode())]
    transport = Transport(service.url, inner=httpx2.MockTransport(provider))
    with httpx2.Client(transport=transport) as client:
        url, body = "http://127.0.0.1:9/v1/chat/completions", json.dumps(asked(OPENAI))
        assert client.post(url, content=body, headers=headers).status_code == 200
    (request,) = sent
    assert len(request.content) < len(body)
    assert set(headers) <= set(request.headers.raw)


def test_a_closed_transport_sends_nothing(upstream, service):
    transport = Transport(service.url)
    transport.close()
    with pytest.raises(RuntimeError, match="closed"):
        transport.handle_request(httpx2.Request("GET", f"{upstream.url}/v1/models"))
    assert upstream.requests == []


def test_an_inner_transport_may_be_for_both_kinds_of_code(service):
    body = json.dumps(asked(OPENAI)).encode()
    inner = httpx2.MockTransport(lambda _: httpx2.Response(200, json={"choices": []}))
    with httpx2.Client(transport=Transport(service.url, inner=inner)) as client:
        url, headers = "http://127.0.0.1:9/v1/chat/completions", dict([JSON_KIND])
        assert client.post(url, content=iter([body]), headers=headers).json() == {"choices": []}


def test_a_stream_of_gemini_as_an_array_is_passed_on_as_it_comes(service):
    answer = b'[{"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]}\n]\n'
    with (
        peer(lambda exchange: exchange.answer(answer)) as api,
        httpx2.Client(transport=Transport(service.url)) as client,
    ):
        url = f"{api.url}/v1beta/models/g:streamGenerateContent"
        assert client.post(url, json=asked(GEMINI)).content == answer
        assert api.requests[0].json == asked(GEMINI)


@pytest.mark.parametrize(
    "own",
    [
        {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"},
        {"type": "tool_search", "execution": "client"},
        {"type": "openrouter:tool_search"},
        OPENAI.tool("deferred", "About it") | {"defer_loading": True},
        {"type": "function", "function": {"name": "deferred", "defer_loading": True}},
    ],
)
def test_a_caller_who_searches_deferred_tools_by_itself_is_left_alone(service, own):
    body = asked(OPENAI)
    body["tools"].append(own)
    with (
        peer(lambda exchange: exchange.answer(b"{}")) as api,
        httpx2.Client(transport=Transport(service.url)) as client,
    ):
        client.post(f"{api.url}/chat/completions", json=body)
        assert api.requests[0].json == body
    assert not service.requests


def test_every_forward_has_an_idempotency_key_of_its_own(upstream, service):
    with openai_client(Transport(service.url), upstream.url) as client:
        client.chat.completions.create(**asked(OPENAI), extra_headers={"Idempotency-Key": "once"})
    keys = [request.headers["idempotency-key"] for request in upstream.requests]
    assert keys == ["once", "once-2"]


def test_a_request_with_few_tools_goes_out_byte_for_byte(upstream, service, model):
    few = dict(list(ABOUT.items())[-10:])
    body = json.dumps(asked(OPENAI, few), indent=1).encode()
    with httpx2.Client(transport=Transport(service.url)) as client:
        client.post(f"{upstream.url}/chat/completions", content=body, headers=JSON)
    assert upstream.requests[0].body == body
    assert not service.requests


JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/models", JSON),
        ("POST", "/embeddings", JSON),
        ("POST", "/messages/count_tokens", JSON),
        ("POST", "/chat/completions", JSON | {"Content-Encoding": "gzip"}),
        ("POST", "/chat/completions", {"Content-Type": "text/plain"}),
        ("POST", "/chat/completions", JSON | {"Authorization": "AWS4-HMAC-SHA256 Credential=x"}),
    ],
)
def test_other_requests_go_out_byte_for_byte(service, method, path, headers):
    body = json.dumps(asked(OPENAI)).encode()
    with (
        peer(lambda exchange: exchange.answer(b"{}")) as upstream,
        httpx2.Client(transport=Transport(service.url)) as client,
    ):
        client.request(method, upstream.url + path, content=body, headers=headers)
    assert upstream.requests[0].body == body
    assert not service.requests


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_an_error_of_the_provider_reaches_the_sdk_as_it_is(service, stream):
    problem = b'{"error": {"message": "no credit", "code": "insufficient_quota"}}'

    def script(exchange: Exchange) -> None:
        exchange.answer(problem, 429, [("Content-Type", "application/json"), ("X-Limit", "7")])

    with (
        peer(script) as upstream,
        openai_client(Transport(service.url), upstream.url) as client,
        pytest.raises(openai.RateLimitError, match="no credit") as caught,
    ):
        client.chat.completions.create(**asked(OPENAI), stream=stream)
    assert caught.value.response.headers["X-Limit"] == "7"
    assert len(upstream.requests) == 1


def hang(exchange: Exchange) -> None:
    exchange.stopping.wait(PATIENCE_S)


def test_timeouts_of_the_sdk_hold(service):
    with (
        peer(hang) as upstream,
        openai_client(Transport(service.url), upstream.url) as client,
        pytest.raises(openai.APITimeoutError),
    ):
        client.with_options(timeout=0.3).chat.completions.create(**asked(OPENAI))


class Closed(httpx2.AsyncBaseTransport):
    """Raises what a connection of an event loop that was closed raises, after it has sent."""

    def __init__(self) -> None:
        self.sent: list[Json] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append(json.loads(request.content))
        raise RuntimeError("Event loop is closed")


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_what_fails_in_sending_is_raised_and_nothing_is_sent_again(service, stream):
    inner = Closed()

    async def ask() -> None:
        transport = AsyncTransport(service.url, inner=inner)
        async with httpx2.AsyncClient(transport=transport) as client:
            await client.post("http://api/chat/completions", json=asked(OPENAI, stream=stream))

    with pytest.raises(RuntimeError, match="Event loop is closed"):
        asyncio.run(ask())
    assert len(inner.sent) == 1


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_a_client_in_a_second_event_loop_sends_each_request_once(service, stream):
    answer = json.dumps(OPENAI.response(Said("Hi."))).encode()

    async def ask(client: httpx2.AsyncClient) -> None:
        await client.post(f"{api.url}/chat/completions", json=asked(OPENAI, stream=stream))

    with peer(lambda exchange: exchange.answer(answer, headers=[JSON_KIND])) as api:
        clients = [httpx2.AsyncClient(transport=AsyncTransport(service.url))]
        asyncio.run(ask(clients[0]))
        with pytest.raises(RuntimeError, match="closed"):  # as without a transport
            asyncio.run(ask(clients[0]))
        sent = [len(request.json["tools"]) for request in api.requests]
    clients.clear()
    gc.collect()  # the first loop's connections, which nothing can close any more
    assert sent == [3] * len(sent)  # the search, the constant one, and the one that fits
    assert len(sent) <= 2


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_a_request_that_cannot_be_changed_goes_out_as_it_came(service, monkeypatch, stream):
    def broken(turn: Turn) -> Json:
        raise RuntimeError("cannot be written")

    monkeypatch.setattr(Turn, "request", property(broken))
    with (
        peer(lambda exchange: exchange.answer(b"{}", headers=[JSON_KIND])) as upstream,
        httpx2.Client(transport=Transport(service.url)) as client,
    ):
        client.post(f"{upstream.url}/chat/completions", json=asked(OPENAI, stream=stream))
        assert [request.json for request in upstream.requests] == [asked(OPENAI, stream=stream)]


def test_without_a_service_the_model_gets_every_tool(upstream, model):
    with openai_client(Transport("http://127.0.0.1:9"), upstream.url) as client:
        completion = client.chat.completions.create(**asked(OPENAI))
    assert completion.choices[0].message.tool_calls
    assert model.seen(OPENAI) == [list(ABOUT)]


def test_a_stream_that_is_left_early_frees_its_connection(upstream, service):
    one = httpx2.HTTPTransport(limits=httpx2.Limits(max_connections=1))
    transport = Transport(service.url, inner=one)
    with openai_client(transport, upstream.url).with_options(timeout=PATIENCE_S) as client:
        for _ in range(3):
            with client.chat.completions.create(**asked(OPENAI), stream=True) as stream:
                next(iter(stream))
            client.chat.completions.create(**asked(OPENAI), stream=True).close()


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
def test_a_limit_of_the_provider_after_a_search_is_the_callers_to_wait_for(service, model, stream):
    def script(exchange: Exchange) -> None:
        if exchange.number:
            exchange.answer(b"{}", 429, [("Content-Type", "application/json")])
        else:
            model(exchange)

    with (
        peer(script) as upstream,
        openai_client(Transport(service.url), upstream.url) as client,
        pytest.raises(openai.APIError),
    ):
        list(client.chat.completions.create(**asked(OPENAI), stream=stream))
    assert len(upstream.requests) == 2
