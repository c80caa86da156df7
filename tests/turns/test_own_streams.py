"""What is special to the streams of Responses, of Bedrock Converse and of Gemini."""

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.client.upstream import peer
from tests.turns.bedrock_streaming import bedrock_events, frame, unframed
from tests.turns.flows import DONE, PHANTOM, search
from tests.turns.gemini_streaming import gemini_chunks
from tests.turns.responses_streaming import responses_events
from tests.turns.shapes import BY_NAME, Json, Said, tools_of
from tests.turns.streaming import READING, StreamingModel, events_of, read
from toolscout.discovery import DiscoveryConfig, ToolDiscovery
from toolscout.turns.providers import PROVIDERS
from toolscout.turns.providers.bedrock import BedrockStream, FrameSplitter, write_frame
from toolscout.turns.providers.gemini import GeminiStream

SHAPE = BY_NAME["openai-responses"]
LOOK = search("read", text="Let me look. ")
MIXED = Said("Both.", (*search("email").calls, *READING.calls))


@pytest.fixture
def request_() -> Json:
    return SHAPE.request("please help", tools_of(SHAPE), stream=True)


def final(out: bytes) -> Json:
    return events_of(out)[-1]["response"]


def answering(*streams: list[bytes]) -> tuple[list[Json], object]:
    """Return a model that writes these streams one after the other, and what it was sent."""
    sent: list[Json] = []

    def model(body: Json) -> Iterator[bytes]:
        sent.append(body)
        yield from streams[min(len(sent), len(streams)) - 1]

    return sent, model


def test_the_response_has_the_id_that_the_next_request_must_name(run, request_):
    """A thought without a word is not shown before it is known what follows."""
    streams = [responses_events(said, n) for n, said in enumerate((search("read"), READING))]
    wordless = [each for each in streams[0] if b"reasoning_summary" not in each]
    _, model = answering(wordless, streams[1])
    out = b"".join(run(request_, model, SHAPE.name))
    ids = {event["response"]["id"] for event in events_of(out) if "response" in event}
    assert ids == {"resp_1"}


@pytest.mark.parametrize("strategy", ["api", "tool-search"])
def test_a_response_that_wrote_before_it_searched_is_resumed_after_its_search(
    run, request_, strategy
):
    model = StreamingModel(SHAPE, LOOK, READING)
    out = b"".join(run(request_, model, SHAPE.name, strategy))
    assert final(out)["id"] == "resp_0"
    for name in ("resp_0", "resp_1"):
        model = StreamingModel(SHAPE, DONE)
        run({**request_, "previous_response_id": name}, model, SHAPE.name, strategy)
        assert model.requests[0]["previous_response_id"] == "resp_1"


def test_the_end_has_every_item_that_was_shown_and_the_usage_of_all(run, request_):
    out = b"".join(run(request_, StreamingModel(SHAPE, LOOK, READING), SHAPE.name))
    kinds = [item["type"] for item in final(out)["output"]]
    assert kinds == ["reasoning", "message", "reasoning", "message", "function_call"]
    assert final(out)["usage"]["total_tokens"] == 4
    assert final(out)["usage"]["input_tokens_details"]["cached_tokens"] == 2


@pytest.mark.parametrize("first", [[], [LOOK]], ids=["at once", "after a search"])
@pytest.mark.parametrize("streams", [True, False], ids=["stream", "plain"])
def test_a_request_that_names_a_mixed_response_answers_its_search(run, request_, first, streams):
    """The API keeps the search, and refuses to go on without its result."""
    if streams:
        whole = [responses_events(said, n) for n, said in enumerate([*first, MIXED])]
        mark = b"mixed_%d_" % len(first)  # no other test has these ids
        _, wrote = answering(*([e.replace(b"resp_", mark) for e in events] for events in whole))
        name = final(b"".join(run(request_, wrote, SHAPE.name)))["id"]
    else:
        config = DiscoveryConfig(enabled=True, strategy="tool-search")
        turns = [SHAPE.response(said) | {"id": f"plain_{n}"} for n, said in enumerate(first)]
        turns.append(SHAPE.response(MIXED) | {"id": "plain_mixed"})
        name = ToolDiscovery(config).complete(request_, lambda _: turns.pop(0), SHAPE.name)["id"]
    result = {"type": "function_call_output", "call_id": "call_2", "output": "ok"}
    model = StreamingModel(SHAPE, DONE)
    run({**request_, "input": [result], "previous_response_id": name}, model, SHAPE.name)
    answered, *rest = model.requests[0]["input"]
    assert (answered["type"], answered["call_id"]) == ("function_call_output", "call_1")
    assert "send_email" in answered["output"]
    assert rest == [result]


