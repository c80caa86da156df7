"""What providers and callers send has bounds, within which it is looked into."""

import asyncio
import gzip
import json
import zlib
from typing import Any

import httpx2
import pytest

from tests.client.upstream import Exchange, peer
from tests.turns.asking import JSON, QUESTION, SEARCH, Post, ask, listen, said, service
from toolscout.discovery import AsyncTransport, Transport
from toolscout.turns.drivers import exchange
from toolscout.turns.drivers.exchange import MAX_ANSWER_OBJECTS
from toolscout.turns.drivers.written import (
    MAX_SEARCHED_BYTES,
    MAX_SEARCHED_VALUES,
)

__all__ = ["service"]  # a fixture, found by its name


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_compressed_answers_are_read(post: Post, encoding: str):
    pack = gzip.compress if encoding == "gzip" else zlib.compress

    def script(exchange: Exchange) -> None:
        text = said("", [SEARCH]) if exchange.number == 0 else said("done")
        exchange.answer(pack(text), headers=[("Content-Encoding", encoding), *JSON.items()])

    answer = ask(post, script)
    assert answer.json()["choices"][0]["message"]["content"] == "done"


TAKEN = {"gzip, deflate, br, zstd": "gzip, deflate", "br": "identity", "": "identity"}


@pytest.mark.parametrize(("taken", "asked"), TAKEN.items(), ids=list(TAKEN))
def test_what_may_be_passed_on_is_encoded_as_the_caller_takes_it(taken: str, asked: str):
    url = "http://model.example/v1/chat/completions"
    request = httpx2.Request("POST", url, headers={"Accept-Encoding": taken})
    sent = exchange.Exchange(request, "openai", {}).forward({})
    assert sent.headers["accept-encoding"] == asked


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "bomb"])
def test_an_answer_too_large_to_look_into_is_passed_on(post: Post, packed: bool):
    text = said("x" * (2 * MAX_SEARCHED_BYTES))
    headers = [("Content-Encoding", "gzip")] if packed else []

    def script(exchange: Exchange) -> None:
        exchange.answer(gzip.compress(text) if packed else text, headers=headers)

    answer = ask(post, script)
    assert answer.status_code == 200
    assert answer.content == text


MANY = {"values": [1] * (MAX_SEARCHED_VALUES + 1), "objects": [{}] * (MAX_ANSWER_OBJECTS + 1)}


@pytest.mark.parametrize("odd", MANY.values(), ids=list(MANY))
def test_an_answer_of_too_many_values_to_walk_through_is_passed_on(post: Post, odd: list[Any]):
    content = json.dumps({"odd": odd} | json.loads(said("", [SEARCH]))).encode()
    headers = [("Content-Encoding", "gzip"), *JSON.items()]
    answer = ask(post, lambda each: each.answer(gzip.compress(content), headers=headers))
    assert answer.content == content  # the search in it, too


@pytest.mark.parametrize("headers", [[], [("Content-Encoding", "gzip")]], ids=["large", "corrupt"])
def test_after_a_search_an_answer_that_cannot_be_read_is_an_error_of_the_provider(
    post: Post, headers: list[tuple[str, str]]
):
    def script(exchange: Exchange) -> None:
        if exchange.number == 0:
            exchange.answer(said("", [SEARCH]))
        else:
            size = 9 if headers else 2 * MAX_SEARCHED_BYTES
            exchange.answer(said("x" * size, [SEARCH]), headers=headers)

    answer = ask(post, script)
    assert answer.status_code == 502
    assert "more than" in answer.json()["error"]["message"]


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd"])
def test_what_cannot_be_decoded_goes_to_the_caller_as_it_came_and_is_paid_once(encoding: str):
    forwards: list[int] = []

    def script(exchange: Exchange) -> None:
        forwards.append(exchange.number)
        exchange.answer(b"plain", headers=[("Content-Encoding", encoding)])

    with peer(lambda each: each.select("tool_7")) as service, peer(script) as model:
        url = f"{model.url}/chat/completions"
        sending = Transport(service.url)
        request = httpx2.Request("POST", url, content=json.dumps(QUESTION), headers=JSON)
        answer = sending.handle_request(request)
        assert answer.headers["content-encoding"] == encoding
        assert b"".join(answer.iter_raw()) == b"plain"
        sending.close()
    assert forwards == [0]


def test_raw_deflate_is_read(post: Post):
    raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    content = raw.compress(said("done")) + raw.flush()
    answer = ask(post, lambda each: each.answer(content, headers=[("Content-Encoding", "deflate")]))
    assert answer.content == said("done")


