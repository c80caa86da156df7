"""Events of whole turns: how many tools were kept from the model, and whether it searched."""

import logging

import pytest

from tests.client.flows import DONE, Model, search
from tests.client.shapes import BY_NAME, SHAPES
from tests.client.streaming import StreamingModel
from tests.client.upstream import peer
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
