"""Answers that do not come as a connection brings them, or not in the form that was asked for."""

import asyncio
import gzip
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from tests.client.upstream import Peer
from tests.turns import streaming
from tests.turns.asking import QUESTION, SEARCH, TOOLS, said, service
from tests.turns.flows import PHANTOM
from tests.turns.shapes import BY_NAME, Said
from toolscout.discovery import AsyncTransport, Transport
from toolscout.turns.drivers.exchange import PATHS
from toolscout.turns.drivers.written import MAX_SEARCHED_BYTES
from toolscout.turns.providers.fields import encode

URL = "http://model.example/v1/chat/completions"

__all__ = ["service"]  # a fixture, found by its name

Answers = list[httpx2.Response]
Ask = Callable[..., httpx2.Response]


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest, service: Peer) -> Ask:
    """Return what asks a model, whose answers these are, through an `inner` transport."""

    def blocking(answers: Answers, body: Any, url: str = URL) -> httpx2.Response:
        inner = httpx2.MockTransport(lambda _: answers.pop(0))
        with httpx2.Client(transport=Transport(service.url, inner=inner)) as client:
            return client.post(url, json=body)

    async def awaited(answers: Answers, body: Any, url: str = URL) -> httpx2.Response:
        inner = httpx2.MockTransport(lambda _: answers.pop(0))
        transport = AsyncTransport(service.url, inner=inner)
        async with httpx2.AsyncClient(transport=transport) as client:
            return await client.post(url, json=body)

    if request.param == "sync":
        return blocking
    return lambda *args: asyncio.run(awaited(*args))


def asked(**more: Any) -> dict[str, Any]:
    return QUESTION | more


def read(content: bytes, status: int = 200) -> httpx2.Response:
    """Return a response that was read, as a transport that keeps or repeats answers returns it."""
    packed = {"content-encoding": "gzip"}
    return httpx2.Response(status, content=gzip.compress(content), headers=packed)


def test_an_answer_that_was_read_already_is_searched(ask: Ask):
    answers = [read(said("", [SEARCH])), read(said("done"))]
    assert ask(answers, asked()).json()["choices"][0]["message"]["content"] == "done"
    assert not answers


def test_an_error_that_was_read_already_reaches_the_caller(ask: Ask):
    for streams in (False, True):
        answer = ask([read(b'{"error": "slow down"}', 429)], asked(stream=streams))
        assert (answer.status_code, answer.json()) == (429, {"error": "slow down"})


def test_an_answer_that_was_read_already_and_is_too_large_is_passed_on(ask: Ask):
    whole = said("x" * MAX_SEARCHED_BYTES)
    assert ask([read(whole)], asked()).content == whole


def test_an_answer_that_was_read_already_is_passed_on_where_nothing_is_searched(ask: Ask):
    assert ask([read(said("hi"))], asked(tool_choice="none")).content == said("hi")


def plain(content: bytes) -> httpx2.Response:
    """Return a response that is open, as connections bring it."""
    headers = {"content-type": "application/json; charset=utf-8"}
    return httpx2.Response(200, headers=headers, stream=httpx2.ByteStream(content))


@pytest.mark.parametrize("name", ["openai", "openai-responses", "anthropic"])
def test_a_plain_answer_is_searched_although_a_stream_was_asked_for(ask: Ask, name: str):
    shape = BY_NAME[name]
    tools = [shape.tool(f"tool_{number}", "about") for number in range(30)]
    turns = Said(calls=(("1", PHANTOM, {"query": "read"}),)), Said("done")
    answers = [plain(encode(shape.response(said))) for said in turns]
    body = shape.request("read a file", tools, stream=True)
    url = next(f"http://model.example/v1{end}" for end, provider in PATHS if provider == name)
    answer = ask(answers, body, url)
    assert answer.json() == shape.response(turns[-1])
    assert answer.headers["content-type"].startswith("application/json")
    assert not answers


def test_a_stream_that_says_it_is_plain_is_searched(ask: Ask):
    shape = BY_NAME["openai"]
    body = shape.request("read a file", TOOLS, stream=True)
    search = Said(calls=(("1", PHANTOM, {"query": "read"}),))
    answers = [
        plain(b"".join(streaming.EVENTS["openai"](said, 1))) for said in (search, Said("done"))
    ]
    content = ask(answers, body).content
    assert streaming.read(shape, content) == Said("done")
    assert PHANTOM.encode() not in content


UNREAD = {"a list": b"[1, 2]", "no JSON": b"busy", "large": said("x" * MAX_SEARCHED_BYTES)}


@pytest.mark.parametrize("content", UNREAD.values(), ids=list(UNREAD))
def test_a_plain_answer_that_cannot_be_searched_is_passed_on(ask: Ask, content: bytes):
    assert ask([plain(content)], asked(stream=True)).content == content
