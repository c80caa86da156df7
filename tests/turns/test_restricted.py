"""Requests in which the model cannot search: calls forbidden or listed, several answers wanted."""

from typing import Any

import pytest

from tests.turns.flows import DONE, PHANTOM, Model, search
from tests.turns.shapes import BY_NAME, SHAPES, Json, Shape, tools_of
from toolscout.turns.providers.chat import MAX_TOOLS

ABOUT = {f"tool_{n:03}": f"Does the thing of number {n}" for n in range(300)} | {
    "read_file": "Read file contents"
}
FORBIDDEN = [shape for shape in SHAPES if shape.forbidding()]
FUNCTION = {"type": "function", "function": {"name": "tool_123"}}
LISTED: dict[str, Json] = {
    "openai": {
        "tool_choice": {
            "type": "allowed_tools",
            "allowed_tools": {"mode": "auto", "tools": [FUNCTION]},
        }
    },
    "openai-responses": {
        "tool_choice": {
            "type": "allowed_tools",
            "mode": "auto",
            "tools": [{"type": "function", "name": "tool_123"}],
        }
    },
    "gemini": {
        "toolConfig": {
            "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["tool_123"]}
        }
    },
}


NOT_FORCED: dict[str, Json] = {
    "gemini": {"toolConfig": {"functionCallingConfig": {"allowedFunctionNames": ["tool_123"]}}}
}
NONE = BY_NAME["openai"].forbidding()
FIRST = [("api", []), ("hybrid-first", ["read_file"])]
"""What a first request shows by each strategy."""


def declared(shape: Shape) -> list[Json]:
    return tools_of(shape, ABOUT)


def conversation(flow: Any, shape: Shape, then: Json) -> Model:
    """Return the model of a question that is searched, and of a second one that is restricted."""
    model = Model(shape, search("read"), DONE)
    running = flow()
    first = shape.request("read it", declared(shape))
    running.complete(first, model, shape.name)
    second = shape.history(first, DONE, [], "and now?") | then
    running.complete(second, model, shape.name)
    return model


@pytest.mark.parametrize("shape", FORBIDDEN, ids=lambda shape: shape.name)
def test_a_request_that_forbids_calls_keeps_the_tools_that_were_shown(flow, shape):
    model = conversation(flow, shape, shape.forbidding())
    assert model.seen(2) == model.seen(1) == [PHANTOM, "read_file"]


@pytest.mark.parametrize("shape", FORBIDDEN, ids=lambda shape: shape.name)
@pytest.mark.parametrize(("strategy", "shown"), FIRST)
def test_a_first_request_that_allows_no_call_has_the_few(flow, shape, strategy, shown):
    model = Model(shape, DONE)
    request = shape.request("please read", declared(shape), **shape.forbidding())
    flow(strategy).complete(request, model, shape.name)
    assert model.seen(0) == [PHANTOM, *shown]


def test_a_native_conversation_keeps_its_deferred_tools_where_calls_are_forbidden(flow):
    shape = BY_NAME["anthropic"]
    model = conversation(flow, shape, {"tool_choice": {"type": "none"}, "model": "m"})
    assert model.requests[2]["tools"] == model.requests[1]["tools"]
    native = Model(shape, DONE)
    running = flow()
    first = shape.request("read it", declared(shape)) | {"model": "claude-opus-5"}
    running.complete(first, native, shape.name)
    then = shape.history(first, DONE, [], "and now?") | {"tool_choice": {"type": "none"}}
    running.complete(then, native, shape.name)
    assert native.requests[1]["tools"] == native.requests[0]["tools"]
    assert native.requests[1]["tools"][1]["defer_loading"]


@pytest.mark.parametrize("name", LISTED)
def test_a_request_that_lists_allowed_tools_shows_them_beside_the_others(flow, name):
    model = conversation(flow, BY_NAME[name], LISTED[name])
    assert set(model.seen(2)) == {PHANTOM, "read_file", "tool_123"}


@pytest.mark.parametrize("name", LISTED)
@pytest.mark.parametrize(("strategy", "shown"), FIRST)
def test_a_first_request_that_lists_allowed_tools_has_these_and_the_few(
    flow, name, strategy, shown
):
    shape = BY_NAME[name]
    model = Model(shape, DONE)
    request = shape.request("please read", declared(shape), **(LISTED | NOT_FORCED)[name])
    flow(strategy, top_k=1).complete(request, model, name)
    assert model.seen(0) == [PHANTOM, "tool_123", *shown]


def test_a_request_for_several_answers_keeps_the_tools_that_were_shown_without_a_search(flow):
    model = conversation(flow, BY_NAME["openai"], {"n": 2})
    assert model.seen(2) == ["read_file"]


@pytest.mark.parametrize("strategy", ["api", "hybrid-first"])
def test_a_first_request_for_several_answers_has_the_few_without_a_search(flow, strategy):
    shape = BY_NAME["openai"]
    model = Model(shape, DONE)
    flow(strategy).complete(shape.request("please read", declared(shape), n=2), model, "openai")
    assert model.seen(0) == ["read_file"]


@pytest.mark.parametrize("restriction", [{"n": 2}, NONE, LISTED["openai"]])
def test_a_first_request_has_no_more_tools_than_the_provider_takes(flow, restriction):
    shape = BY_NAME["openai"]
    model = Model(shape, DONE)
    request = shape.request("read the file", declared(shape)) | restriction
    flow(endpoint="http://127.0.0.1:9").complete(request, model, "openai")
    flow("hybrid-first", "http://127.0.0.1:9").complete(request, model, "openai")
    for seen in map(model.seen, range(2)):
        assert len(seen) <= MAX_TOOLS
        assert (PHANTOM in seen) == ("n" not in restriction)
        assert restriction is not LISTED["openai"] or "tool_123" in seen
    assert "read_file" in model.seen(1)


@pytest.mark.parametrize("restriction", [{}, {"n": 2}, NONE, LISTED["openai"]])
@pytest.mark.parametrize("mode", ["dark", "shadow"])
def test_a_rollout_that_only_looks_forwards_the_very_request(flow, mode, restriction):
    shape = BY_NAME["openai"]
    request = shape.request("read the file", declared(shape)) | restriction
    forwarded: list[Json] = []

    def forward(body: Json) -> Json:
        forwarded.append(body)
        return shape.response(DONE)

    flow(rollout=mode).complete(request, forward, "openai")
    assert forwarded[0] is request
