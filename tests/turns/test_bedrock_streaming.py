"""Streams of Bedrock Converse: frames of bytes, of which a search leaves no trace."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from tests.turns.bedrock_streaming import bedrock_events, frame, unframed
from tests.turns.shapes import ABOUT, BY_NAME, Json
from tests.turns.streaming import DONE, PHANTOM
from toolscout.discovery.providers.bedrock import BedrockStream, FrameSplitter, write_frame

EMPTY = bytes.fromhex("00000010 00000000 05c248eb 7d98c8ff")
NUMBERED = b"\0\0\0-\0\0\0\x10A\xc4$\xb8\nevent-type\4\0\0\xa0\x0c{'foo':'bar'}6\xf4\x80\xa0"
"""Two events of AWS's own test suite, the second with a header that is a number."""


def test_events_of_aws_are_read():
    empty, numbered = FrameSplitter().feed(EMPTY + NUMBERED)
    assert (empty.raw, empty.headers) == (EMPTY, b"")
    assert numbered.raw == NUMBERED
    assert numbered.headers == b"\nevent-type\4\0\0\xa0\x0c"


def test_what_is_written_is_what_came():
    (event,) = FrameSplitter().feed(frame("messageStart", {"role": "assistant"}))
    assert event.kind == "messageStart"
    assert unframed(write_frame(event.headers, {"role": "x"}))[0][1] == {"role": "x"}


@given(st.binary(min_size=12, max_size=200))
def test_bytes_that_are_no_events_are_passed_on(content: bytes):
    stream = BedrockStream(PHANTOM)
    first, *_ = bedrock_events(DONE)
    damaged = first[:9] + bytes([first[9] ^ 1]) + first[10:]
    assert stream.feed(damaged + content) == damaged + content


def test_a_request_for_a_stream_of_invoke_model_is_passed_on_as_it_came(run):
    shape = BY_NAME["bedrock-anthropic"]
    body = shape.request("please help", [shape.tool(name, about) for name, about in ABOUT.items()])
    sent: list[Json] = []

    def model(request: Json) -> Iterator[bytes]:
        sent.append(request)
        yield b"anything"

    assert b"".join(run(body, model, shape.name)) == b"anything"
    assert sent == [body]
