"""A later turn that brings no tools searches those that its session has deferred."""

import pytest

from tests.turns.flows import DONE, Flow, Model, search
from tests.turns.shapes import ABOUT, SHAPES, Json, Shape, tools_of
from toolscout.turns.session import SessionStore


def without_tools(shape: Shape, text: str = "please help") -> Json:
    request = shape.request(text, [])
    return {key: value for key, value in request.items() if key not in ("tools", "toolConfig")}


def deferring(running: Flow, shape: Shape, tools: list[Json]) -> Flow:
    """Return a flow after a turn that has deferred these tools."""
    running.complete(shape.request("please help", tools), Model(shape, DONE), shape.name)
    return running


@pytest.mark.parametrize("strategy", ["api", "tool-search"])
def test_a_later_turn_without_tools_searches_the_sessions_own(flow, shape, tools, strategy):
    running = deferring(flow(strategy), shape, tools)
    model = Model(shape, search("read"), DONE)
    response = running.complete(without_tools(shape), model, shape.name)
    assert shape.read(response) == DONE
    assert model.seen(0) == ["gateway_search_tools"]
    assert model.seen(1) == ["gateway_search_tools", "read_file"]
    assert shape.raw(model.requests[1])[1:] == [tools[list(ABOUT).index("read_file")]]


def test_such_a_turn_has_every_tool_after_its_last_search(flow, shape, tools):
    running = deferring(flow(max_rounds=1, restore_on_no_match=True), shape, tools)
    model = Model(shape, search("read"), DONE)
    running.complete(without_tools(shape), model, shape.name)
    assert shape.raw(model.requests[1]) == tools


def test_where_forwarding_fails_after_a_search_it_goes_out_without_tools(flow, shape, tools):
    running = deferring(flow(), shape, tools)
    model = Model(shape, search("read"), RuntimeError("refused"), DONE)
    request = without_tools(shape)
    running.complete(request, model, shape.name)
    assert model.requests[2] == request


def test_without_a_list_or_without_deferred_tools_nothing_is_searched(flow, shape, tools):
    running = deferring(flow(), shape, tools)
    for request in (shape.request("please help", []), without_tools(shape, "something else")):
        model = Model(shape, DONE)
        running.complete(request, model, shape.name)
        assert model.requests == [request]


def test_definitions_go_only_to_the_provider_whose_shape_they_have(flow):
    first, other = SHAPES[0], SHAPES[-1]
    running = flow()
    request = first.request("please help", tools_of(first))
    running.complete(request, Model(first, DONE), first.name, session="s")
    bare, model = without_tools(other), Model(other, DONE)
    running.complete(bare, model, other.name, session="s")
    assert model.requests == [bare]


def test_equal_definitions_of_all_sessions_are_kept_once():
    store = SessionStore(catalog_bytes=1_000)
    tools = [{"name": "a", "description": "x" * 600}]
    store.mark_deferred("s", tools, "anthropic")
    store.mark_deferred("t", [dict(tools[0])], "anthropic")
    assert store.deferred_tools("s", "anthropic") == tools
    assert store.deferred_tools("t", "anthropic") == tools
    assert store.deferred_tools("t", "openai") == []
    assert store.deferred_tools("u", "anthropic") == []


def test_definitions_are_bounded_in_bytes():
    store = SessionStore(catalog_bytes=1_000)
    for session in "st":
        store.mark_deferred(session, [{"name": "a", "about": session * 600}], "anthropic")
    assert store.deferred_tools("s", "anthropic") == []
    assert store.deferred_tools("t", "anthropic") == [{"name": "a", "about": "t" * 600}]


def test_what_is_no_json_is_not_kept():
    store = SessionStore()
    store.mark_deferred("s", [{"name": "a", "run": object()}], "anthropic")
    assert store.deferred_tools("s", "anthropic") == []
