"""A call teaches once its result is known, and one that failed teaches that it did."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.client.upstream import Exchange, Peer, peer
from tests.support import PATIENCE_S
from tests.turns.flows import DONE, Model, search
from tests.turns.shapes import ABOUT, BY_NAME, SHAPES, Json, Said, Shape, tools_of
from tests.turns.streaming import EVENTS, StreamingModel
from toolscout.discovery import DiscoveryConfig, ToolDiscovery
from toolscout.turns.config import ApiConfig
from toolscout.turns.lessons import lessons

READ = ("call_r", "read_file", {"path": "x"})
READING = Said(calls=(READ,))
NAMED = [*ABOUT]

Event = tuple[str, str, bool]


@pytest.fixture
def service() -> Iterator[Peer]:
    def script(exchange: Exchange) -> None:
        if "/feedback" in exchange.path:
            exchange.answer(b"{}", status=202)
        else:
            words = exchange.json["pattern"].split()
            exchange.select(*[name for name in NAMED if any(word in name for word in words)])

    with peer(script, takes_feedback=True) as started:
        yield started


@pytest.fixture
def discovery(service: Peer) -> Iterator[ToolDiscovery]:
    api = ApiConfig(service.url, timeout=PATIENCE_S)
    made = ToolDiscovery(DiscoveryConfig(enabled=True, strategy="api", api=api))
    yield made
    made.close()


def reported(service: Peer, discovery: ToolDiscovery) -> list[Event]:
    discovery.close()
    posts = [one.json for one in service.requests if "/feedback" in one.path]
    events = [event for post in posts for event in post["events"]]
    return [(event["pattern"], event["tool"], event["success"]) for event in events]


def asked(shape: Shape, text: str = "please help") -> Json:
    return shape.request(text, tools_of(shape))


def run(discovery: ToolDiscovery, shape: Shape, request: Json, *turns: Said) -> None:
    discovery.complete(request, Model(shape, *turns), shape.name)


def marked(value: Any, key: str, **fields: Any) -> Any:
    """Return messages in which each result of a call has these fields."""
    if isinstance(value, list):
        return [marked(one, key, **fields) for one in value]
    if not isinstance(value, dict):
        return value
    inner = {name: marked(one, key, **fields) for name, one in value.items()}
    if value.get("type") == key:
        return inner | fields
    return inner | ({key: inner[key] | fields} if key in inner else {})


OWN_FIELDS: dict[str, Any] = {
    "anthropic": ("tool_result", {"is_error": True}),
    "bedrock-anthropic": ("tool_result", {"is_error": True}),
    "bedrock": ("toolResult", {"status": "error"}),
    "gemini": ("functionResponse", {"response": {"error": "no such file"}}),
}


@pytest.mark.parametrize("interface", OWN_FIELDS)
def test_the_field_of_an_interface_says_that_a_call_failed(discovery, service, interface):
    shape = BY_NAME[interface]
    run(discovery, shape, asked(shape), search("read it"), READING)
    key, fields = OWN_FIELDS[interface]
    told = shape.history(asked(shape), READING, ["no such file"], "and now?")
    run(discovery, shape, marked(told, key, **fields), DONE)
    assert reported(service, discovery) == [("read it", "read_file", False)]


@pytest.mark.parametrize(
    ("result", "success"),
    [
        ('{"error": "no such file"}', False),
        (' {"error": {"code": 2}}', False),
        ('{"content": [], "isError": true}', False),
        ('{"error": null, "lines": 3}', True),
        ('{"lines": ["error"]}', True),
        ('{"error": "cut off', True),
        (json.dumps({"error": "x" * 20_000}), False),
        (json.dumps({"error": {"message": "x"}, "data": "y" * 20_000}), False),
        (json.dumps({"data": "y" * 20_000}), True),
        ('{"status": "error", "message": "x"}', False),
        ('{"status": "done"}', True),
        ('{"success": false}', False),
        ('{"ok": "false"}', False),
        ('{"success": true, "ok": null}', True),
        ('{"errors": ["x"]}', False),
        ('{"errors": [], "lines": 3}', True),
        ('[{"error": "x"}, {"is_error": true}]', False),
        ('[{"error": "x"}, {"lines": 3}]', True),
        ('[{"error": "x"}, 3]', True),
        ("[]", True),
        ('{"error": ""}', True),
        ('{"error": "false"}', True),
        ('{"error": false}', True),
        ("Error: no such branch", False),
        ("ERROR executing read_file: gone", False),
        ("Traceback (most recent call last):\n  File", False),
        ("Errors: 0 found", True),
        ("error: " + "x" * 20_000, False),
    ],
)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_an_output_that_says_that_it_is_an_error_is_a_failure(
    discovery, service, shape, result, success
):
    run(discovery, shape, asked(shape), search("read it"), READING)
    run(discovery, shape, shape.history(asked(shape), READING, [result], "and now?"), DONE)
    assert reported(service, discovery) == [("read it", "read_file", success)]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_call_without_a_result_teaches_nothing(discovery, service, shape):
    run(discovery, shape, asked(shape), search("read it"), READING)
    run(discovery, shape, shape.history(asked(shape), DONE, [], "never mind"), DONE)
    run(discovery, shape, asked(shape, "something else"), DONE)
    assert reported(service, discovery) == []


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_call_that_works_after_one_that_failed_is_a_success(discovery, service, shape):
    again = Said(calls=(("call_s", "read_file", {"path": "y"}),))
    run(discovery, shape, asked(shape), search("read it"), READING)
    failed = shape.history(asked(shape), READING, ['{"error": "no"}'], "go on")
    run(discovery, shape, failed, search("read that"), again)
    run(discovery, shape, shape.history(failed, again, ["text"], "thanks"), DONE)
    events = reported(service, discovery)
    assert events == [("read it", "read_file", False), ("read that", "read_file", True)]


def test_a_call_that_is_made_again_for_the_same_search_is_learned_again(discovery, service):
    shape = BY_NAME["openai"]
    again = Said(calls=(("call_s", "read_file", {"path": "y"}),))
    run(discovery, shape, asked(shape), search("read it"), READING)
    failed = shape.history(asked(shape), READING, ['{"error": "no"}'], "go on")
    failed["messages"].pop()  # the model tries again before the user says anything
    run(discovery, shape, failed, again)
    run(discovery, shape, shape.history(failed, again, ["text"], "thanks"), DONE)
    events = reported(service, discovery)
    assert events == [("read it", "read_file", False), ("read it", "read_file", True)]


def test_of_two_calls_of_a_tool_one_that_works_is_enough(discovery, service):
    shape = BY_NAME["anthropic"]
    twice = Said(calls=(READ, ("call_s", "read_file", {"path": "y"})))
    run(discovery, shape, asked(shape), search("read it"), twice)
    told = shape.history(asked(shape), twice, ['{"error": "no"}', "text"], "thanks")
    run(discovery, shape, told, DONE)
    assert reported(service, discovery) == [("read it", "read_file", True)]


def test_the_result_of_a_later_call_without_an_id_is_not_that_of_an_earlier_one(discovery, service):
    """Gemini's calls may have no ids; then only the name of the tool tells whose a result is."""
    shape = BY_NAME["gemini"]
    nameless = Said(calls=(("", "read_file", {"path": "x"}),))
    run(discovery, shape, asked(shape), search("read it"), nameless)
    later = shape.history(asked(shape), DONE, [], "never mind")
    run(discovery, shape, later, nameless)
    run(discovery, shape, shape.history(later, nameless, ['{"error": "no"}'], "go on"), DONE)
    assert reported(service, discovery) == []


