"""Streams: everything flows at once but the search, and the SDKs read one clean turn."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.client.shapes import ABOUT, SHAPES, Json, Said, Shape
from tests.client.streaming import EVENTS, StreamingModel, anthropic_events, openai_events, read
from tests.client.upstream import Exchange, peer
from toolscout.client import AsyncToolDiscovery, DiscoveryConfig, ToolDiscovery
from toolscout.client.discovery.config import ApiConfig
from toolscout.client.observe.events import TurnEvent
from toolscout.client.providers import PROVIDERS, ProviderName
from toolscout.client.providers.sse import Splitter, write

PHANTOM = "gateway_search_tools"
DONE = Said("All done.")
READING = Said("Reading.", (("call_2", "read_file", {"path": "/etc/hosts"}),))
STREAMED = [shape for shape in SHAPES if PROVIDERS[shape.name].stream]

Run = Callable[..., list[bytes]]


def search(query: str, id_: str = "call_1", text: str = "") -> Said:
    return Said(text, ((id_, PHANTOM, {"query": query}),))


@pytest.fixture(params=STREAMED, ids=lambda shape: shape.name)
def shape(request: pytest.FixtureRequest) -> Shape:
    return request.param


@pytest.fixture
def request_(shape: Shape) -> Json:
    tools = [shape.tool(name, about) for name, about in ABOUT.items()]
    return shape.request("please help", tools, stream=True)


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """Streams a request through a discovery; the pieces the client gets."""

    def script(exchange: Exchange) -> None:
        words = exchange.json["pattern"].split()
        names = [tool["name"] for tool in exchange.json["tools"]]
        exchange.select(*[name for name in names if any(word in name for word in words)])

    with peer(script) as service:

        def stream(
            body: Json, model: Any, provider: ProviderName, strategy: str = "api"
        ) -> list[bytes]:
            api = ApiConfig(service.url, timeout=5)
            config = DiscoveryConfig(enabled=True, strategy=strategy, api=api)
            if request.param == "sync":
                discovery = ToolDiscovery(config)
                try:
                    return list(discovery.stream(body, model, provider))
                finally:
                    discovery.close()

            async def pieces(body: Json) -> AsyncIterator[bytes]:
                for piece in model(body):
                    yield piece

            async def collect() -> list[bytes]:
                discovery = AsyncToolDiscovery(config)
                try:
                    return [piece async for piece in discovery.stream(body, pieces, provider)]
                finally:
                    await discovery.aclose()

            return asyncio.run(collect())

        yield stream


def test_a_turn_without_a_search_goes_through_as_it_is(run, shape, request_):
    model = StreamingModel(shape, DONE)
    out = b"".join(run(request_, model, shape.name))
    assert out == b"".join(EVENTS[shape.name](DONE))
    assert model.seen(0) == [PHANTOM]


def test_a_search_is_never_seen_and_the_found_tool_is_called(run, shape, request_):
    model = StreamingModel(shape, search("read"), READING)
    out = b"".join(run(request_, model, shape.name))
    assert PHANTOM.encode() not in out
    assert read(shape, out) == READING
    assert model.seen(1) == [PHANTOM, "read_file"]
    assert "read_file" in shape.results(model.requests[1])["call_1"]
    assert model.requests[1]["stream"] is True


def test_text_before_a_search_flows_and_the_turns_become_one(run, shape, request_):
    model = StreamingModel(shape, search("read", text="Let me look. "), READING)
    out = b"".join(run(request_, model, shape.name))
    assert read(shape, out) == Said("Let me look. Reading.", READING.calls)


def test_text_flows_before_the_turn_is_over(shape, request_):
    events = EVENTS[shape.name](Said("abc"))
    first = next(n for n, event in enumerate(events) if b': "a"' in event)
    sent: list[bytes] = []

    def model(_: Json) -> Iterator[bytes]:
        for event in events:
            sent.append(event)
            yield event

    config = DiscoveryConfig(enabled=True, strategy="tool-search")
    out = ToolDiscovery(config).stream(request_, model, shape.name)
    got = b""
    while events[first] not in got:
        got += next(out)
    assert len(sent) == first + 1


def test_a_mixed_turn_keeps_its_real_calls_alone(run, shape, request_):
    both = Said("Both.", (*search("email").calls, *READING.calls, *search("x", "call_3").calls))
    model = StreamingModel(shape, both)
    out = b"".join(run(request_, model, shape.name))
    assert read(shape, out) == Said("Both.", READING.calls)
    assert len(model.requests) == 1


def test_after_five_searches_every_tool_is_there(run, shape, request_):
    model = StreamingModel(shape, search("read"))
    out = b"".join(run(request_, model, shape.name))
    assert len(model.requests) == 6
    assert model.seen(5) == list(ABOUT)
    assert read(shape, out) == Said()


def test_what_fails_after_a_search_is_tried_as_it_came(run, shape, request_):
    model = StreamingModel(shape, search("read"), RuntimeError("too long"), DONE)
    out = b"".join(run(request_, model, shape.name))
    assert model.requests[2] == request_
    assert read(shape, out) == DONE


def test_no_search_is_answered_once_the_request_went_out_as_it_came(run, shape, request_):
    model = StreamingModel(shape, search("read"), RuntimeError("too long"), search("read"))
    run(request_, model, shape.name)
    assert len(model.requests) == 3


def test_what_fails_at_once_is_raised(run, shape, request_):
    with pytest.raises(RuntimeError, match="overloaded"):
        run(request_, StreamingModel(shape, RuntimeError("overloaded")), shape.name)


def test_passthrough_touches_no_byte(run, shape, request_):
    model = StreamingModel(shape, search("read"), piece=7)
    pieces = run(request_, model, shape.name, "passthrough")
    assert b"".join(pieces) == b"".join(EVENTS[shape.name](search("read")))
    assert model.requests == [request_]


def test_streams_that_are_not_understood_are_left_alone(run):
    gemini = next(shape for shape in SHAPES if shape.name == "gemini")
    tools = [gemini.tool(name, about) for name, about in ABOUT.items()]
    body = gemini.request("please help", tools)
    sent: list[Json] = []

    def model(request: Json) -> Iterator[bytes]:
        sent.append(request)
        yield b"anything"

    assert run(body, model, "gemini") == [b"anything"]
    assert sent == [body]


def test_thinking_of_a_search_stays_with_the_model(run):
    shape = next(shape for shape in STREAMED if shape.name == "anthropic")
    tools = [shape.tool(name, about) for name, about in ABOUT.items()]
    model = StreamingModel(shape, search("read"), READING)
    out = b"".join(run(shape.request("please help", tools, stream=True), model, "anthropic"))
    assert b"thought 0" not in out
    assert b"thought 1" in out
    told = model.requests[1]["messages"][-2]["content"][0]
    assert told == {"type": "thinking", "thinking": "thought 0", "signature": "signed 0"}


def test_thinking_blocks_in_openai_chunks_go_back_to_the_model_whole(run):
    shape = next(shape for shape in STREAMED if shape.name == "openai")
    tools = [shape.tool(name, about) for name, about in ABOUT.items()]
    pieces = [
        {"type": "thinking", "thinking": "first "},
        {"type": "thinking", "thinking": "thought"},
        {"type": "thinking", "thinking": "", "signature": "signed"},
        {"type": "redacted_thinking", "data": "hidden"},
        {"type": "thinking", "thinking": "second thought", "signature": "signed too"},
    ]
    sent: list[Json] = []

    def model(request: Json) -> Iterator[bytes]:
        sent.append(request)
        for piece in pieces:
            delta = {"thinking_blocks": [piece]}
            yield write({"id": "c", "choices": [{"index": 0, "delta": delta}]})
        yield from openai_events(search("read") if len(sent) == 1 else DONE)

    run(shape.request("please help", tools, stream=True), model, "openai")
    assert sent[1]["messages"][-2]["thinking_blocks"] == [
        {"type": "thinking", "thinking": "first thought", "signature": "signed"},
        *pieces[3:],
    ]


def test_a_usage_that_comes_before_the_end_waits_for_it(run):
    shape = next(shape for shape in STREAMED if shape.name == "openai")
    tools = [shape.tool(name, about) for name, about in ABOUT.items()]

    def model(request: Json) -> Iterator[bytes]:
        said = search("read") if len(shape.names(request)) == 1 else READING
        *start, finish, usage, done = EVENTS["openai"](said)
        with_choice = usage.replace(b'"choices": []', b'"choices": [{"index": 0, "delta": {}}]')
        yield from [*start, with_choice, finish, done]

    out = b"".join(run(shape.request("please help", tools, stream=True), model, "openai"))
    assert read(shape, out) == READING


def test_an_error_in_a_stream_reaches_the_client(run):
    shape = next(shape for shape in STREAMED if shape.name == "anthropic")
    tools = [shape.tool(name, about) for name, about in ABOUT.items()]
    error = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n'

    def model(_: Json) -> Iterator[bytes]:
        yield from anthropic_events(DONE)[:4]
        yield error

    assert run(shape.request("x", tools, stream=True), model, "anthropic")[-1].endswith(error)


@given(st.integers(1, 200), st.sampled_from([b"\n\n", b"\r\n\r\n", b"\r\r"]))
def test_events_are_whole_however_their_bytes_come(piece: int, end: bytes):
    raw = [b'data: {"n": %d}' % n + end for n in range(20)]
    whole = b"".join(raw)
    splitter = Splitter()
    events = []
    for start in range(0, len(whole), piece):
        events += splitter.feed(whole[start : start + piece])
    assert [event.raw for event in events] == raw
    assert [event.data for event in events] == [{"n": n} for n in range(20)]


def piece(
    name: str | None = None, given: str = "", id_: str | None = None, index: int | None = 0
) -> Json:
    """A piece of a call, as models other than OpenAI's own write them."""
    function: Json = {"arguments": given} if name is None else {"name": name, "arguments": given}
    call: Json = {"function": function}
    if id_ is not None:
        call |= {"id": id_, "type": "function"}
    return call if index is None else {**call, "index": index}


