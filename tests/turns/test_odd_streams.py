"""Streams of models that count and name their calls otherwise than OpenAI's own."""

import json
from collections.abc import Iterator

import pytest

from tests.turns.flows import DONE, PHANTOM, search
from tests.turns.shapes import BY_NAME, Json, tools_of
from tests.turns.streaming import EVENTS, events_of, read
from toolscout.discovery import DiscoveryConfig, ToolDiscovery
from toolscout.turns.providers import PROVIDERS

OPENAI = BY_NAME["openai"]
REQUEST = OPENAI.request("please help", tools_of(OPENAI), stream=True)


def piece(
    name: str | None = None, given: str = "", id_: str | None = None, index: int | None = 0
) -> Json:
    """Return a piece of a call, as models other than OpenAI's own write them."""
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
    model = Odd(events(*ODD[odd]))
    out = b"".join(run(REQUEST, model, "openai"))
    assert len(model.requests) == 2
    assert OPENAI.names(model.requests[1])[:3] == [PHANTOM, "call_tool", "read_file"]
    assert b"search_tools" not in out
    assert b"gateway" not in out


@pytest.mark.parametrize("order", [1, -1])
def test_a_real_call_beside_a_search_of_the_same_index_reaches_the_client(run, order):
    calls = [[piece(PHANTOM, QUERY, "c1")], [piece("read_file", "{}", "c2")]][::order]
    out = run(REQUEST, Odd(events(*calls)), "openai")
    assert read(OPENAI, b"".join(out)).calls == (("c2", "read_file", {}),)


CUSTOM: list[list[Json]] = [
    [{"index": 0, "id": "c1", "type": "custom", "custom": {"name": "run", "input": ""}}],
    [{"index": 0, "custom": {"input": "print("}}],
    [{"index": 0, "custom": {"input": "1)"}}],
]
"""A call of a tool that takes text instead of arguments, as OpenAI streams it."""


CUSTOM_TOOL = {"type": "custom", "custom": {"name": "run"}}
WITH_CUSTOM = {**REQUEST, "tools": [*REQUEST["tools"], CUSTOM_TOOL]}


def test_a_call_of_a_custom_tool_says_what_it_is_sooner_or_later(run):
    late: list[list[Json]] = [
        [{"index": 0, "id": "c1", "function": None}],
        [{"index": 0, "function": None, "custom": {"name": "run", "input": "1"}}],
        [piece(PHANTOM, QUERY, "c2", 1)],
    ]
    model = Odd(events(*late))
    out = b"".join(run(WITH_CUSTOM, model, "openai"))
    assert len(model.requests) == 1  # the client answers the call before anything else
    deltas = [choice["delta"] for chunk in events_of(out) for choice in chunk["choices"]]
    (call,) = (call for delta in deltas for call in delta.get("tool_calls", ()))
    assert (call["id"], call["type"]) == ("c1", "custom")
    assert call["custom"] == {"name": "run", "input": "1"}


def test_a_call_of_a_custom_tool_passes_as_it_comes(run):
    said = events(*CUSTOM)
    assert b"".join(run(WITH_CUSTOM, Odd(said), "openai")) == said


def test_a_call_of_a_custom_tool_is_remembered_whole():
    opened = PROVIDERS["openai"].stream
    assert opened is not None
    stream = opened(PHANTOM)
    stream.feed(events(*CUSTOM))
    [choice] = stream.response()["choices"]
    whole = {"id": "c1", "type": "custom", "custom": {"name": "run", "input": "print(1)"}}
    assert choice["message"]["tool_calls"] == [whole]


SIGNED: Json = {
    "extra_content": {"google": {"thought_signature": "signed"}},
    "provider_specific_fields": {"thought_signature": "signed"},
}
"""What Gemini's compatible interface and LiteLLM want back with a call."""


def test_what_an_api_puts_beside_a_search_goes_back_with_it(run):
    model = Odd(events([piece("gateway_", id_="c1")], [piece("search_tools", QUERY) | SIGNED]))
    run(REQUEST, model, "openai")
    [call] = model.requests[1]["messages"][-2]["tool_calls"]
    assert SIGNED.items() <= call.items()
    assert call["function"] == {"name": PHANTOM, "arguments": QUERY}


@pytest.mark.parametrize("late", [False, True], ids=["with the name", "with a part of it"])
def test_the_signature_of_a_search_moves_to_the_next_call_of_the_client(run, late):
    search = [[piece("gateway_", id_="c1") | SIGNED], [piece("search_tools", QUERY)]]
    if not late:
        search = [[piece(PHANTOM, QUERY, "c1") | SIGNED]]
    real = [
        [piece(name, "{}", name, index)] for index, name in ((1, "read_file"), (2, "run_tests"))
    ]
    out = b"".join(run(REQUEST, Odd(events(*search, *real)), "openai"))
    deltas = [choice["delta"] for chunk in events_of(out) for choice in chunk["choices"]]
    first, second = [call for delta in deltas for call in delta.get("tool_calls", [])]
    assert first == {**real[0][0], **SIGNED, "index": 0}
    assert second == {**real[1][0], "index": 1}


