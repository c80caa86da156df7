"""Found tools behind one constant tool: the same tools in every request, and real calls outside."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.turns.flows import PHANTOM, Flow, Model
from tests.turns.shapes import SHAPES, Said, Shape
from tests.turns.streaming import EVENTS, StreamingModel, read
from toolscout.discovery import DiscoveryConfig, ToolDiscovery
from toolscout.discovery.config import ApiConfig
from toolscout.discovery.providers import PROVIDERS

Make = Callable[..., Flow]
SEARCH = Said("Looking.", (("call_1", PHANTOM, {"query": "send mail"}),))
MAIL = {"to": "a@b.example", "tags": [1, {"x": None}]}
THROUGH = Said("Sending.", (("call_2", "call_tool", {"name": "send_email", "arguments": MAIL}),))
DIRECT = Said("Sending.", (("call_2", "send_email", MAIL),))
DONE = Said("Done.")
CONSTANT = [PHANTOM, "call_tool"]


def test_the_client_gets_a_call_of_the_found_tool(flow: Make, shape: Shape, tools):
    model = Model(shape, SEARCH, THROUGH)
    answer = flow(dispatch="on").complete(shape.request("please", tools), model, shape.name)
    assert shape.read(answer) == DIRECT
    assert [model.seen(turn) for turn in range(2)] == [CONSTANT, CONSTANT]
    [found] = shape.results(model.requests[1]).values()
    defined = json.loads(next(line for line in found.splitlines() if line.startswith("{")))
    assert defined["name"] == "send_email"
    assert defined["parameters"]["properties"]


def test_the_next_request_goes_on_with_the_bytes_of_the_one_before(flow: Make, shape: Shape, tools):
    discovery = flow(dispatch="on")
    model = Model(shape, SEARCH, THROUGH, DONE)
    request = shape.request("please", tools)
    discovery.complete(request, model, shape.name)
    discovery.complete(shape.history(request, DIRECT, ["sent"], "thanks"), model, shape.name)
    assert model.seen(2) == CONSTANT
    second, third = model.requests[1:]
    assert json.dumps(shape.raw(second)) == json.dumps(shape.raw(third))
    history = PROVIDERS[shape.name].history
    before, after = history(second), history(third)
    assert json.dumps(after[: len(before)]) == json.dumps(before)
    assert PROVIDERS[shape.name].recent(third) == CONSTANT


def test_a_visible_tool_is_called_directly(flow: Make, shape: Shape, tools):
    discovery = flow(dispatch="on", always_keep=["send_email"])
    model = Model(shape, DIRECT, DONE)
    request = shape.request("please", tools)
    assert shape.read(discovery.complete(request, model, shape.name)) == DIRECT
    assert model.seen(0) == [*CONSTANT, "send_email"]
    discovery.complete(shape.history(request, DIRECT, ["sent"], "thanks"), model, shape.name)
    assert PROVIDERS[shape.name].recent(model.requests[1]) == ["send_email"]


ODD: list[tuple[Any, tuple[str, Any]]] = [
    ({"name": "send_email", "to": "x"}, ("send_email", {"to": "x"})),
    ({"name": "send_email", "arguments": '{"to": "x"}'}, ("send_email", {"to": "x"})),
    ({"name": "send_email"}, ("send_email", {})),
    ({"name": "no_such", "arguments": {}}, ("no_such", {})),
    ({"arguments": {"to": "x"}}, ("call_tool", {"arguments": {"to": "x"}})),
    ({"name": ""}, ("call_tool", {"name": ""})),
]


@pytest.mark.parametrize("shape", [s for s in SHAPES if s.name in EVENTS], ids=lambda s: s.name)
@pytest.mark.parametrize("piece", [1, 7, 100_000])
def test_a_stream_has_the_call_of_the_found_tool(service, shape: Shape, tools, piece):
    config = DiscoveryConfig(enabled=True, strategy="api", api=ApiConfig(service.url))
    both = Said("Sending.", (*THROUGH.calls, ("call_3", "call_tool", {"name": "read_file"})))
    model = StreamingModel(shape, SEARCH, both, piece=piece)
    discovery = ToolDiscovery(config, dispatch="on")
    out = b"".join(discovery.stream(shape.request("please", tools), model, shape.name))
    discovery.close()
    said = read(shape, out)
    assert said.calls == (*DIRECT.calls, ("call_3", "read_file", {}))
    assert said.text.endswith("Sending.")
    assert b"call_tool" not in out
    assert [model.seen(turn) for turn in range(2)] == [CONSTANT, CONSTANT]


def test_a_search_beside_a_call_shows_its_tools_next_time(flow: Make, shape: Shape, tools):
    """The model never saw the result, so only a declaration tells it of the tool."""
    discovery = flow(dispatch="on", always_keep=["read_file"], top_k=1)
    read_it = ("call_3", "read_file", {"path": "x"})
    model = Model(shape, Said("", (*SEARCH.calls, read_it)), DONE)
    request = shape.request("please", tools)
    answer = discovery.complete(request, model, shape.name)
    assert shape.read(answer).calls == (read_it,)
    discovery.complete(
        shape.history(request, Said("", (read_it,)), ["ok"], "go on"), model, shape.name
    )
    assert model.seen(1) == [*CONSTANT, "read_file", "send_email"]