QUERY = '{"query": "read"}'
ODD = {
    "a name in two pieces": [[piece("gateway_", id_="c1")], [piece("search_tools", QUERY)]],
    "the name again in every piece": [
        [piece(PHANTOM, QUERY[:5], "c1")],
        [piece(PHANTOM, QUERY[5:], "c1")],
    ],
    "no index": [[piece(PHANTOM, QUERY, "c1", None)], [piece(PHANTOM, QUERY, "c2", None)]],
    "the same index for two calls": [[piece(PHANTOM, QUERY, "c1"), piece(PHANTOM, QUERY, "c2")]],
}


def events(*deltas: list[Json]) -> bytes:
    chunks: list[Json] = [
        {"id": "r", "choices": [{"index": 0, "delta": {"tool_calls": calls}}]} for calls in deltas
    ]
    chunks.append(
        {"id": "r", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    )
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    chunks.append({"id": "r", "choices": [], "usage": usage})
    lines = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]
    return b"".join(lines) + b"data: [DONE]\n\n"


class Odd:
    """A model that first writes these events, then is done."""

    def __init__(self, first: bytes) -> None:
        self.answers = [first, b"".join(EVENTS["openai"](DONE, 1))]
        self.requests: list[Json] = []

    def __call__(self, request: Json) -> Iterator[bytes]:
        self.requests.append(request)
        yield self.answers[min(len(self.requests), 2) - 1]