def test_what_an_api_puts_beside_a_call_reaches_the_client_with_the_call_of_the_found_tool():
    config = DiscoveryConfig(enabled=True, strategy="tool-search")
    through = piece("call_tool", '{"name": "read_file", "arguments": {}}', "c1") | SIGNED
    discovery = ToolDiscovery(config, dispatch="on")
    first, *_ = events_of(b"".join(discovery.stream(REQUEST, Odd(events([through])), "openai")))
    [call] = first["choices"][0]["delta"]["tool_calls"]
    assert SIGNED.items() <= call.items()
    assert call["function"] == {"name": "read_file", "arguments": "{}"}


def at_once(id_: str, *calls: Json, **said: str) -> bytes:
    """Return a turn in a single chunk: its role, what it says, its calls, its end and its usage."""
    delta = {"role": "assistant", "content": None, **said, "tool_calls": calls}
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": "tool_calls"}
    chunk = {"id": id_, "choices": [choice], "usage": {"total_tokens": 2}}
    return b"data: " + json.dumps(chunk).encode() + b"\n\ndata: [DONE]\n\n"


@pytest.mark.parametrize("said", [{}, {"content": "Let me look. "}], ids=["silent", "text"])
def test_what_comes_with_the_end_of_a_turn_is_there_after_a_search(run, said):
    real = piece("read_file", "{}", "c2")
    model = Odd(at_once("r1", piece(PHANTOM, QUERY, "c1"), **said))
    model.answers[1] = at_once("r2", real, content="Reading.")
    out = b"".join(run(REQUEST, model, "openai"))
    chunks = events_of(out)
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    deltas = [choice["delta"] for choice in choices]
    assert [delta["role"] for delta in deltas if "role" in delta] == ["assistant"]
    assert "role" in deltas[0]
    texts = [delta["content"] for delta in deltas if delta.get("content")]
    assert texts == [*said.values(), "Reading."]
    assert [call for delta in deltas for call in delta.get("tool_calls", [])] == [real]
    assert [c["finish_reason"] for c in choices if c["finish_reason"]] == ["tool_calls"]
    assert [c["usage"] for c in chunks if c.get("usage")] == [{"total_tokens": 4}]
    assert {chunk["id"] for chunk in chunks} == {chunks[0]["id"]}


@pytest.mark.parametrize("name", ["gateway", "g", PHANTOM[:-1]])
def test_a_name_that_begins_like_the_search_is_only_held_back_for_a_while(run, name):
    request = {**REQUEST, "tools": [OPENAI.tool(name, "about"), *REQUEST["tools"]]}
    for first, *rest in (["{}"], ["", "{", "}"]):
        deltas = [[piece(name, first, "c1")], *([piece(None, more)] for more in rest)]
        out = run(request, Odd(events(*deltas)), "openai")
        assert read(OPENAI, b"".join(out)).calls == (("c1", name, {}),)
    late = b"".join(run(request, Odd(events([piece(name, "", "c1")])), "openai"))
    assert json.dumps(name).encode() in late
    assert b"tool_calls" in late.split(b"finish_reason")[-1]


AZURE: list[Json] = [
    {"id": "", "choices": [], "prompt_filter_results": [{"content_filter_results": {}}]},
    {"id": "r", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]},
    {"id": "r", "choices": [{"index": 0, "delta": {"content": ""}}]},
    {"id": "r", "choices": [{"index": 0, "content_filter_results": {}, "finish_reason": None}]},
    {"id": "r", "choices": [{"index": 0, "delta": {"content": "Hello"}}]},
    {"id": "r", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
]
"""What filters say, and words that keep a connection alive."""


def test_events_without_words_pass_as_they_came(run):
    sent = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in AZURE)
    model = Odd(sent + b"data: [DONE]\n\n")
    assert b"".join(run(REQUEST, model, "openai")) == model.answers[0]


@pytest.mark.parametrize("name", ["openai-responses", "anthropic", "gemini"])
def test_the_end_that_some_servers_write_is_the_last_event(run, name):
    shape = BY_NAME[name]
    model = Odd(b"")
    model.answers = [
        b"".join(EVENTS[name](said, number)) + b"data: [DONE]\n\n"
        for number, said in enumerate([search("read", text="Let me look. "), DONE])
    ]
    request = shape.request("please help", tools_of(shape), stream=True)
    out = b"".join(run(request, model, name))
    assert len(model.requests) == 2
    assert out.count(b"[DONE]") == 1
    assert out.endswith(b"data: [DONE]\n\n")
