"""Ask a scripted model through a transport, and answer as it does."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from tests.client.upstream import Exchange, Peer, peer

JSON = {"Content-Type": "application/json"}
TOOLS = [{"type": "function", "function": {"name": f"tool_{n}"}} for n in range(30)]
QUESTION: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "content": "read a file"}],
    "tools": TOOLS,
}
SEARCH = {
    "id": "1",
    "type": "function",
    "function": {"name": "gateway_search_tools", "arguments": '{"query": "read"}'},
}

Post = Callable[..., httpx2.Response]


@pytest.fixture
def service() -> Iterator[Peer]:
    with peer(lambda exchange: exchange.select("tool_7")) as started:
        yield started


def said(text: str, calls: list[Any] | None = None) -> bytes:
    message = {"role": "assistant", "content": text, "tool_calls": calls}
    return json.dumps({"choices": [{"index": 0, "message": message}]}).encode()


def ask(post: Post, script: Callable[[Exchange], None], **fields: Any) -> httpx2.Response:
    """Ask a model that answers by a script."""
    with peer(script) as model:
        return post(f"{model.url}/chat/completions", json.dumps(QUESTION | fields).encode())


def listen() -> tuple[list[bytes], Callable[[Exchange], None]]:
    """Return what a model that only says `done` was sent, and its script."""
    sent: list[bytes] = []

    def script(exchange: Exchange) -> None:
        sent.append(exchange.body)
        exchange.answer(said("done"))

    return sent, script
