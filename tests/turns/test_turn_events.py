"""Events of whole turns: how many tools were kept from the model, and whether it searched."""

import logging

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from tests.client.upstream import Exchange, peer
from tests.support import PATIENCE_S
from tests.turns.flows import DONE, Model, search
from tests.turns.shapes import BY_NAME, SHAPES, Said
from tests.turns.streaming import StreamingModel
from toolscout.client.events import TurnEvent
from toolscout.client.metrics import PrometheusMetrics
from toolscout.client.offer import Offer
from toolscout.discovery import ToolDiscovery
from toolscout.turns.lessons.reporter import Reporter


def many(shape, count: int = 30) -> list:
    return [shape.tool(f"tool_{number}", f"Does thing {number}") for number in range(count)]


def counted(event: TurnEvent) -> tuple:
    return (
        *(event.stage, event.strategy, event.provider, event.session),
        event.offered,
        event.shown,
    )


def tokens(shape) -> int:
    """Return a quarter of the characters of the definitions, rounded up."""
    definitions = Offer(many(shape)).by_name.values()
    return -(-sum(len(msgspec.json.encode(each)) for each in definitions) // 4)


def test_filtering_is_an_event(flow, shape):
    events: list[TurnEvent] = []
    running = flow("relevance", max_tools=5, turn_observers=[events.append])
    request = shape.request("thing 7", many(shape))
    running.complete(request, Model(shape, DONE), shape.name, session="s")
    (event,) = events
    assert counted(event) == ("filtered", "relevance", shape.name, "s", 30, 5)
    assert event.tokens_offered == tokens(shape)
    assert event.tokens_shown * 5 < event.tokens_offered


def test_deferral_is_an_event_and_so_is_a_turn_without_a_search(flow, shape):
    events: list[TurnEvent] = []
    running = flow(turn_observers=[events.append])
    request = shape.request("please help", many(shape))
    running.complete(request, Model(shape, DONE), shape.name, session="s")
    assert [counted(event) for event in events] == [
        ("deferred", "api", shape.name, "s", 30, 1),
        ("finished", "api", shape.name, "s", 30, 1),
    ]
    assert [event.tokens_offered for event in events] == [tokens(shape)] * 2
    assert all(0 < event.tokens_shown < event.tokens_offered / 4 for event in events)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_turn_that_streams_makes_the_same_events(provider):
    shape = BY_NAME[provider]
    events: list[TurnEvent] = []
    with peer(lambda exchange: exchange.select("tool_1")) as fake:
        discovery = ToolDiscovery(fake.url, timeout=PATIENCE_S, turn_observers=[events.append])
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


def test_a_turn_counts_what_was_answered_by_a_cheaper_ranker():
    shape = BY_NAME["openai"]
    events: list[TurnEvent] = []

    def cold(exchange: Exchange) -> None:
        exchange.select("tool_1", headers=[("X-Tool-Selection", "30->1; degraded=keyword")])

    with peer(cold) as fake:
        discovery = ToolDiscovery(fake.url, timeout=PATIENCE_S, turn_observers=[events.append])
        model = Model(shape, search("thing"), DONE)
        discovery.complete(shape.request("x", many(shape)), model, shape.name, "s")
        discovery.close()
    assert [(event.stage, event.degraded) for event in events] == [("deferred", 1), ("finished", 2)]


def test_in_an_outage_no_call_is_of_a_hidden_tool():
    shape = BY_NAME["openai"]
    events: list[TurnEvent] = []
    discovery = ToolDiscovery("http://127.0.0.1:9", turn_observers=[events.append])
    calling = Said("", (("1", "tool_1", {}),))
    discovery.complete(shape.request("x", many(shape)), Model(shape, calling), shape.name, "s")
    discovery.close()
    assert (events[-1].called_visible, events[-1].called_hidden) == (1, 0)


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


@pytest.mark.parametrize("name", [{}, [], 5, None, True, ""], ids=repr)
@pytest.mark.parametrize("strategy", ["api", "hybrid-first", "relevance"])
def test_a_builtin_with_an_odd_name_is_observed_too(flow, shape, strategy, name, caplog):
    events: list[TurnEvent] = []
    tools = [*many(shape), {"type": "web_search", "name": name}]
    calling = Said("", (("1", "tool_1", {}),))
    running = flow(strategy, max_tools=5, turn_observers=[events.append])
    answer = running.complete(shape.request("x", tools), Model(shape, calling), shape.name)
    assert shape.read(answer) == calling
    assert {event.offered for event in events} == {30}
    assert caplog.records == []


def test_what_fails_to_observe_a_turn_changes_no_answer_and_writes_a_line(
    flow, shape, caplog, monkeypatch
):
    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(Reporter, "observe", broken)
    calling = Said("", (("1", "tool_1", {}),))
    request, model = shape.request("x", many(shape)), Model(shape, calling)
    answer = flow(turn_observers=[broken]).complete(request, model, shape.name)
    assert shape.read(answer) == calling
    assert [(record.message, bool(record.exc_info)) for record in caplog.records] == [
        ("an observer of turns failed", True),  # the operator's own
        ("a turn could not be observed (RuntimeError)", False),
    ]


@pytest.mark.parametrize("native", [True, False], ids=["native", "emulated"])
def test_a_finished_turn_counts_how_the_model_came_to_know_what_it_called(native):
    shape = BY_NAME["anthropic"]
    registry = CollectorRegistry()
    metrics = PrometheusMetrics(registry)
    calling = Said("", (("1", "tool_1", {}), ("2", "tool_9", {}), ("3", "tool_2", {})))

    def script(exchange: Exchange) -> None:
        exchange.select("tool_1" if exchange.json["pattern"] == "thing" else "tool_3")

    with peer(script) as fake:
        options = {"always_keep": ["tool_2"], "native": native, "observers": None}
        discovery = ToolDiscovery(fake.url, timeout=PATIENCE_S, turn_observers=[metrics], **options)
        request = {**shape.request("please help", many(shape)), "model": "claude-opus-5"}
        discovery.complete(request, Model(shape, search("thing"), calling), shape.name, "s")
        discovery.close()

    def calls(tool: str) -> float | None:
        return registry.get_sample_value("toolscout_client_calls_total", {"tool": tool})

    assert (calls("visible"), calls("found"), calls("hidden")) == (1, 1, 1)
    shown, offered = (
        registry.get_sample_value("toolscout_client_tokens_total", {"tools": tools}) or 0
        for tools in ("shown", "offered")
    )
    assert 0 < shown < offered / 3  # once, not for both events of the turn