@pytest.mark.parametrize("odd", ODD)
def test_a_search_is_never_seen_however_a_model_counts_and_names_its_calls(run, odd):
    shape = SHAPES[0]
    tools = [shape.tool(name, about) for name, about in ABOUT.items()]
    model = Odd(events(*ODD[odd]))
    out = b"".join(run(shape.request("please help", tools, stream=True), model, "openai"))
    assert len(model.requests) == 2
    assert shape.names(model.requests[1])[:2] == [PHANTOM, "read_file"]
    assert b"search_tools" not in out
    assert b"gateway" not in out


@pytest.mark.parametrize("order", [1, -1])
def test_a_real_call_beside_a_search_of_the_same_index_reaches_the_client(run, order):
    shape = SHAPES[0]
    tools = [shape.tool(name, about) for name, about in ABOUT.items()]
    calls = [[piece(PHANTOM, QUERY, "c1")], [piece("read_file", "{}", "c2")]][::order]
    out = run(shape.request("please help", tools, stream=True), Odd(events(*calls)), "openai")
    assert read(shape, b"".join(out)).calls == (("c2", "read_file", {}),)


@pytest.mark.parametrize("name", ["gateway", "g", PHANTOM[:-1]])
def test_a_name_that_begins_like_the_search_is_only_held_back_for_a_while(run, name):
    shape = SHAPES[0]
    tools = [shape.tool(name, "about") for name in (name, *ABOUT)]
    request = shape.request("please help", tools, stream=True)
    for first, *rest in (["{}"], ["", "{", "}"]):
        deltas = [[piece(name, first, "c1")], *([piece(None, more)] for more in rest)]
        out = run(request, Odd(events(*deltas)), "openai")
        assert read(shape, b"".join(out)).calls == (("c1", name, {}),)
    late = b"".join(run(request, Odd(events([piece(name, "", "c1")])), "openai"))
    assert json.dumps(name).encode() in late
    assert b"tool_calls" in late.split(b"finish_reason")[-1]


def test_a_client_that_goes_away_ends_the_turn_and_the_forward(shape, request_):
    closed: list[str] = []
    events: list[TurnEvent] = []

    def forward(body: Json) -> Iterator[bytes]:
        try:
            yield from StreamingModel(shape, DONE)(body)
            yield b": still there\n\n"
        finally:
            closed.append("forward")

    config = DiscoveryConfig(enabled=True, strategy="tool-search")
    discovery = ToolDiscovery(config, turn_observers=[events.append])
    pieces = discovery.stream(request_, forward, shape.name)
    next(pieces)
    pieces.close()
    discovery.close()
    assert closed == ["forward"]
    assert [event.stage for event in events] == ["deferred", "finished"]


def test_a_client_of_asyncio_that_goes_away_ends_the_turn(shape, request_):
    events: list[TurnEvent] = []

    async def forward(body: Json) -> AsyncIterator[bytes]:
        for piece in StreamingModel(shape, DONE)(body):
            yield piece

    async def main() -> None:
        config = DiscoveryConfig(enabled=True, strategy="tool-search")
        discovery = AsyncToolDiscovery(config, turn_observers=[events.append])
        pieces = discovery.stream(request_, forward, shape.name)
        await anext(pieces)
        await pieces.aclose()
        assert [event.stage for event in events] == ["deferred", "finished"]
        await discovery.aclose()

    asyncio.run(main())


def test_a_blocking_stream_runs_inside_an_event_loop(shape, request_):
    async def main() -> bytes:
        config = DiscoveryConfig(enabled=True, strategy="tool-search")
        discovery = ToolDiscovery(config)
        model = StreamingModel(shape, search("read"), READING)
        return b"".join(discovery.stream(request_, model, shape.name))

    assert b"read_file" in asyncio.run(main())