def test_a_call_without_an_id_is_known_by_its_tool(discovery, service):
    shape = BY_NAME["gemini"]
    nameless = Said(calls=(("", "read_file", {"path": "x"}),))
    run(discovery, shape, asked(shape), search("read it"), nameless)
    told = shape.history(asked(shape), nameless, ['{"error": "no"}'], "go on")
    run(discovery, shape, told, DONE)
    assert reported(service, discovery) == [("read it", "read_file", False)]


@pytest.mark.parametrize("interface", EVENTS)
def test_a_stream_teaches_the_same(discovery, service, interface):
    shape = BY_NAME[interface]
    model = StreamingModel(shape, search("read it"), READING, DONE)
    b"".join(discovery.stream(asked(shape), model, interface))
    told = shape.history(asked(shape), READING, ['{"error": "no"}'], "and now?")
    b"".join(discovery.stream(told, model, interface))
    assert reported(service, discovery) == [("read it", "read_file", False)]


def test_what_waits_for_a_result_is_bounded(service, monkeypatch):
    shape = BY_NAME["openai"]
    monkeypatch.setattr(lessons, "MAX_HELD_BYTES", 5 * lessons.OBSERVATION_BYTES)
    api = ApiConfig(service.url, timeout=PATIENCE_S)
    discovery = ToolDiscovery(DiscoveryConfig(enabled=True, strategy="api", api=api))
    texts = [f"please help {number}" for number in range(8)]
    for text in texts:
        run(discovery, shape, asked(shape, text), search("read it"), READING)
    for text in texts:
        told = shape.history(asked(shape, text), READING, ["text"], "thanks")
        run(discovery, shape, told, DONE)
    assert len(reported(service, discovery)) == 4
