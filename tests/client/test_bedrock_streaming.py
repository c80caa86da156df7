"""Streams of Bedrock Converse: frames of bytes, of which a search leaves no trace."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.client.bedrock_streaming import bedrock_events, frame, unframed
from tests.client.shapes import ABOUT, SHAPES, Json, Said
from tests.client.streaming import DONE, PHANTOM, READING, StreamingModel, fed, search
from toolscout.discovery.providers.bedrock.converse import BedrockStream
from toolscout.discovery.providers.bedrock.framing import Splitter, write

SHAPE = next(shape for shape in SHAPES if shape.name == "bedrock")
LOOK = search("read", text="Let me look. ")
MIXED = Said("Both.", (*search("email").calls, *READING.calls))

EMPTY = bytes.fromhex("00000010 00000000 05c248eb 7d98c8ff")
NUMBERED = b"\0\0\0-\0\0\0\x10A\xc4$\xb8\nevent-type\4\0\0\xa0\x0c{'foo':'bar'}6\xf4\x80\xa0"
"""Two events of AWS's own test suite, the second with a header that is a number."""


@pytest.fixture
def request_() -> Json:
    return SHAPE.request("please help", [SHAPE.tool(name, about) for name, about in ABOUT.items()])


def test_events_of_aws_are_read():
    empty, numbered = Splitter().feed(EMPTY + NUMBERED)
    assert (empty.raw, empty.headers) == (EMPTY, b"")
    assert numbered.raw == NUMBERED
    assert numbered.headers == b"\nevent-type\4\0\0\xa0\x0c"


def test_what_is_written_is_what_came():
    (event,) = Splitter().feed(frame("messageStart", {"role": "assistant"}))
    assert event.kind == "messageStart"
    assert unframed(write(event.headers, {"role": "x"}))[0][1] == {"role": "x"}


def test_the_usage_is_that_of_all_forwards(run, request_):
    model = StreamingModel(SHAPE, search("read"), READING)
    out = b"".join(run(request_, model, SHAPE.name))
    _, last = unframed(out)[-1]
    assert last["usage"] == {"inputTokens": 2, "outputTokens": 2, "totalTokens": 4}


def test_reasoning_of_a_search_stays_with_the_model(run, request_):
    model = StreamingModel(SHAPE, search("read"), READING)
    out = b"".join(run(request_, model, SHAPE.name))
    assert b"thought 0" not in out
    assert b"thought 1" in out
    thought, called = model.requests[1]["messages"][-2]["content"]
    whole = {"text": "thought 0", "signature": "signed 0"}
    assert thought == {"reasoningContent": {"reasoningText": whole}}
    assert called["toolUse"]["input"] == {"query": "read"}


def test_an_exception_reaches_the_client_and_nothing_is_searched(run, request_):
    error = frame("throttlingException", {"message": "slow down"}, "exception")
    sent: list[Json] = []

    def model(body: Json) -> Iterator[bytes]:
        sent.append(body)
        yield from [*bedrock_events(search("read"))[:-2], error]

    out = b"".join(run(request_, model, SHAPE.name))
    assert len(sent) == 1
    assert out.endswith(error)
    assert PHANTOM.encode() not in out


@given(st.binary(min_size=12, max_size=200))
def test_bytes_that_are_no_events_are_passed_on(content: bytes):
    stream = BedrockStream(PHANTOM)
    first, *_ = bedrock_events(DONE)
    damaged = first[:9] + bytes([first[9] ^ 1]) + first[10:]
    assert stream.feed(damaged + content) == damaged + content


@given(st.integers(1, 400), st.sampled_from([LOOK, MIXED, search("read"), DONE]))
def test_the_client_gets_the_same_bytes_however_they_come(piece: int, first: Said):
    turns = [bedrock_events(said, number) for number, said in enumerate((first, READING))]
    assert fed(BedrockStream(PHANTOM), turns, piece) == fed(
        BedrockStream(PHANTOM), turns, 1_000_000
    )


def test_a_request_for_a_stream_of_invoke_model_is_passed_on_as_it_came(run):
    shape = next(shape for shape in SHAPES if shape.name == "bedrock-anthropic")
    body = shape.request("please help", [shape.tool(name, about) for name, about in ABOUT.items()])
    sent: list[Json] = []

    def model(request: Json) -> Iterator[bytes]:
        sent.append(request)
        yield b"anything"

    assert b"".join(run(body, model, shape.name)) == b"anything"
    assert sent == [body]
