"""Bytes that one JSON reader takes and another does not, and those that none takes."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.client.upstream import Exchange, Peer, peer
from tests.turns.flows import DONE, PHANTOM, search
from tests.turns.shapes import ABOUT, SHAPES, Said, Shape, tools_of
from tests.turns.streaming import EVENTS

PATHS = {
    "openai": ("/chat/completions",) * 2,
    "openai-responses": ("/responses",) * 2,
    "anthropic": ("/messages",) * 2,
    "bedrock": ("/model/m/converse", "/model/m/converse-stream"),
    "gemini": ("/models/m:generateContent", "/models/m:streamGenerateContent?alt=sse"),
}
"""Where a provider is asked for a whole answer and for a stream."""

JSON = {"Content-Type": "application/json"}
FILLER = {f"tool_{number}": f"Does the thing of number {number}" for number in range(20)}
SURROGATE = "\ud83d"
UNREADABLE = [b'{"text": "caf\xe9"}', b"\xff\xfe", b"no json", b"7", b"", b'{"a":' * 5_000]


@pytest.fixture
def service() -> Iterator[Peer]:
    with peer(lambda exchange: exchange.select("read_file")) as started:
        yield started


KINDS = ("sync", "async", "sync")
WAYS = [
    (shape, streams, kind)
    for number, shape in enumerate(shape for shape in SHAPES if shape.name in PATHS)
    for streams, kind in zip((False, True), KINDS[number % 2 :], strict=False)
]
"""Every shape whole and as a stream, each in turn through the blocking and the other transport."""

in_any_way = pytest.mark.parametrize(
    ("shape", "streams", "post"),
    WAYS,
    indirect=["post"],
    ids=[
        f"{shape.name}-{'stream' if streams else 'whole'}-{kind}" for shape, streams, kind in WAYS
    ],
)


def asked(shape: Shape, streams: bool, text: str = "please") -> bytes:
    tools = tools_of(shape, FILLER | ABOUT)
    return json.dumps(shape.request(text, tools) | {"stream": streams}).encode()


def written(shape: Shape, said: Said, streams: bool, number: int) -> bytes:
    if streams:
        return b"".join(EVENTS[shape.name](said, number))
    return json.dumps(shape.response(said)).encode()


def saying(shape: Shape, streams: bool, *turns: Said) -> Callable[[Exchange], None]:
    """Return a model that says these turns one after the other."""
    return lambda each: each.answer(written(shape, turns[each.number], streams, each.number))


@in_any_way
@pytest.mark.parametrize("query", ["read", f"read {SURROGATE}"])
def test_a_lone_surrogate_lets_no_search_reach_the_caller(post, shape, streams, query):
    with peer(
        saying(shape, streams, search(query, text=f"One moment {SURROGATE}"), DONE)
    ) as upstream:
        answer = post(f"{upstream.url}{PATHS[shape.name][streams]}", asked(shape, streams)).content
        assert len(upstream.requests) == 2
    text = answer.decode("utf-8", "replace")
    assert PHANTOM not in text
    assert "done" in text or streams


@in_any_way
def test_a_request_with_a_lone_surrogate_is_searched(post, shape, streams):
    with peer(saying(shape, streams, search("read"), DONE)) as upstream:
        post(
            upstream.url + PATHS[shape.name][streams], asked(shape, streams, f"please {SURROGATE}")
        )
        assert len(upstream.requests) == 2
        assert SURROGATE in json.dumps(upstream.requests[1].json, ensure_ascii=False)


@in_any_way
def test_an_unreadable_answer_is_passed_on_and_paid_once(post, shape, streams):
    def script(exchange: Exchange) -> None:
        exchange.answer(UNREADABLE[exchange.number], headers=[*JSON.items()])

    with peer(script) as upstream:
        for number, content in enumerate(UNREADABLE, 1):
            url = f"{upstream.url}{PATHS[shape.name][streams]}"
            assert post(url, asked(shape, streams)).content.strip() == content
            assert len(upstream.requests) == number


@in_any_way
def test_an_unreadable_answer_after_a_search_is_paid_once(post, shape, streams):
    def script(exchange: Exchange) -> None:
        number, is_second = divmod(exchange.number, 2)
        first = written(shape, search("read"), streams, number)
        exchange.answer(UNREADABLE[number] if is_second else first)

    with peer(script) as upstream:
        for number, content in enumerate(UNREADABLE, 1):
            url = f"{upstream.url}{PATHS[shape.name][streams]}"
            assert content in post(url, asked(shape, streams, f"please {number}")).content
            assert len(upstream.requests) == 2 * number


@in_any_way
def test_an_answer_of_odd_values_is_passed_on_and_paid_once(post, shape, streams):
    odd: Any = {"index": [1], "id": {}, "usage": 5, "type": [], "name": 7}
    whole = odd | {
        key: [odd, [], 3, None] for key in ("choices", "content", "output", "candidates")
    }
    content = json.dumps(whole).encode()
    if streams:
        kinds = ("content_block_start", "content_block_delta", "response.output_item.added")
        events = [whole, *(odd | {"type": kind} for kind in kinds)]
        content = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    with peer(lambda exchange: exchange.answer(content, headers=[*JSON.items()])) as upstream:
        post(f"{upstream.url}{PATHS[shape.name][streams]}", asked(shape, streams))
        assert len(upstream.requests) == 1


@in_any_way
def test_an_unreadable_request_goes_out_as_it_came(post, shape, streams):
    with peer(lambda exchange: exchange.answer(b"{}")) as upstream:
        numbers = [b"NaN", b"-Infinity", b"1e400"]
        of_no_json = [b'{"x":%s,' % each + asked(shape, streams)[1:] for each in numbers]
        bodies = [*UNREADABLE, *of_no_json]
        for body in bodies:
            post(f"{upstream.url}{PATHS[shape.name][streams]}", body)
        assert [request.body for request in upstream.requests] == bodies


@in_any_way
def test_an_answer_without_a_search_keeps_its_bytes(post, shape, streams):
    content = json.dumps(shape.response(DONE), indent=3).encode()
    if streams:
        content = b"".join(EVENTS[shape.name](DONE, 0))
    with peer(lambda exchange: exchange.answer(content, headers=[*JSON.items()])) as upstream:
        url = f"{upstream.url}{PATHS[shape.name][streams]}"
        assert post(url, asked(shape, streams)).content == content
