"""Requests in which the model cannot search: calls forbidden or listed, several answers wanted."""

from typing import Any

import pytest

from tests.turns.flows import DONE, PHANTOM, Model, search
from tests.turns.shapes import BY_NAME, Json, Shape
from toolscout.discovery.providers.chat import MAX_TOOLS

ABOUT = {f"tool_{n:03}": f"Does the thing of number {n}" for n in range(300)} | {
    "read_file": "Read file contents"
}
FORBIDDEN: dict[str, Json] = {
    "openai": {"tool_choice": "none"},
    "openai-responses": {"tool_choice": "none"},
    "anthropic": {"tool_choice": {"type": "none"}},
    "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}},
}
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


def declared(shape: Shape) -> list[Json]:
    return [shape.tool(name, about) for name, about in ABOUT.items()]


def conversation(flow: Any, shape: Shape, then: Json) -> tuple[Model, Json, Json]:
    """Return a question that is searched, and a second one that is restricted."""
    model = Model(shape, search("read"), DONE)
    running = flow()
    first = shape.request("read it", declared(shape))
    running.complete(first, model, shape.name)
    second = shape.history(first, DONE, [], "and now?") | then
    running.complete(second, model, shape.name)
    return model, first, second


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_request_that_forbids_calls_keeps_the_tools_that_were_shown(flow, name):
    shape = BY_NAME[name]
    model, _, second = conversation(flow, shape, FORBIDDEN[name])
    assert model.seen(2) == model.seen(1) == [PHANTOM, "read_file"]
    assert FORBIDDEN[name].items() <= second.items()


def test_a_native_conversation_keeps_its_deferred_tools_where_calls_are_forbidden(flow):
    shape = BY_NAME["anthropic"]
    model, _, _ = conversation(flow, shape, {"tool_choice": {"type": "none"}, "model": "m"})
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
    model, _, _ = conversation(flow, BY_NAME[name], LISTED[name])
    assert set(model.seen(2)) == {PHANTOM, "read_file", "tool_123"}


def test_a_request_for_several_answers_keeps_the_tools_that_were_shown_without_a_search(flow):
    model, _, _ = conversation(flow, BY_NAME["openai"], {"n": 2})
    assert model.seen(2) == ["read_file"]


@pytest.mark.parametrize("restriction", [{"n": 2}, FORBIDDEN["openai"], LISTED["openai"]])
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


@pytest.mark.parametrize("restriction", [{}, {"n": 2}, FORBIDDEN["openai"], LISTED["openai"]])
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
