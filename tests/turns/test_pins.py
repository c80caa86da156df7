"""Tools that stay in sight: those that the caller names, and those without which no run ends."""

import json
from collections.abc import Iterable, Iterator
from functools import cache

import httpx2
import pytest
from prometheus_client import CollectorRegistry

from tests.client.upstream import Exchange, Peer, peer
from tests.turns.agents import MODELS, Agent
from tests.turns.flows import DONE, PHANTOM, Model, search
from tests.turns.model import ScriptedModel
from tests.turns.shapes import ABOUT, BY_NAME, Json, tools_of
from toolscout import Engine
from toolscout.client.events import SearchEvent
from toolscout.client.metrics import PrometheusMetrics
from toolscout.discovery import Transport

ENDINGS = ["final_result", "final_result_Invoice", "final_answer", "transfer_to_billing"]
MUST_CALL: dict[str, Json] = {
    "openai": {"tool_choice": "required"},
    "openai-responses": {"tool_choice": "required"},
    "anthropic": {"tool_choice": {"type": "any"}},
    "bedrock-anthropic": {"tool_choice": {"type": "any"}},
    "bedrock": {"toolChoice": {"any": {}}},
    "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}},
}
OPENAI = BY_NAME["openai"]
MANY = {f"tool_{number}": f"Does the thing of number {number}" for number in range(30)}


@pytest.mark.parametrize("strategy", ["api", "hybrid-first", "tool-search"])
def test_tools_that_end_a_run_are_shown_beside_what_was_found(flow, shape, tools, strategy):
    model = Model(shape, search("read"), DONE)
    ending = [shape.tool(name, "Finish") for name in ENDINGS]
    flow(strategy, top_k=1).complete(shape.request("read it", [*tools, *ending]), model, shape.name)
    assert set(model.seen(1)) == {PHANTOM, "read_file", *ENDINGS}


@pytest.mark.parametrize("strategy", ["api", "relevance"])
def test_patterns_and_servers_stay_in_sight(flow, shape, strategy):
    model = Model(shape, DONE)
    named = {"github__merge": "Merge", "github__open": "Open", "slack__post": "Post"}
    declared = tools_of(shape, MANY | named)
    running = flow(strategy, always_keep=["server:slack", "*__merge"], max_tools=5)
    running.complete(shape.request("do the thing of number 3", declared), model, shape.name)
    assert {"slack__post", "github__merge"} <= set(model.seen(0))
    assert "github__open" not in model.seen(0)


def test_a_request_whose_definitions_are_short_is_left_as_it_is(flow, shape, tools):
    for tokens, count in ((10_000, len(tools)), (10, 1)):
        model = Model(shape, DONE)
        running = flow(defer_above_tokens=tokens)
        running.complete(shape.request("please", tools), model, shape.name)
        assert len(model.seen(0)) == count


def test_a_filtered_request_keeps_the_tools_that_end_a_run(flow, shape):
    model = Model(shape, DONE)
    ending = [shape.tool(name, "Finish") for name in ENDINGS]
    request = shape.request("do the thing of number 3", [*ending, *tools_of(shape, MANY)])
    flow("relevance", max_tools=5).complete(request, model, shape.name)
    assert set(model.seen(0)) > {"tool_3", *ENDINGS}


def test_the_last_tool_is_shown_where_the_model_must_call_one(flow, shape, tools):
    model = Model(shape, DONE)
    request = shape.request("read it", [*tools, shape.tool("Invoice", "An invoice")])
    flow().complete(request, model, shape.name)
    assert model.seen(0) == [PHANTOM]
    must = shape.request("read", [*tools, shape.tool("Invoice", "")], **MUST_CALL[shape.name])
    flow().complete(must, model, shape.name)
    assert model.seen(1) == [PHANTOM, "Invoice"]


def test_the_tools_that_end_a_run_are_not_pins_of_the_service(flow, tools, shape, service):
    ending = [shape.tool(name, "Finish") for name in ENDINGS]
    flow("hybrid-first").complete(
        shape.request("read", [*tools, *ending]), Model(shape, DONE), shape.name
    )
    assert "always_keep" not in service.requests[0].json


def test_a_transport_shows_its_pins_and_asks_for_as_many_as_it_is_told(service):
    body = OPENAI.request("read or run", tools_of(OPENAI, MANY | ABOUT))
    answer = json.dumps(OPENAI.response(DONE)).encode()
    with (
        peer(lambda exchange: exchange.answer(answer)) as upstream,
        httpx2.Client(transport=Transport(service.url, always_keep=["create_db"], top_k=2)) as http,
    ):
        http.post(f"{upstream.url}/chat/completions", json=body)
        seen = OPENAI.names(upstream.requests[0].json)
    assert seen == [PHANTOM, "call_tool", "read_file", "create_db", "run_tests"]
    asked = service.requests[0].json
    assert (asked["top_k"], asked["always_keep"]) == (2, ["create_db"])