def test_a_response_that_repeats_its_tools_does_not_show_the_search(run, request_):
    def repeating(said: Said, number: int) -> list[bytes]:
        tools = json.dumps([{"type": "function", "name": name} for name in (PHANTOM, "read_file")])
        repeated = f'"tools": {tools}'.encode()
        return [e.replace(b'"tools": []', repeated) for e in responses_events(said, number)]

    _, model = answering(repeating(search("read"), 0), repeating(READING, 1))
    out = b"".join(run(request_, model, SHAPE.name))
    assert PHANTOM.encode() not in out
    assert [tool["name"] for tool in final(out)["tools"]] == ["read_file"]


def test_a_name_that_only_comes_with_the_whole_call_is_waited_for(run, request_):
    def unnamed(said: Said, number: int) -> list[bytes]:
        found = []
        for event in responses_events(said, number):
            head, _, line = event.partition(b"data: ")
            data = json.loads(line)
            if data["type"].endswith("item.added"):
                data["item"].pop("name", None)
            found.append(head + b"data: " + json.dumps(data).encode() + b"\n\n")
        return found

    sent, model = answering(unnamed(search("read"), 0), unnamed(READING, 1))
    out = b"".join(run(request_, model, SHAPE.name))
    assert PHANTOM.encode() not in out
    assert read(SHAPE, out) == READING
    assert SHAPE.names(sent[1]) == [PHANTOM, "call_tool", "read_file"]


def test_items_are_told_apart_without_their_positions(run, request_):
    def bare(said: Said, number: int) -> list[bytes]:
        found = []
        for event in responses_events(said, number):
            data = json.loads(event.partition(b"data: ")[2])
            data.pop("output_index", None)
            data.pop("sequence_number", None)
            found.append(b"data: " + json.dumps(data).encode() + b"\n\n")
        return found

    sent, model = answering(bare(search("read"), 0), bare(READING, 1))
    out = b"".join(run(request_, model, SHAPE.name))
    assert SHAPE.names(sent[1]) == [PHANTOM, "call_tool", "read_file"]
    assert PHANTOM.encode() not in out
    kinds = [item["type"] for item in final(out)["output"]]
    assert kinds == ["reasoning", "reasoning", "message", "function_call"]


@pytest.mark.parametrize("left_out", ["output_item.done", "the output at the end"])
def test_a_search_is_answered_if_it_is_told_whole_but_once(run, request_, left_out):
    events = responses_events(search("read"), 0)
    if left_out == "output_item.done":
        done = b"output_item.done"
        events = [event for event in events if done not in event or b'"reasoning"' in event]
    else:
        *rest, last = events
        data = json.loads(last.partition(b"data: ")[2])
        del data["response"]["output"]
        events = [*rest, b"data: " + json.dumps(data).encode() + b"\n\n"]
    sent, model = answering(events, responses_events(READING, 1))
    out = b"".join(run(request_, model, SHAPE.name))
    assert SHAPE.names(sent[1]) == [PHANTOM, "call_tool", "read_file"]
    assert read(SHAPE, out) == READING


def test_a_real_sdk_forwards_and_reads_the_same_stream(request_):
    left = [b"".join(responses_events(said, n)) for n, said in enumerate((LOOK, READING))]
    headers = [("Content-Type", "text/event-stream")]
    with (
        peer(lambda exchange: exchange.answer(left.pop(0), headers=headers)) as upstream,
        openai.OpenAI(api_key="none", base_url=upstream.url) as client,
    ):

        def forward(body: Json) -> Iterator[bytes]:
            with client.responses.with_streaming_response.create(**body) as response:
                yield from response.iter_bytes()

        config = DiscoveryConfig(enabled=True, strategy="tool-search")
        out = b"".join(ToolDiscovery(config).stream(request_, forward, SHAPE.name))
    assert read(SHAPE, out) == Said("Let me look. Reading.", READING.calls)


# Streams of Bedrock Converse: frames of bytes, of which a search leaves no trace.


