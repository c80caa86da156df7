"""Streams of Gemini: every event is a whole response, and a search leaves no trace in them."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.client.gemini_streaming import gemini_chunks, gemini_events
from tests.client.shapes import ABOUT, SHAPES, Json, Said
from tests.client.streaming import DONE, PHANTOM, READING, StreamingModel, fed, search
from toolscout.discovery.providers import PROVIDERS
from toolscout.discovery.providers.gemini.stream import GeminiStream

SHAPE = next(shape for shape in SHAPES if shape.name == "gemini")
LOOK = search("read", text="Let me look. ")
MIXED = Said("Both.", (*search("email").calls, *READING.calls))


@pytest.fixture
def request_() -> Json:
    return SHAPE.request("please help", [SHAPE.tool(name, about) for name, about in ABOUT.items()])


def written(*chunks: Json) -> bytes:
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)


def candidate(*parts: Json, **more: Any) -> Json:
    return {"content": {"role": "model", "parts": list(parts)}, **more}


SEARCH = {"functionCall": {"name": PHANTOM, "args": {"query": "read"}}, "thoughtSignature": "s"}
CALL = {"functionCall": {"name": "read_file", "args": {}}}


def test_the_usage_at_the_end_is_that_of_all_forwards(run, request_):
    model = StreamingModel(SHAPE, search("read"), READING)
    chunks = gemini_chunks(b"".join(run(request_, model, SHAPE.name)))
    last = chunks[-1]["usageMetadata"]
    assert last == {"promptTokenCount": 2, "candidatesTokenCount": 10, "totalTokenCount": 12}


def test_a_signature_goes_back_to_the_model_with_its_search(run, request_):
    model = StreamingModel(SHAPE, LOOK, READING)
    run(request_, model, SHAPE.name)
    *text, called = model.requests[1]["contents"][-2]["parts"]
    assert "".join(part["text"] for part in text) == LOOK.text
    assert called["thoughtSignature"] == "signed 0"
    assert model.requests[1]["contents"][-2]["role"] == "model"


def test_the_signature_of_a_removed_search_moves_to_the_call_after_it(run, request_):
    """Only the first of parallel calls is signed, and Gemini 3 refuses one without a signature."""
    model = StreamingModel(SHAPE, MIXED)
    assert b'"thoughtSignature":"signed 0"' in b"".join(run(request_, model, SHAPE.name))
    response = {"candidates": [candidate(SEARCH, CALL, CALL)]}
    whole = PROVIDERS["gemini"].without_calls(response, PHANTOM)
    assert whole == {"candidates": [candidate({**CALL, "thoughtSignature": "s"}, CALL)]}


def test_a_text_beside_a_search_in_one_event_is_shown_before_it_is_answered():
    stream = GeminiStream(PHANTOM)
    said = candidate({"text": "Hm."}, SEARCH, finishReason="STOP")
    shown = stream.feed(written({"candidates": [said]}))
    (chunk,) = gemini_chunks(shown)
    assert chunk["candidates"] == [candidate({"text": "Hm."})]
    assert stream.response()["candidates"][0]["content"]["parts"] == [{"text": "Hm."}, SEARCH]


def test_other_candidates_keep_their_words_and_their_ends():
    stream = GeminiStream(PHANTOM)
    out = stream.feed(
        written(
            {"candidates": [candidate(SEARCH, index=0, finishReason="STOP")]},
            {"candidates": [candidate({"text": "no"}, index=1, finishReason="MAX_TOKENS")]},
        )
    )
    first, *_ = gemini_chunks(out)
    assert first["candidates"] == [candidate({"text": "no"}, index=1)]
    (last,) = gemini_chunks(stream.finish())
    assert [c["finishReason"] for c in last["candidates"]] == ["STOP", "MAX_TOKENS"]
    assert PHANTOM.encode() not in out


def test_an_error_reaches_the_client_and_nothing_is_searched(run, request_):
    error = {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}
    sent: list[Json] = []

    def model(body: Json) -> Iterator[bytes]:
        sent.append(body)
        yield written({"candidates": [candidate(SEARCH)]}, error)

    out = b"".join(run(request_, model, SHAPE.name))
    assert len(sent) == 1
    assert gemini_chunks(out) == [error]
    assert PHANTOM.encode() not in out


@given(st.integers(1, 400), st.sampled_from([LOOK, MIXED, search("read"), DONE]))
def test_the_client_gets_the_same_bytes_however_they_come(piece: int, first: Said):
    turns = [gemini_events(said, number) for number, said in enumerate((first, READING))]
    whole = fed(GeminiStream(PHANTOM), turns, 1_000_000)
    assert fed(GeminiStream(PHANTOM), turns, piece) == whole