PLACES = 5
VERBS = "create merge list close review update get label reopen approve".split()
REQUESTS = {f"{verb}_pull_request": f"{verb.title()} a pull request" for verb in VERBS}
EMAILS = {f"{verb}_email": f"{verb.title()} an email" for verb in VERBS}
WORK = MANY | REQUESTS | EMAILS
PINNED = ["tool_1", "create_pull_request", "tool_2", "merge_pull_request", "create_email"]
with_pins = pytest.mark.parametrize("pins", [PINNED[:count] for count in (0, 2, 5)], ids=len)
EMAIL, PULL_REQUEST = "email", "pull request"


@pytest.fixture(scope="module")
def engine() -> Iterator[Peer]:
    """Yield a service that ranks with the real engine, pins included."""

    @cache
    def engine_of(tools: str) -> Engine:
        return Engine(json.loads(tools))

    def script(exchange: Exchange) -> None:
        asked = exchange.json
        options = {key: asked[key] for key in ("top_k", "always_keep") if key in asked}
        engine = engine_of(json.dumps(asked["tools"]))
        exchange.select(*engine.search(asked["pattern"], **options).names)

    with peer(script) as started:
        yield started


def brought(seen: Iterable[list[str]], pins: list[str]) -> list[int]:
    """Count the tools that each request shows for the first time, but for pins."""
    counts, before = [], {*pins, PHANTOM, "call_tool"}
    for names in seen:
        counts.append(len({*names} - before))
        before |= {*names}
    return counts


@with_pins
def test_a_search_asks_for_its_most_results_names_the_pins_and_counts_what_is_shown(
    flow, shape, engine, pins
):
    events: list[SearchEvent] = []
    metrics = PrometheusMetrics(registry := CollectorRegistry())
    model = Model(shape, search(PULL_REQUEST), DONE)
    running = flow("api", engine.url, always_keep=tuple(pins), observers=[events.append, metrics])
    before = len(engine.requests)
    running.complete(shape.request(EMAIL, tools_of(shape, WORK)), model, shape.name)
    [asked] = [exchange.json for exchange in engine.requests[before:]]
    assert asked["top_k"] == PLACES
    assert sorted(asked.get("always_keep", [])) == sorted(pins)
    assert {*pins}.isdisjoint(tool["name"] for tool in asked["tools"])
    [event] = events
    assert event.deferred_count == len(asked["tools"])
    assert {*event.selected} == {*model.seen(1)} - {PHANTOM, *pins}
    assert registry.get_sample_value("toolscout_client_tools_reinjected_total") == PLACES


def only_what_is_named(exchange: Exchange) -> None:
    """Answer as a service that finds nothing but the tool whose name is asked for."""
    asked = exchange.json
    names = [tool["name"] for tool in asked["tools"]]
    found = [name for name in names if name == asked["pattern"]]
    exchange.select(*found, *(asked.get("always_keep", ()) if found else ()))


@pytest.fixture
def strict() -> Iterator[Peer]:
    with peer(only_what_is_named) as started:
        yield started


@pytest.mark.parametrize("strategy", ["api", "tool-search"])
@pytest.mark.parametrize("restores", [True, False], ids=["restores", "tells"])
def test_a_search_that_only_a_pin_fits_is_answered_with_its_name(
    flow, shape, strict, strategy, restores
):
    events: list[SearchEvent] = []
    model = Model(shape, search("create_email"), DONE)
    pins = ("create_email", "merge_pull_request")
    options = {"observers": [events.append], "restore_on_no_match": restores}
    running = flow(strategy, strict.url, always_keep=pins, **options)
    running.complete(shape.request("hello", tools_of(shape, WORK)), model, shape.name)
    assert sorted(model.seen(1)) == sorted([PHANTOM, *pins])
    [told] = shape.results(model.requests[1]).values()
    assert "- create_email: Create an email" in told
    assert "merge_pull_request" not in told
    assert [(event.status, event.selected) for event in events] == [("selected", ["create_email"])]
    assert events[0].deferred_count == len(WORK) - len(pins)


