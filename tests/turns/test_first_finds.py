"""What a conversation finds first is declared, and what it finds later is called through a tool."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.turns.flows import DONE, PHANTOM, Flow, Model, begins_with, search
from tests.turns.shapes import Said, Shape
from toolscout.client.events import TurnEvent
from toolscout.turns.config import DiscoveryConfig

Make = Callable[..., Flow]
MAIL = Said("Sending.", (("call_2", "send_email", {"path": "a@b.example"}),))
THROUGH = Said("", (("call_4", "call_tool", {"name": "read_file", "arguments": {"path": "x"}}),))
READING = Said("", (("call_4", "read_file", {"path": "x"}),))
DECLARED = [PHANTOM, "call_tool", "send_email"]


def test_the_first_find_is_declared_and_the_next_one_is_called_through(flow, shape, tools):
    discovery = flow(dispatch="auto")
    model = Model(shape, search("email"), MAIL, DONE, search("read", "call_3"), THROUGH, DONE)
    first = shape.request("write to a@b.example", tools)
    assert shape.read(discovery.complete(first, model, shape.name)) == MAIL
    second = shape.history(first, MAIL, ["sent"], "and now read it")
    assert shape.read(discovery.complete(second, model, shape.name)) == DONE
    third = shape.history(second, DONE, [], "read x, please")
    assert shape.read(discovery.complete(third, model, shape.name)) == READING
    assert [model.seen(turn) for turn in range(5)] == [[PHANTOM], *[DECLARED] * 4]
    for earlier, later in ((1, 2), (2, 3), (3, 4)):
        assert begins_with(model.requests[later], model.requests[earlier], shape)
    told = shape.results(model.requests[4])["call_3"]
    assert json.loads(told.splitlines()[-1])["name"] == "read_file"


def test_what_fits_the_first_message_is_the_first_find(flow: Make, shape: Shape, tools):
    discovery = flow("hybrid-first", dispatch="auto")
    model = Model(shape, search("read", "call_3"), THROUGH)
    request = shape.request("email somebody", tools)
    assert shape.read(discovery.complete(request, model, shape.name)) == READING
    assert [model.seen(turn) for turn in range(2)] == [DECLARED, DECLARED]


def test_where_nothing_fits_the_first_message_the_first_search_is_the_first_find(
    flow: Make, shape: Shape, tools
):
    discovery = flow("hybrid-first", dispatch="auto")
    model = Model(shape, search("email"), MAIL)
    request = shape.request("hello there", tools)
    assert shape.read(discovery.complete(request, model, shape.name)) == MAIL
    assert [model.seen(turn) for turn in range(2)] == [[PHANTOM], DECLARED]


BOTH = Said("", (*search("email").calls, *search("read", "call_2").calls))


@pytest.mark.parametrize("strategy", ["api", "hybrid-first"])
def test_what_the_searches_of_one_answer_find_is_declared_together(
    flow: Make, shape: Shape, tools, strategy
):
    discovery = flow(strategy, dispatch="auto")
    model = Model(shape, BOTH, MAIL, search("test", "call_9"), DONE)
    first = shape.request("hello there", tools)
    assert shape.read(discovery.complete(first, model, shape.name)) == MAIL
    later = shape.history(first, MAIL, ["sent"], "thanks a lot")
    assert shape.read(discovery.complete(later, model, shape.name)) == DONE
    assert [sorted(model.seen(turn)) for turn in range(4)] == [
        [PHANTOM],
        *[sorted([*DECLARED, "read_file"])] * 3,
    ]
    assert begins_with(model.requests[2], model.requests[1], shape)
    told = "\n".join(shape.results(model.requests[1]).values())
    assert "send_email" in told
    assert "read_file" in told
    assert "call_tool" not in told
    assert '"name":"run_tests"' in shape.results(model.requests[3])["call_9"]


def test_a_search_without_an_answer_takes_nothing_from_the_one_beside_it(
    flow: Make, shape: Shape, tools
):
    discovery = flow(dispatch="auto")
    beside = Said("", (*search("zxqv").calls, *search("read", "call_2").calls))
    model = Model(shape, beside, DONE)
    discovery.complete(shape.request("hello there", tools), model, shape.name)
    assert model.seen(1) == [PHANTOM, "call_tool", "read_file"]


def test_a_search_beside_a_call_is_a_first_find_too(flow: Make, shape: Shape, tools):
    discovery = flow(dispatch="auto", always_keep=["read_file"], top_k=1)
    beside = Said("", (*search("email").calls, ("call_3", "read_file", {"path": "x"})))
    model = Model(shape, beside, DONE)
    request = shape.request("read x, then write", tools)
    answer = shape.read(discovery.complete(request, model, shape.name))
    assert answer.calls == beside.calls[1:]
    discovery.complete(shape.history(request, answer, ["ok"], "go on"), model, shape.name)
    assert sorted(model.seen(1)) == sorted([*DECLARED, "read_file"])


def test_a_call_of_what_a_search_found_counts_as_found_though_it_is_declared(
    flow: Make, shape: Shape, tools
):
    events: list[TurnEvent] = []
    discovery = flow(dispatch="auto", turn_observers=[events.append])
    model = Model(shape, search("email"), MAIL)
    discovery.complete(shape.request("please", tools), model, shape.name)
    assert (events[-1].called_visible, events[-1].called_found) == (0, 1)


def test_an_outage_before_the_first_find_brings_every_tool_back(flow: Make, shape: Shape, tools):
    model = Model(shape, search("email"), MAIL)
    running = flow(endpoint="http://127.0.0.1:9", dispatch="auto")
    assert shape.read(running.complete(shape.request("please", tools), model, shape.name)) == MAIL
    assert {"send_email", "read_file"} <= {*model.seen(1)}
    assert "call_tool" not in model.seen(1)


@pytest.mark.parametrize("written", ["on", "off", "auto", True, False])
def test_a_file_says_it_in_words_or_as_yaml_reads_them(written: Any):
    config = DiscoveryConfig.of({"enabled": True, "strategy": "api", "dispatch": written})
    assert config.dispatch == {True: "on", False: "off"}.get(written, written)


@pytest.mark.parametrize(("written", "mode"), [({}, "off"), ({"dispatch": "auto"}, "auto")])
def test_a_file_declares_every_find_unless_it_says_otherwise(written: Any, mode: str):
    config = DiscoveryConfig.of({"enabled": True, "strategy": "api", **written})
    assert config.dispatch == mode
    assert DiscoveryConfig().dispatch == "auto"
