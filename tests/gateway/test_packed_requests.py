"""Requests whose bodies are packed: gzip is searched, within bounds, and the rest goes on."""

import gzip
import json
from collections.abc import Iterator

import httpx2
import pytest

from tests.client.upstream import Exchange, Peer, peer
from tests.gateway.proxies import proxy
from tests.support import Process
from toolscout.gateway.bodies import Gunzip

CHAT = "/v1/chat/completions"
TOOLS = [{"type": "function", "function": {"name": f"tool_{number}"}} for number in range(30)]
QUESTION = {"messages": [{"role": "user", "content": "write to somebody"}], "tools": TOOLS}
WHOLE = gzip.compress(json.dumps(QUESTION).encode())
SAID = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "done"}}]}


def answer(exchange: Exchange) -> None:
    body = json.dumps(SAID).encode()
    exchange.answer(body, headers=[("Content-Type", "application/json")])


@pytest.fixture(scope="module")
def upstream() -> Iterator[Peer]:
    with peer(answer) as started:
        yield started


@pytest.fixture(scope="module")
def running(upstream: Peer) -> Iterator[Process]:
    with (
        peer(lambda exchange: exchange.select("tool_7")) as service,
        proxy(upstream.url, selector=service.url) as started,
    ):
        yield started


def post(running: Process, content: bytes, encoding: str) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": encoding}
    response = httpx2.post(running.url + CHAT, content=content, headers=headers)
    assert response.json() == SAID


def test_a_request_in_gzip_is_searched(running: Process, upstream: Peer):
    post(running, WHOLE, "GZip")
    sent = upstream.requests[-1]
    assert "content-encoding" not in sent.headers
    names = [tool["function"]["name"] for tool in sent.json["tools"]]
    assert "tool_7" in names
    assert len(names) < len(TOOLS)


UNSEARCHED = {
    "another encoding": ("br", b"\x0b\x02\x80plain\x03", "encoded as 'br', not as gzip"),
    "not as it says": ("gzip", b"plain", "not in gzip"),
    "cut off": ("gzip", WHOLE[:-9], "not in gzip"),
    "more after the end": ("gzip", WHOLE + b"x", "not in gzip"),
    "much more after the end": ("gzip", WHOLE + bytes(3_000_000), "not in gzip"),
    "a bomb": ("gzip", gzip.compress(bytes(70 * 1024 * 1024)), "too large"),
}


@pytest.mark.parametrize(("encoding", "content", "why"), UNSEARCHED.values(), ids=UNSEARCHED)
def test_what_cannot_be_unpacked_goes_on_as_it_came_with_a_line_in_the_log(
    running: Process, upstream: Peer, encoding: str, content: bytes, why: str
):
    post(running, content, encoding)
    sent = upstream.requests[-1]
    assert sent.headers["content-encoding"] == encoding
    assert sent.body == content
    assert f"{CHAT}: passed on unsearched: {why}" in running.stdout + running.stderr


def test_a_signed_request_goes_on_as_it_came_with_a_line_in_the_log(
    running: Process, upstream: Peer
):
    headers = {"Authorization": "AWS4-HMAC-SHA256 Credential=x/y, Signature=z"}
    url = f"{running.url}/model/claude/converse"
    httpx2.post(url, json=QUESTION, headers=headers)
    assert upstream.requests[-1].json == QUESTION
    assert "/converse: passed on unsearched: signed by AWS" in running.stdout + running.stderr


def test_a_bomb_is_never_unpacked_whole():
    parts = Gunzip().unpack(gzip.compress(bytes(1 << 26)))
    assert max(map(len, parts)) <= 1 << 16
