"""Streams: everything flows at once but the search, and the SDKs read one clean turn."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.turns.bedrock_streaming import frame
from tests.turns.flows import DONE, PHANTOM, search
from tests.turns.shapes import BY_NAME, SHAPES, Json, Said, Shape, tools_of
from tests.turns.streaming import (
    EVENTS,
    READING,
    StreamingModel,
    fed,
    openai_events,
    read,
    read_until,
)
from toolscout.client.events import TurnEvent
from toolscout.discovery import DiscoveryConfig, ToolDiscovery
from toolscout.turns.providers import PROVIDERS
from toolscout.turns.providers.stream import Splitter, StreamEvent, write

STREAMED = [shape for shape in SHAPES if PROVIDERS[shape.name].stream]


@pytest.fixture(params=STREAMED, ids=lambda shape: shape.name)
def shape(request: pytest.FixtureRequest) -> Shape:
    return request.param


def asked(shape: Shape) -> Json:
    return shape.request("please help", tools_of(shape), stream=True)


@pytest.fixture
def request_(shape: Shape) -> Json:
    return asked(shape)


def test_a_turn_without_a_search_goes_through_as_it_is(run, shape, request_):
    model = StreamingModel(shape, DONE)
    out = b"".join(run(request_, model, shape.name))
    assert out == b"".join(EVENTS[shape.name](DONE))
    assert model.seen(0) == [PHANTOM]


def test_a_search_is_never_seen_and_the_turns_become_one(run, shape, request_):
    model = StreamingModel(shape, search("read", text="Let me look. "), READING)
    out = b"".join(run(request_, model, shape.name))
    assert PHANTOM.encode() not in out
    assert read(shape, out) == Said("Let me look. Reading.", READING.calls)
    assert model.seen(1) == [PHANTOM, "call_tool", "read_file"]


def test_text_flows_before_the_turn_is_over(shape, request_):
    events = EVENTS[shape.name](Said("abc"))
    first = next(n for n, event in enumerate(events) if b': "a"' in event)
    assert read_until(shape, request_, events, events[first]) == first + 1


def test_a_mixed_turn_keeps_its_real_calls_alone(run, shape, request_):
    both = Said("Both.", (*search("email").calls, *READING.calls, *search("x", "call_3").calls))
    model = StreamingModel(shape, both)
    out = b"".join(run(request_, model, shape.name))
    assert read(shape, out) == Said("Both.", READING.calls)
    assert len(model.requests) == 1


def test_what_fails_at_once_is_raised(run, shape, request_):
    with pytest.raises(RuntimeError, match="overloaded"):
        run(request_, StreamingModel(shape, RuntimeError("overloaded")), shape.name)


THOUGHT = {
    "anthropic": lambda sent: (
        sent["messages"][-2]["content"][0]
        == {"type": "thinking", "thinking": "thought 0", "signature": "signed 0"}
    ),
    "bedrock": lambda sent: (
        sent["messages"][-2]["content"][0]["reasoningContent"]
        == {"reasoningText": {"text": "thought 0", "signature": "signed 0"}}
    ),
    "openai-responses": lambda sent: sent["input"][1]["summary"][0]["text"] == "thought 0",
}
"""Whether a request has what the model thought before its search."""


@pytest.mark.parametrize("name", THOUGHT)
def test_the_thought_before_a_search_goes_back_to_the_model(run, name):
    model = StreamingModel(BY_NAME[name], search("read"), READING)
    out = b"".join(run(asked(BY_NAME[name]), model, name))
    assert out.index(b"thought 0") < out.index(b"thought 1")
    assert THOUGHT[name](model.requests[1])


FAULT = b'"code":"x","message":"overloaded"'
FAILED = (
    b'event: response.failed\ndata: {"type":"response.failed","sequence_number":9,"response":'
    b'{"id":"resp_0","status":"failed","error":{%s}}}\n\n' % FAULT
)
ERRORS = [
    ("openai-responses", b'event: error\ndata: {"type":"error",%s}\n\n' % FAULT),
    ("openai-responses", FAILED),
    ("anthropic", b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n'),
    ("bedrock", frame("throttlingException", {"message": "overloaded"}, "exception")),
    ("gemini", b'data: {"error": {"code": 503, "message": "overloaded"}}\n\n'),
]


@pytest.mark.parametrize(("name", "error"), ERRORS)
def test_an_error_after_a_search_ends_the_turn(run, name, error):
    sent: list[Json] = []
    unended = {"gemini": 0, "openai-responses": -1}.get(name, -2)
    begun = [e.replace(b', "finishReason": "STOP"', b"") for e in EVENTS[name](search("read"))]

    def model(body: Json) -> Iterator[bytes]:
        sent.append(body)
        yield from [*begun[: unended or None], error]

    out = b"".join(run(asked(BY_NAME[name]), model, name))
    assert len(sent) == 1
    assert b"overloaded" in out[-len(error) :]
    assert PHANTOM.encode() not in out


BLOCKS: dict[str, list[Json]] = {
    "thinking_blocks": [
        {"type": "thinking", "thinking": "first "},
        {"type": "thinking", "thinking": "thought"},
        {"type": "thinking", "thinking": "", "signature": "signed"},
        {"type": "redacted_thinking", "data": "hidden"},
        {"type": "thinking", "thinking": "second thought", "signature": "signed too"},
    ],
    "reasoning_details": [
        {"type": "reasoning.text", "text": "first ", "index": 0, "format": "anthropic-claude-v1"},
        {"type": "reasoning.text", "text": "thought", "index": 0},
        {"type": "reasoning.text", "signature": "signed", "index": 0},
        {"type": "reasoning.encrypted", "data": "hidden", "index": 1},
        {"type": "reasoning.encrypted", "data": "hidden too", "index": 1},
        {"type": "reasoning.summary", "summary": "another", "index": 2},
    ],
}
"""Thoughts in pieces, as LiteLLM and OpenRouter stream them."""

WHOLE: dict[str, list[Json]] = {
    "thinking_blocks": [
        {"type": "thinking", "thinking": "first thought", "signature": "signed"},
        *BLOCKS["thinking_blocks"][3:],
    ],
    "reasoning_details": [
        BLOCKS["reasoning_details"][0] | {"text": "first thought", "signature": "signed"},
        *BLOCKS["reasoning_details"][3:],
    ],
}


@pytest.mark.parametrize("field", BLOCKS)
def test_blocks_of_thoughts_in_openai_chunks_go_back_to_the_model_whole(run, field):
    shape = BY_NAME["openai"]
    sent: list[Json] = []

    def model(request: Json) -> Iterator[bytes]:
        sent.append(request)
        for piece in BLOCKS[field]:
            yield write({"id": "c", "choices": [{"index": 0, "delta": {field: [piece]}}]})
        yield from openai_events(search("read") if len(sent) == 1 else DONE)

    run(asked(shape), model, "openai")
    assert sent[1]["messages"][-2][field] == WHOLE[field]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize("streams", [True, False], ids=["stream", "plain"])
def test_reasoning_of_a_search_goes_back_to_the_model(run, field, streams):
    shape = BY_NAME["openai"]
    sent: list[Json] = []

    def stream(request: Json) -> Iterator[bytes]:
        sent.append(request)
        for piece in ("I need ", "a tool."):
            yield write({"id": "c", "choices": [{"index": 0, "delta": {field: piece}}]})
        yield from openai_events(search("read") if len(sent) == 1 else DONE)

    def plain(request: Json) -> Json:
        sent.append(request)
        response = shape.response(search("read") if len(sent) == 1 else DONE)
        response["choices"][0]["message"][field] = "I need a tool."
        return response

    if streams:
        out = b"".join(run(asked(shape), stream, "openai"))
        assert b"a tool." in out
    else:
        config = DiscoveryConfig(enabled=True, strategy="tool-search")
        ToolDiscovery(config).complete(asked(shape), plain)
    assert sent[1]["messages"][-2][field] == "I need a tool."
    assert sent[1]["messages"][-2]["tool_calls"][0]["function"]["name"] == PHANTOM


def test_a_usage_that_comes_before_the_end_waits_for_it(run):
    shape = BY_NAME["openai"]

    def model(request: Json) -> Iterator[bytes]:
        said = search("read") if len(shape.names(request)) == 1 else READING
        *start, finish, usage, done = EVENTS["openai"](said)
        with_choice = usage.replace(b'"choices": []', b'"choices": [{"index": 0, "delta": {}}]')
        yield from [*start, with_choice, finish, done]

    out = b"".join(run(asked(shape), model, "openai"))
    assert read(shape, out) == READING


MIXED = Said("Both.", (*search("email").calls, *READING.calls))
FIRST = [search("read", text="Let me look. "), MIXED, search("read"), DONE]


@pytest.mark.parametrize("name", EVENTS)
@given(piece=st.integers(1, 400), first=st.sampled_from(FIRST))
def test_the_client_gets_the_same_bytes_however_they_come(name: Any, piece: int, first: Said):
    turns = [EVENTS[name](said, number) for number, said in enumerate((first, READING))]
    opened: Any = PROVIDERS[name].stream
    assert fed(opened(PHANTOM), turns, piece) == fed(opened(PHANTOM), turns, 1_000_000)


@given(st.integers(1, 200), st.sampled_from([b"\n\n", b"\r\n\r\n", b"\r\r"]))
def test_events_are_whole_however_their_bytes_come(piece: int, end: bytes):
    raw = [b'data: {"n": %d}' % n + end for n in range(20)]
    whole = b"".join(raw)
    splitter, events = Splitter(), list[StreamEvent]()
    for start in range(0, len(whole), piece):
        events += map(splitter.read, splitter.cut(whole[start : start + piece]))
    assert [event.raw for event in events] == raw
    assert [event.data for event in events] == [{"n": n} for n in range(20)]


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