EMPTY = bytes.fromhex("00000010 00000000 05c248eb 7d98c8ff")
NUMBERED = b"\0\0\0-\0\0\0\x10A\xc4$\xb8\nevent-type\4\0\0\xa0\x0c{'foo':'bar'}6\xf4\x80\xa0"
"""Two events of AWS's own test suite, the second with a header that is a number."""


def test_events_of_aws_are_read():
    splitter = FrameSplitter()
    empty, numbered = map(splitter.read, splitter.cut(EMPTY + NUMBERED))
    assert (empty.raw, empty.headers) == (EMPTY, b"")
    assert numbered.raw == NUMBERED
    assert numbered.headers == b"\nevent-type\4\0\0\xa0\x0c"


def test_what_is_written_is_what_came():
    event = FrameSplitter().read(frame("messageStart", {"role": "assistant"}))
    assert event.kind == "message_start"
    assert unframed(write_frame(event.headers, {"role": "x"}))[0][1] == {"role": "x"}


@given(st.binary(min_size=12, max_size=200))
def test_bytes_that_are_no_events_are_passed_on(content: bytes):
    stream = BedrockStream(PHANTOM)
    first, *_ = bedrock_events(DONE)
    damaged = first[:9] + bytes([first[9] ^ 1]) + first[10:]
    assert stream.feed(damaged + content) == damaged + content


def test_a_request_for_a_stream_of_invoke_model_is_passed_on_as_it_came(run):
    shape = BY_NAME["bedrock-anthropic"]
    body = shape.request("please help", tools_of(shape))
    sent: list[Json] = []

    def model(request: Json) -> Iterator[bytes]:
        sent.append(request)
        yield b"anything"

    assert b"".join(run(body, model, shape.name)) == b"anything"
    assert sent == [body]


# Streams of Gemini: every event is a whole response, and a search leaves no trace in them.


GEMINI = BY_NAME["gemini"]


@pytest.fixture
def gemini_request() -> Json:
    return GEMINI.request("please help", tools_of(GEMINI))


def written(*chunks: Json) -> bytes:
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)


def candidate(*parts: Json, **more: Any) -> Json:
    return {"content": {"role": "model", "parts": list(parts)}, **more}


SEARCH = {"functionCall": {"name": PHANTOM, "args": {"query": "read"}}, "thoughtSignature": "s"}
CALL = {"functionCall": {"name": "read_file", "args": {}}}


@pytest.mark.parametrize(
    ("config", "calling", "key", "value"),
    [
        ("toolConfig", "functionCallingConfig", "streamFunctionCallArguments", True),
        ("tool_config", "function_calling_config", "stream_function_call_arguments", True),
        ("toolConfig", "functionCallingConfig", "streamFunctionCallArguments", False),
    ],
)
def test_a_request_for_calls_in_pieces_is_passed_on_as_it_came(
    run, gemini_request, config: str, calling: str, key: str, value: bool
):
    body = gemini_request | {config: {calling: {key: value}}}
    model = StreamingModel(GEMINI, MIXED)
    run(body, model, GEMINI.name)
    assert (model.requests == [body]) is value


def test_the_signature_of_a_removed_search_moves_to_the_call_after_it(run, gemini_request):
    """Only the first of parallel calls is signed, and Gemini 3 refuses one without a signature."""
    model = StreamingModel(GEMINI, MIXED)
    assert b'"thoughtSignature":"c2lnbmVkIDA="' in b"".join(run(gemini_request, model, GEMINI.name))
    response = {"candidates": [candidate(SEARCH, CALL, CALL)]}
    whole = PROVIDERS["gemini"].drop_calls(response, PHANTOM)
    assert whole == {"candidates": [candidate({**CALL, "thoughtSignature": "s"}, CALL)]}


def test_a_text_beside_a_search_in_one_event_is_shown_before_it_is_answered():
    stream = GeminiStream(PHANTOM)
    said = candidate({"text": "Hm."}, SEARCH, finishReason="STOP")
    shown = stream.feed(written({"candidates": [said]}))
    (chunk,) = gemini_chunks(shown)
    assert chunk["candidates"] == [candidate({"text": "Hm."})]
    assert stream.response()["candidates"][0]["content"]["parts"] == [{"text": "Hm."}, SEARCH]