@pytest.mark.parametrize(
    "odd",
    [{"x": [[]] * MAX_SEARCHED_VALUES}, {"x": "y " * MAX_SEARCHED_BYTES}],
    ids=["values", "bytes"],
)
def test_a_request_too_large_to_be_searched_is_passed_on(post: Post, odd: dict[str, Any]):
    sent, script = listen()
    assert ask(post, script, **odd).json()["choices"][0]["message"]["content"] == "done"
    assert sent == [json.dumps(QUESTION | odd).encode()]


def test_a_large_request_within_the_bounds_is_searched(post: Post):
    sent: list[Any] = []

    def script(exchange: Exchange) -> None:
        sent.append(exchange.json)
        exchange.answer(said("", [SEARCH]) if exchange.number == 0 else said("done"))

    tools = [
        {"type": "function", "function": {"name": f"tool_{n}", "description": "d" * 90}}
        for n in range(3_000)
    ]
    assert ask(post, script, tools=tools).json()["choices"][0]["message"]["content"] == "done"
    assert len(sent[0]["tools"]) < 30


def test_a_page_in_place_of_a_stream_is_passed_on_byte_for_byte(post: Post):
    """As gateways answer that stand between, with status 200."""
    page = b"<html><body>Sign in</body></html>"
    headers = [("Content-Type", "text/html; charset=utf-8")]
    answer = ask(post, lambda each: each.answer(page, headers=headers), stream=True)
    assert answer.content == page


STREAM = {"Content-Type": "text/event-stream"}


def event(text: str = "", calls: list[Any] | None = None, end: str | None = None) -> bytes:
    delta = {"content": text, "tool_calls": calls}
    choice = {"index": 0, "delta": delta, "finish_reason": end}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


LONG = {
    "one event": [event("x" * (2 * MAX_SEARCHED_BYTES)), event(end="stop")],
    "many events": [event("y" * 50_000)] * (2 * MAX_SEARCHED_BYTES // 50_000),
    "no event": [b"data: " + b"z" * (2 * MAX_SEARCHED_BYTES)],
}


@pytest.mark.parametrize("pieces", LONG.values(), ids=list(LONG))
def test_a_stream_too_large_to_look_into_is_passed_on(post: Post, pieces: list[bytes]):
    content = b"".join(pieces)
    answer = ask(post, lambda each: each.answer(content, headers=[*STREAM.items()]), stream=True)
    assert answer.content == content


@pytest.mark.parametrize("pieces", LONG.values(), ids=list(LONG))
def test_after_a_search_a_stream_too_large_ends_with_the_providers_error(
    post: Post, pieces: list[bytes]
):
    search = event(calls=[{"index": 0, **SEARCH}]) + event(end="tool_calls")

    def script(exchange: Exchange) -> None:
        content = search if exchange.number == 0 else b"".join(pieces)
        exchange.answer(content, headers=[*STREAM.items()])

    answer = ask(post, script, stream=True)
    last = answer.content.removesuffix(b"\n\n").rpartition(b"data: ")[2]
    assert "after a search" in json.loads(last)["error"]["message"]
    assert b"gateway_search_tools" not in answer.content


async def turns_beside(peer_url: str, whole: httpx2.Response) -> tuple[int, int]:
    """Read an answer, and count its bytes and the turns that another task got meanwhile."""
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    sending = AsyncTransport(peer_url, inner=httpx2.MockTransport(lambda _: whole))
    async with httpx2.AsyncClient(transport=sending) as client:
        url = "http://model.example/v1/chat/completions"
        request = client.build_request("POST", url, json=QUESTION | {"stream": True})
        answer = await client.send(request, stream=True)
        beside = asyncio.create_task(others())
        size = sum([len(piece) async for piece in answer.aiter_bytes()])
        beside.cancel()
    return size, turns


def test_others_run_while_a_compressed_stream_is_read():
    """All of it comes in one piece from the network, so that nothing in it is waited for."""
    content = event("x" * 50) * 50_000
    headers = {**STREAM, "Content-Encoding": "gzip"}
    packed = httpx2.ByteStream(gzip.compress(content))
    whole = httpx2.Response(200, headers=headers, stream=packed)
    with peer(lambda each: each.select("tool_7")) as service:
        size, turns = asyncio.run(turns_beside(service.url, whole))
    assert size == len(content)
    assert turns > size // 100_000