def test_what_no_tool_fits_is_no_match_once(flow, strict):
    events: list[SearchEvent] = []
    model = Model(OPENAI, search("zxqv"), DONE)
    running = flow("api", strict.url, always_keep=("create_email",), observers=[events.append])
    running.complete(OPENAI.request("hello", tools_of(OPENAI, WORK)), model, "openai")
    assert [event.status for event in events] == ["no_match"]
    assert events[0].attempts == 2
    assert "No tool fits this search." in json.dumps(model.requests[1])


def test_an_outage_after_nothing_was_found_leaves_it_at_that(flow):
    def once(exchange: Exchange) -> None:
        exchange.select() if exchange.number == 0 else exchange.answer(b"{}", 500)

    events: list[SearchEvent] = []
    model = Model(OPENAI, search("zxqv"), DONE)
    with peer(once) as service:
        running = flow("api", service.url, always_keep=("create_email",), observers=[events.append])
        running.complete(OPENAI.request("hello", tools_of(OPENAI, WORK)), model, "openai")
    assert [(event.status, event.attempts) for event in events] == [("no_match", 2)]


def test_pins_that_a_service_names_though_nothing_else_fits_are_an_answer(flow):
    model = Model(OPENAI, search("write a mail"), DONE)
    with peer(lambda exchange: exchange.select(*exchange.json["always_keep"])) as service:
        running = flow("api", service.url, always_keep=("create_email",))
        running.complete(OPENAI.request("hello", tools_of(OPENAI, WORK)), model, "openai")
    assert model.seen(1) == [PHANTOM, "create_email"]


def test_where_every_tool_is_a_pin_all_are_searched(flow, strict):
    events: list[SearchEvent] = []
    model = Model(OPENAI, search("create_email"), DONE)
    running = flow("api", strict.url, always_keep=["*"], observers=[events.append])
    running.complete(OPENAI.request("hello", tools_of(OPENAI, WORK)), model, "openai")
    assert events[0].status == "selected"
    assert events[0].selected[0] == "create_email"


@with_pins
@pytest.mark.parametrize("strategy", ["api", "hybrid-first", "tool-search"])
def test_what_is_visible_takes_no_place_of_what_is_found(flow, shape, engine, strategy, pins):
    model = Model(shape, search(PULL_REQUEST), DONE)
    request = shape.request(EMAIL, tools_of(shape, WORK))
    running = flow(strategy, engine.url, always_keep=tuple(pins))
    running.complete(request, model, shape.name)
    first = PLACES if strategy == "hybrid-first" else 0
    assert {*pins} <= {*model.seen(0)}
    assert brought(map(model.seen, range(2)), pins) == [first, PLACES]


def test_what_the_first_search_showed_has_places_in_the_next(flow, shape, engine):
    """Else a model that asks for the same again would be shown ever more, and worse, tools."""
    model = Model(shape, search(EMAIL), DONE)
    request = shape.request(EMAIL, tools_of(shape, WORK))
    flow("hybrid-first", engine.url).complete(request, model, shape.name)
    assert brought(map(model.seen, range(2)), []) == [PLACES, 0]


@with_pins
@pytest.mark.parametrize("native", [True, False], ids=["native", "emulated"])
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("interface", MODELS)
def test_nor_does_it_for_an_sdk_in_any_form(engine, interface, streams, native, pins):
    model = ScriptedModel(wants="approve_pull_request")
    model.query = "approve a pull request"
    transport = Transport(engine.url, always_keep=pins, native=native)
    with peer(model) as upstream:
        agent = Agent(interface, upstream.url, transport, WORK, streams=streams)
        assert agent.ask(EMAIL) == ["approve_pull_request"]
        assert brought(model.seen(agent.shape), pins) == [PLACES, PLACES, 0]


@with_pins
def test_nor_does_it_where_tools_are_called_through_another(flow, shape, engine, pins):
    model = Model(shape, search(PULL_REQUEST), DONE)
    request = shape.request(EMAIL, tools_of(shape, WORK))
    flow("api", engine.url, always_keep=tuple(pins), dispatch="on").complete(
        request, model, shape.name
    )
    [told] = shape.results(model.requests[1]).values()
    defined = [json.loads(line)["name"] for line in told.splitlines() if line.startswith("{")]
    assert brought([defined], pins) == [PLACES]


@with_pins
def test_a_filter_shows_as_many_tools_beside_the_pins(flow, shape, pins):
    model = Model(shape, DONE)
    request = shape.request(EMAIL, tools_of(shape, WORK))
    running = flow("relevance", max_tools=PLACES, always_keep=tuple(pins))
    running.complete(request, model, shape.name)
    assert brought([model.seen(0)], pins) == [PLACES]
