"""What an HTTP server answers is bounded in what it decodes to, not in what it sends."""

import asyncio
import gzip
import json
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.client.upstream import Exchange, peer
from tests.gateway.mcp.bombs import GZIP, JSON, Bomb
from tests.gateway.mcp.hosts import inside, text_of
from tests.support import until
from toolscout.gateway.mcp import http_answers
from toolscout.gateway.mcp.http_answers import (
    MAX_MESSAGE_VALUES,
    UnreadableAnswer,
    bound_answer,
)

REQUEST = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
REFUSED = {"code": -32700, "message": "the answer cannot be read"}
TOO_LONG = "the answer is too long: it has"
EVENTS = ("Content-Type", "text/event-stream")


def asked(script: Callable[[Exchange], None], **request: Any) -> httpx2.Response:
    async def ask() -> httpx2.Response:
        hooks = {"response": [bound_answer]}
        async with httpx2.AsyncClient(event_hooks=hooks, trust_env=False) as client:
            return await client.post(fake.url, **request)

    with peer(script) as fake:
        return asyncio.run(ask())


def answering(body: bytes, *headers: tuple[str, str]) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.answer(body, headers=[JSON, *headers])


def test_an_answer_is_read_as_it_decodes_up_to_the_bound(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_answers, "MAX_MESSAGE_BYTES", 1_000)
    body = json.dumps("a" * 998).encode()
    twice = gzip.compress(gzip.compress(body))
    assert asked(answering(body), json=REQUEST).content == body
    assert asked(answering(gzip.compress(body), GZIP), json=REQUEST).content == body
    both = ("Content-Encoding", "gzip, gzip")
    assert asked(answering(twice, both), json=REQUEST).content == body
    longer = json.dumps("a" * 999).encode()
    for script, size in (
        (answering(longer), "1,001 bytes; at most"),
        (answering(gzip.compress(longer), GZIP), "more than"),
    ):
        answer = asked(script, json=REQUEST).json()
        assert (answer["id"], answer["error"]["code"]) == (7, -32700)
        assert answer["error"]["message"].startswith(f"{TOO_LONG} {size} ")


def endless(exchange: Exchange) -> None:
    """Send one byte a thousand times over, compressed, for as long as somebody reads."""
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n\r\n"
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    exchange.close()
    with suppress(OSError):
        exchange.send(head.encode())
        while not exchange.stopping.is_set():
            exchange.send(packer.compress(b"a" * 1_000_000))


def test_an_answer_without_an_end_is_not_read_to_it():
    said = asked(endless, json=REQUEST).json()["error"]["message"]
    assert said == f"{TOO_LONG} more than 67,108,864 bytes"


def test_an_answer_of_too_many_values_is_not_decoded():
    few = [[]] * (MAX_MESSAGE_VALUES // 2)
    body = gzip.compress(json.dumps(few).encode())
    assert asked(answering(body, GZIP), json=REQUEST).json() == few
    body = gzip.compress(json.dumps([*few, *few, *few]).encode())
    assert asked(answering(body, GZIP), json=REQUEST).json()["error"] == REFUSED


def test_where_nothing_can_be_answered_instead_an_error_is_raised():
    with pytest.raises(UnreadableAnswer):
        asked(endless, data={"grant_type": "refresh_token"})


def streaming(events: bytes) -> bytes:
    """Return what a client reads of a stream of events."""

    def script(exchange: Exchange) -> None:
        exchange.answer(gzip.compress(events), headers=[EVENTS, GZIP])

    return asked(script, json=REQUEST).content


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_events_are_passed_on_as_they_are(end: bytes):
    events = b"id: 1" + end + b"data: 1" + end + end
    assert streaming(events * 3) == events * 3


def test_an_event_that_is_too_long_is_an_error_with_its_length_between_the_others(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(http_answers, "MAX_MESSAGE_BYTES", 300_000)
    short = b"data: 1\n\n"
    longer = b"data: " + b"a" * 400_000 + b"\n\n"
    before, error, after = streaming(short + longer + short).split(b"\n\n")[:3]
    answer = json.loads(error.removeprefix(b"data: "))
    assert (before, after) == (b"data: 1", b"data: 1")
    assert answer["id"] == 7
    assert answer["error"]["message"].startswith(f"{TOO_LONG} 400,008 bytes; at most ")


MANY = b"data: [" + b"[]," * (MAX_MESSAGE_VALUES // 2) + b"[]]"


@pytest.mark.parametrize(
    "event",
    [
        MANY,
        b': "\n' + MANY,
        b"data\n" * MAX_MESSAGE_VALUES + b"data: 1",
        MANY.replace(b",", b",\ndata: ", 9),
    ],
)
def test_an_event_of_too_many_values_is_not_decoded(event: bytes):
    assert json.loads(streaming(event + b"\n\n")[6:])["error"] == REFUSED


def test_events_are_read_as_utf_8_whatever_their_server_says():
    odd = ("Content-Type", "text/event-stream; charset=utf-16")
    response = asked(lambda one: one.answer(b"data: 1\n\n", headers=[odd]), json=REQUEST)
    assert response.text == "data: 1\n\n"


@pytest.mark.integration
def test_a_call_whose_answer_is_a_bomb_ends_and_the_next_one_is_answered(tmp_path: Path):
    bomb = Bomb("tools/call")
    with peer(bomb) as fake, inside(tmp_path, {"air": {"url": f"{fake.url}/mcp"}}) as office:
        until(lambda: office.names() == {"air__work"})
        refused = office.call("air__work")
        assert refused.is_error
        assert "air gave an answer that is too long: it has more than" in text_of(refused)
        bomb.methods = ()
        assert text_of(office.call("air__work")) == "done"


@pytest.mark.integration
def test_a_list_that_is_a_bomb_leaves_the_server_unavailable(tmp_path: Path):
    with (
        peer(Bomb("tools/list")) as fake,
        inside(tmp_path, {"air": {"url": f"{fake.url}/mcp"}}) as office,
    ):
        until(lambda: "WARNING air: unavailable: " in office.stderr)
        assert office.names() == set()
