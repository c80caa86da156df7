"""Events with nothing but a text are passed on undecoded, and make no difference to anybody."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.turns.turns import Json
from toolscout.turns.providers.anthropic import AnthropicStream
from toolscout.turns.providers.chat import OpenAIStream

SEARCH = "find_tools"

TEXT = st.text(max_size=8) | st.sampled_from(['"tool_calls": [', "[DONE]", '{"index":1}', "\\"])
ID = st.sampled_from(["chat-1", "chat-1", "chat-1", "chat-2"])


def chunk(delta: Json, end: str | None = None, id_: str = "chat-1", **more: Any) -> Json:
    choices = [{"index": 0, "delta": delta, "finish_reason": end}]
    return {"id": id_, "object": "chat.completion.chunk", "choices": choices, **more}


def call(name: str, id_: str) -> Json:
    function = {"name": name, "arguments": '{"query": "x"}'}
    return {"tool_calls": [{"index": 0, "id": id_, "type": "function", "function": function}]}


CHAT = st.one_of(
    st.builds(lambda text, id_: chunk({"content": text}, id_=id_), TEXT, ID),
    st.builds(lambda text: chunk({"role": "assistant", "content": text}), TEXT),
    st.builds(lambda text: chunk({"content": None, "reasoning_content": text}), TEXT),
    st.builds(lambda text: chunk({"content": text, "tool_calls": None}, usage=None), TEXT),
    st.builds(lambda name, id_: chunk(call(name, id_)), st.sampled_from([SEARCH, "a"]), ID),
    st.sampled_from([chunk({}), chunk({}, "stop"), chunk({"content": "end"}, "stop")]),
    st.just(chunk({}, usage={"total_tokens": 3})),
)


def block(kind: str, index: int, **more: Any) -> Json:
    return {"type": f"content_block_{kind}", "index": index, **more}


def piece(index: int, **delta: str) -> Json:
    return block("delta", index, delta=delta)


INDEX = st.sampled_from([0, 0, 1, 10])
BLOCKS = st.one_of(
    st.builds(lambda at, text: piece(at, type="text_delta", text=text), INDEX, TEXT),
    st.builds(lambda at: block("start", at, content_block={"type": "text", "text": ""}), INDEX),
    st.builds(
        lambda at, name: block("start", at, content_block={"type": "tool_use", "name": name}),
        INDEX,
        st.sampled_from([SEARCH, "a"]),
    ),
    st.builds(lambda at, t: piece(at, type="input_json_delta", partial_json=t), INDEX, TEXT),
    st.builds(lambda at: block("stop", at), INDEX),
    st.just({"type": "message_start", "message": {"id": "m"}}),
    st.just({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
)


@pytest.mark.parametrize(("kind", "events"), [(OpenAIStream, CHAT), (AnthropicStream, BLOCKS)])
@given(data=st.data(), is_tight=st.booleans())
def test_a_text_that_is_passed_on_is_as_if_it_had_been_read(kind, events, data, is_tight):
    reading = type("Reading", (kind,), {"_is_text": lambda *_: False})
    streams = kind(SEARCH), reading(SEARCH)
    spaces = (",", ":") if is_tight else None
    for event in data.draw(st.lists(events, max_size=12)):
        raw = b"data: " + json.dumps(event, separators=spaces).encode() + b"\n\n"
        passed, read = (stream.feed(raw) for stream in streams)
        assert passed == read
    passed, read = (stream.response() for stream in streams)
    assert passed == read
    passed, read = (stream.finish() for stream in streams)
    assert passed == read
