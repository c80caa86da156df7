"""Events of whole turns: how many tools were kept from the model, and whether it searched."""

import logging

import pytest

from tests.client.flows import DONE, Model, search
from tests.client.shapes import BY_NAME, SHAPES, Said
from tests.client.streaming import StreamingModel
from tests.client.upstream import peer
from toolscout.client import InvalidArgument
from toolscout.client.events import TurnEvent
from toolscout.discovery import ToolDiscovery


def many(shape, count: int = 30) -> list:
    return [shape.tool(f"tool_{number}", f"Does thing {number}") for number in range(count)]


def test_filtering_is_an_event(flow, shape):
    events: list[TurnEvent] = []
    running = flow("relevance", max_tools=5, turn_observers=[events.append])
    request = shape.request("thing 7", many(shape))
    running.complete(request, Model(shape, DONE), shape.name, session="s")
    assert events == [TurnEvent("filtered", "relevance", shape.name, "s", 30, 5)]


def test_deferral_is_an_event_and_so_is_a_turn_without_a_search(flow, shape):
    events: list[TurnEvent] = []
    running = flow(turn_observers=[events.append])
    request = shape.request("please help", many(shape))
    running.complete(request, Model(shape, DONE), shape.name, session="s")
    assert events == [
        TurnEvent("deferred", "api", shape.name, "s", 30, 1),
        TurnEvent("finished", "api", shape.name, "s", 30, 1),
    ]


def test_a_turn_says_how_often_the_model_searched(flow, shape, tools):
    events: list[TurnEvent] = []
    twice = Said(calls=(search("read").calls[0], search("email", "call_2").calls[0]))
    model = Model(shape, twice, search("tests", "call_3"), DONE)
    running = flow(turn_observers=[events.append])
    running.complete(shape.request("please help", tools), model, shape.name, session="s")
    assert events[-1] == TurnEvent("finished", "api", shape.name, "s", 6, 4, 3, 2)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_turn_that_streams_makes_the_same_events(provider):
    shape = BY_NAME[provider]
    events: list[TurnEvent] = []
    with peer(lambda exchange: exchange.select("tool_1")) as fake:
        discovery = ToolDiscovery(fake.url, timeout=5, turn_observers=[events.append])
        request = shape.request("please help", many(shape))
        for turns in ((search("thing"), DONE), (DONE,)):
            b"".join(discovery.stream(request, StreamingModel(shape, *turns), provider, "s"))
        discovery.close()
    assert [(e.stage, e.shown, e.searches) for e in events] == [
        ("deferred", 2, 0),
        ("finished", 2, 1),
        ("deferred", 2, 0),
        ("finished", 2, 0),
    ]


def test_a_request_that_is_left_alone_makes_no_event(flow, shape, tools):
    events: list[TurnEvent] = []
    for strategy in ("passthrough", "relevance"):
        running = flow(strategy, turn_observers=[events.append])
        running.complete(shape.request("read code", tools[:3]), Model(shape, DONE), shape.name)
    assert events == []


def test_turns_are_logged_with_their_counts(flow, caplog):
    shape = SHAPES[0]
    with caplog.at_level(logging.INFO, "toolscout.client"):
        flow().complete(shape.request("x", many(shape)), Model(shape, DONE), shape.name)
    told = [record for record in caplog.records if hasattr(record, "turn")]
    assert [record.message for record in told] == [
        "tools deferred: 30 -> 1 (api)",
        "turn finished: the model never searched",
    ]
    assert {record.levelname for record in told} == {"INFO"}
    assert told[0].turn["offered"] == 30


def test_an_observer_that_fails_harms_no_turn(flow, caplog):
    def broken(event: TurnEvent) -> None:
        raise RuntimeError("no room")

    shape = SHAPES[0]
    model = Model(shape, search("thing"), DONE)
    running = flow(turn_observers=[broken])
    response = running.complete(shape.request("x", many(shape)), model, shape.name)
    assert shape.read(response) == DONE
    assert "an observer of turns failed" in caplog.text


def test_observers_that_are_none_or_no_functions(flow):
    shape = SHAPES[0]
    running = flow(turn_observers=None)
    running.complete(shape.request("x", many(shape)), Model(shape, DONE), shape.name)
    with pytest.raises(InvalidArgument, match="turn_observers: expected a sequence of functions"):
        flow(turn_observers=[5])
