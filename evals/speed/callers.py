"""What asking costs the caller beside a plain call, and the proxy beside a relay: processor time.

The model's API here answers at once, and every question is new. The relay is the least that a proxy
can be: uvicorn and httpx2, and nothing read.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import islice
from statistics import fmean
from typing import Any

import httpx2

from evals.programs import free_port
from evals.speed import servers, traffic
from evals.speed.floor import read_body
from evals.speed.plan import Plan
from evals.speed.questions import Questions
from evals.speed.report import Row
from toolscout.client import Selector
from toolscout.discovery import Transport

CALLS, WARM = 200, 40
CHUNKS = 200
PATH = "/v1/chat/completions"
HEADERS = {"content-type": "application/json"}

_EARLIER = [
    {"role": "user", "content": "First of all, have a look at what we did last week"},
    {"role": "assistant", "content": "I have looked at it, and there is nothing to add."},
]
_MESSAGE = {"role": "assistant", "content": "All done."}
_ANSWER = {"id": "c", "choices": [{"index": 0, "message": _MESSAGE, "finish_reason": "stop"}]}
_PIECE = {"id": "c", "choices": [{"index": 0, "delta": {"content": "so "}, "finish_reason": None}]}


async def model(_scope: dict[str, Any], receive: Callable[..., Any], send: Any) -> None:
    """Answer a chat completion, as a stream where that is asked for."""
    content = await read_body(receive)
    streams = b'"stream":true' in content
    kind = b"text/event-stream" if streams else b"application/json"
    head = {"status": 200, "headers": [(b"content-type", kind)]}
    await send({"type": "http.response.start", **head})
    for _ in range(CHUNKS if streams else 0):
        piece = b"data: " + json.dumps(_PIECE).encode() + b"\n\n"
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    last = b"data: [DONE]\n\n" if streams else json.dumps(_ANSWER).encode()
    await send({"type": "http.response.body", "body": last})


@cache
def _client() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(timeout=None)


async def relay(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Send a request on, to the address in the first part of its path, and its answer back."""
    _, port, path = scope["path"].split("/", 2)
    content = await read_body(receive)
    url = f"http://127.0.0.1:{port}/{path}"
    async with _client().stream("POST", url, content=content, headers=HEADERS) as answer:
        kind = answer.headers["content-type"].encode()
        head = {"status": answer.status_code, "headers": [(b"content-type", kind)]}
        await send({"type": "http.response.start", **head})
        async for piece in answer.aiter_raw():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def measure(plan: Plan) -> Iterator[Row]:
    """Yield what each way of asking costs."""
    questions = Questions(plan.sentences, 15)
    tools = [*map(_as_function, traffic.load(plan.folder, 300))]

    def bodies(count: int, earlier: int = 0, streams: bool = False) -> list[bytes]:
        before, offered = _EARLIER * (earlier // 2), tools[:count]
        asked = [{"role": "user", "content": q} for q in islice(questions, WARM + CALLS)]
        sent = [
            {"model": "m", "messages": [*before, one], "tools": offered, "stream": streams}
            for one in asked
        ]
        return [json.dumps(each, separators=(",", ":")).encode() for each in sent]

    with servers.toolscout() as service, servers.application(f"{__name__}:model") as api:
        selector_url, url = f"http://127.0.0.1:{service.port}", f"http://127.0.0.1:{api.port}{PATH}"
        with httpx2.Client(timeout=None) as plain:
            yield _of_caller("a plain call, 300 tools", plain, url, bodies(300))
        for count, earlier in ((30, 0), (300, 0), (300, 40)):
            with httpx2.Client(transport=Transport(selector_url), timeout=None) as client:
                name = f"through the transport, {count} tools, {earlier} messages before"
                yield _of_caller(name, client, url, bodies(count, earlier))
        with Selector(selector_url) as selector:
            spent = [_spent(partial(selector.select, q, tools)) for q in islice(questions, CALLS)]
            yield Row("`Selector.select`, 300 known tools", cpu=fmean(spent[WARM:]))
        upstream, port = f"http://127.0.0.1:{api.port}/v1", free_port()
        proxy = ["toolscout", "proxy", "--upstream", upstream, "--selector", selector_url]
        command = [sys.executable, "-m", *proxy, "--port", str(port)]
        with (
            servers.listening(command, port) as ours,
            servers.application(f"{__name__}:relay") as bare,
        ):
            through = f"http://127.0.0.1:{bare.port}/{api.port}{PATH}"
            at_ours = f"http://127.0.0.1:{ours.port}{PATH}"
            for name, earlier in (("300 tools", 0), ("300 tools, 40 messages before", 40)):
                floor = _of_server(bare, through, bodies(300, earlier))
                cost = _of_server(ours, at_ours, bodies(300, earlier))
                yield Row(f"the proxy, {name}", cpu=cost, note=f"{cost / floor:.2f} × the relay's")
            for name, server, where in (("relay", bare, through), ("proxy", ours, at_ours)):
                streamed = _of_server(server, where, bodies(300, streams=True))
                whole = _of_server(server, where, bodies(300))
                each = (streamed - whole) / CHUNKS * 1_000
                yield Row(f"a chunk of a stream through the {name}", note=f"{each:.0f} µs of CPU")


def _as_function(tool: dict[str, Any]) -> dict[str, Any]:
    about = {"name": tool["name"], "description": tool["description"]}
    return {"type": "function", "function": {**about, "parameters": tool["definition"]}}


def _of_caller(name: str, client: httpx2.Client, url: str, bodies: list[bytes]) -> Row:
    left = iter(bodies)

    def post() -> None:
        client.post(url, content=next(left), headers=HEADERS).raise_for_status()

    return Row(name, cpu=fmean([_spent(post) for _ in bodies][WARM:]))


def _of_server(server: servers.Running, url: str, bodies: list[bytes]) -> float:
    """Return the milliseconds of processor time that a server spends on each request."""
    with httpx2.Client(timeout=None) as client:
        for number, body in enumerate(bodies):
            if number == WARM:
                before = server.cpu_s()
            client.post(url, content=body, headers=HEADERS).raise_for_status()
    return (server.cpu_s() - before) / CALLS * 1_000


def _spent(work: Callable[[], object]) -> float:
    """Return milliseconds of processor time, of all threads."""
    before = time.process_time()
    work()
    return (time.process_time() - before) * 1_000
