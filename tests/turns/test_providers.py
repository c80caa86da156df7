"""What is particular to one provider, and that nothing odd breaks any."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.turns.shapes import SHAPES, Said, Shape
from toolscout.turns.providers import PROVIDERS, Call, ProviderName
from toolscout.turns.providers.provider import SearchResult

KEYS = ["messages", "contents", "input", "tools", "choices", "message", "content", "role", "user"]
KEYS += ["parts", "output", "type", "tool_calls", "tool_use", "function", "functionCall", "toolUse"]
KEYS += ["name", "id", "candidates", "text", "toolConfig", "functionDeclarations", "call_id"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)
BODIES = st.dictionaries(
    st.sampled_from(["messages", "contents", "input", "tools", "choices", "output", "candidates"]),
    JSON,
)


@pytest.mark.parametrize("name", PROVIDERS)
@given(body=BODIES)
def test_odd_bodies_are_read_as_far_as_they_go(name: ProviderName, body: dict[str, Any]):
    provider = PROVIDERS[name]
    provider.query(body)
    provider.first_message(body)
    provider.recent(body)
    provider.choice(body)
    assert provider.drop_calls(body, "never called") == body
    assert all(isinstance(call, Call) for call in provider.calls(body))


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_what_the_loop_reads_of_a_request(shape):
    provider = PROVIDERS[shape.name]
    tools = [shape.tool("read_file", "Read"), shape.builtin]
    request = shape.request("first words", tools)
    assert provider.tools(request) == tools
    assert shape.raw(provider.with_tools(request, tools)) == tools
    assert shape.raw(provider.with_tools(request, [])) == []
    assert provider.query(request) == "first words"
    later = shape.history(
        request, Said("hm", (("c1", "read_file", {}), ("c2", "read_file", {}))), ["a", "b"], "more"
    )
    assert provider.query(later) == "more"
    assert provider.recent(later) == ["read_file"]
    assert provider.first_message(later) == provider.first_message(request)


def test_gemini_calls_without_ids_are_told_apart_by_their_place():
    provider = PROVIDERS["gemini"]
    parts: list[dict[str, Any]] = [
        {"functionCall": {"name": "find", "args": {"query": "a"}}},
        {"functionCall": {"name": "find", "args": {"query": "b"}}},
    ]
    response = {"candidates": [{"content": {"role": "model", "parts": parts}}]}
    calls = provider.calls(response)
    assert [call.query for call in calls] == ["a", "b"]
    going_on = provider.continue_request(
        {"contents": []}, response, [SearchResult(calls[1], "found b", ())]
    )
    assert going_on["contents"][0]["parts"] == parts[1:]
    told = going_on["contents"][1]["parts"]
    assert told == [{"functionResponse": {"name": "find", "response": {"result": "found b"}}}]


def test_gemini_is_read_with_underscores_too():
    provider = PROVIDERS["gemini"]
    request = {
        "contents": {"parts": [{"text": "hello"}]},
        "tools": [{"function_declarations": [{"name": "one"}]}],
        "tool_config": {"function_calling_config": {"mode": "any"}},
    }
    assert provider.tools(request) == [{"name": "one"}]
    assert provider.query(request) == "hello"
    assert provider.choice(request).must_call


def test_thinking_goes_back_to_anthropic_unchanged():
    thinking = {"type": "thinking", "thinking": "…", "signature": "s"}
    use = {"type": "tool_use", "id": "1", "name": "find", "input": {"query": "x"}}
    response = {"content": [thinking, use]}
    provider = PROVIDERS["anthropic"]
    going_on = provider.continue_request(
        {"messages": []}, response, [SearchResult(provider.calls(response)[0], "y", ())]
    )
    assert going_on["messages"][0]["content"] == [thinking, use]


def test_every_choice_of_openai_is_cleaned():
    shape = SHAPES[0]
    one = shape.response(Said(calls=(("1", "find", {}),)))["choices"][0]
    response = {"choices": [one, {**one, "index": 1}]}
    cleaned = PROVIDERS["openai"].drop_calls(response, "find")
    for choice in cleaned["choices"]:
        assert "tool_calls" not in choice["message"]
        assert choice["finish_reason"] == "stop"


@pytest.mark.parametrize("key", ["extra_content", "provider_specific_fields"])
def test_the_signature_of_a_search_moves_to_the_next_call_of_a_completion(key):
    shape = SHAPES[0]
    response = shape.response(Said(calls=tuple((id_, id_, {}) for id_ in ("find", "one", "two"))))
    search, one, two = response["choices"][0]["message"]["tool_calls"]
    search[key] = {"google": {"thought_signature": "signed"}}
    seen = PROVIDERS["openai"].drop_calls(response, "find")
    assert seen["choices"][0]["message"]["tool_calls"] == [{**one, key: search[key]}, two]


@pytest.mark.parametrize(
    ("arguments", "query"),
    [
        ({"query": "x"}, "x"),
        ({"q": "x"}, "x"),
        ({"a": "x", "b": "y"}, ""),
        ({"query": 3}, ""),
        ({}, ""),
    ],
)
def test_the_query_of_a_search_call(arguments, query):
    assert Call("1", "find", arguments).query == query


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_request_that_ends_with_results_asks_nothing_new(shape: Shape):
    provider = PROVIDERS[shape.name]
    first = shape.request("please help", [shape.tool("read_file", "Read")])
    assert provider.is_ending_with_user(first)
    said = Said(calls=(("call_r", "read_file", {"path": "x"}),))
    assert provider.is_ending_with_user(shape.history(first, said, ["ok"], "go on"))
    results = [SearchResult(call, "ok", []) for call in provider.calls(shape.response(said))]
    assert not provider.is_ending_with_user(
        provider.continue_request(first, shape.response(said), results)
    )
    assert not provider.is_ending_with_user({})
