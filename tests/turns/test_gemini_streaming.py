"""Streams of Gemini: every event is a whole response, and a search leaves no trace in them."""

import json
from typing import Any

import pytest

from tests.turns.gemini_streaming import gemini_chunks
from tests.turns.shapes import ABOUT, BY_NAME, Json, Said
from tests.turns.streaming import PHANTOM, READING, StreamingModel, search
from toolscout.discovery.providers import PROVIDERS
from toolscout.discovery.providers.gemini import GeminiStream

SHAPE = BY_NAME["gemini"]
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


def test_the_signature_of_a_removed_search_moves_to_the_call_after_it(run, request_):
    """Only the first of parallel calls is signed, and Gemini 3 refuses one without a signature."""
    model = StreamingModel(SHAPE, MIXED)
    assert b'"thoughtSignature":"c2lnbmVkIDA="' in b"".join(run(request_, model, SHAPE.name))
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
