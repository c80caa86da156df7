"""What a flow does with requests that are special, odd, or not for it."""

from typing import Any
from unittest.mock import Mock

import pytest

from tests.turns.flows import DONE, PHANTOM, Model, search
from tests.turns.shapes import ABOUT, BY_NAME, SHAPES, Json, tools_of
from tests.turns.streaming import in_every_form, turn
from toolscout.client import InvalidArgument
from toolscout.client.events import SearchEvent
from toolscout.discovery import AsyncToolDiscovery, DiscoveryConfig, ToolDiscovery
from toolscout.turns.config import ApiConfig

OPENAI = BY_NAME["openai"]


@pytest.mark.parametrize(
    "shape", [shape for shape in SHAPES if shape.forcing("create_db")], ids=lambda shape: shape.name
)
def test_the_tool_a_request_forces_is_not_deferred(flow, shape, tools):
    model = Model(shape, DONE)
    request = shape.request("please help", tools, **shape.forcing("create_db"))
    flow().complete(request, model, shape.name)
    assert model.seen(0) == [PHANTOM, "create_db"]


def test_requests_that_name_no_conversation_take_sides_one_by_one(flow):
    shape = BY_NAME["openai"]
    tools = tools_of(shape)
    request = shape.request("x", tools) | {"messages": [{"role": "system", "content": "work"}]}
    running, model = flow(rollout="percent:50"), Model(shape, DONE)
    for _ in range(60):
        running.complete(request, model, "openai")
    sides = {PHANTOM in model.seen(number) for number in range(60)}
    assert sides == {True, False}  # by chance alone not in 1 of 2**59 runs


def test_a_thread_whose_tools_cannot_change_is_told_of_once(flow, caplog):
    shape = BY_NAME["anthropic"]
    tools = tools_of(shape)
    running = flow()
    for text in ("read", "write"):
        model = Model(shape, DONE)
        request = shape.request(text, tools, thread={"type": "new"}, model="claude-3-5-sonnet")
        running.complete(request, model, "anthropic")
        assert model.requests == [request]
    assert [one for one in caplog.messages if "out with every tool" in one] == [caplog.messages[0]]


def test_built_in_tools_stay(flow, shape, tools):
    model = Model(shape, DONE)
    flow().complete(shape.request("please help", [*tools, shape.builtin]), model, shape.name)
    assert shape.raw(model.requests[0])[1:] == [shape.builtin]


@pytest.mark.parametrize(
    ("provider", "builtin"),
    [
        ("anthropic", {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}),
        ("anthropic", {"type": "bash_20250124", "name": "bash"}),
        ("anthropic", {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"}),
        ("anthropic", {"type": "computer_20250124", "name": "computer", "display_width_px": 9}),
        ("openai-responses", {"type": "custom", "name": "code_exec", "description": "Runs it"}),
        ("openai-responses", {"type": "web_search", "name": "web_search"}),
    ],
    ids=lambda value: value if isinstance(value, str) else value["name"],
)
def test_a_built_in_tool_that_has_a_name_stays_too(flow, service, provider, builtin):
    shape = BY_NAME[provider]
    model = Model(shape, search("read"), DONE)
    flow().complete(shape.request("please help", [builtin, *tools_of(shape)]), model, provider)
    assert shape.raw(model.requests[0])[1:] == [builtin]
    assert builtin in shape.raw(model.requests[1])
    sent = [tool["name"] for tool in service.requests[0].json["tools"]]
    assert sent == list(ABOUT)


def test_a_request_with_odd_tools_is_forwarded_as_it_came(flow, shape):
    for broken in [[], None, 5, "tools", [3], [None], ["x"], {"name": "x"}]:
        for mode in ["on", "dark", "shadow"]:
            model = Model(shape, DONE)
            request = shape.request("please help", broken)
            flow(rollout=mode).complete(request, model, shape.name)
            assert model.requests == [request]


def test_odd_containers_of_a_request_are_its_own_business(flow):
    for provider, request_ in [
        ("openai", {"messages": 5, "tools": [{"name": "x"}]}),
        ("gemini", {"contents": "x", "tools": [{"functionDeclarations": 5}]}),
        ("gemini", {"contents": {"parts": [{"text": "x"}]}, "tools": 5}),
        ("bedrock", {"messages": [], "toolConfig": {"tools": 5}}),
        ("bedrock", {"messages": [], "toolConfig": 5}),
    ]:
        for mode in ["on", "dark", "shadow"]:
            forward = Mock(return_value={})
            flow(rollout=mode).complete(request_, forward, provider)
            assert forward.call_count == 1


@in_every_form
def test_what_fails_after_a_search_is_tried_as_it_came(flow, shape, tools, streams):
    request = shape.request("please help", tools)
    turns = search("read"), RuntimeError("too long"), DONE
    said, model = turn(flow(), shape, request, *turns, streams=streams)
    assert model.requests[2] == request
    assert said == DONE


def test_relevance_filters_and_injects_nothing(flow, shape, tools):
    model = Model(shape, DONE)
    request = shape.request("search code and read the file", tools)
    flow("relevance", max_tools=1, always_keep=("run_tests",)).complete(request, model, shape.name)
    assert model.seen(0) == [name for name in ABOUT if name != "create_db"]


def test_tool_search_finds_by_expression_without_asking_anyone(flow, shape, tools, service):
    model = Model(shape, search("^(read|send)_"), search("zxqv", "call_2"), DONE)
    flow("tool-search").complete(shape.request("please help", tools), model, shape.name)
    assert model.seen(1) == [PHANTOM, "read_file", "send_email"]
    assert "No tool fits" in shape.results(model.requests[2])["call_2"]
    assert service.requests == []


@pytest.mark.parametrize("mode", ["off", "dark", "shadow", "percent:0"])
def test_a_rollout_that_is_not_on_changes_no_request(flow, shape, tools, service, mode):
    model = Model(shape, DONE)
    request = shape.request("read a file", tools)
    flow(rollout=mode).complete(request, model, shape.name)
    assert model.requests == [request]
    assert len(service.requests) == (mode in ("dark", "shadow"))


def test_an_openai_message_goes_back_with_its_reasoning_and_an_id_for_every_call(flow):
    shape = SHAPES[0]
    first = shape.response(search("read"))
    message = first["choices"][0]["message"]
    message |= {"reasoning_content": "Let me think.", "refusal": None}
    del message["tool_calls"][0]["id"]
    answers = [first, shape.response(DONE)]
    requests: list[Json] = []

    def forward(body: Json) -> Json:
        requests.append(body)
        return answers.pop(0)

    flow().complete(shape.request("please help", tools_of(shape)), forward)
    turn, told = requests[1]["messages"][-2:]
    assert turn["reasoning_content"] == "Let me think."
    assert "refusal" not in turn
    assert turn["tool_calls"][0]["id"] == told["tool_call_id"] == "call_0"


def test_events_count_the_searches_of_a_turn(flow, shape, tools):
    events: list[SearchEvent] = []
    model = Model(shape, search("read"), search("email", "call_2"), DONE)
    flow(observers=[events.append]).complete(
        shape.request("please help", tools), model, shape.name, session="s-1"
    )
    assert [(event.session, event.loop_count) for event in events] == [("s-1", 1), ("s-1", 2)]
    assert events[1].selected == ["send_email"]


def test_permissions_are_not_for_a_flow_that_shows_every_tool_in_the_end(flow):
    with pytest.raises(InvalidArgument, match="permit"):
        flow(permit=lambda name: True)


@pytest.mark.parametrize("kind", [ToolDiscovery, AsyncToolDiscovery])
def test_a_flow_of_what_is_no_url_is_refused(kind):
    with pytest.raises(InvalidArgument, match="endpoint: expected an http:// or https:// URL"):
        kind("127.0.0.1:8080")
    api = ApiConfig("https://<backend>/v1/tool-discovery/search")
    with pytest.raises(InvalidArgument, match="endpoint"):
        kind(DiscoveryConfig(enabled=True, strategy="api", api=api))
    with pytest.raises(InvalidArgument, match="config: expected a URL or a DiscoveryConfig"):
        kind({"enabled": True})


def test_an_unknown_provider_is_the_callers_error(flow, tools):
    with pytest.raises(InvalidArgument, match="provider: expected one of"):
        flow().complete({"tools": tools}, Model(SHAPES[0], DONE), "nobody")


MISTAKES: dict[str, list[Any]] = {
    "defer_above": ["x", -1],
    "defer_above_tokens": ["x", -1],
    "max_rounds": [0, True],
    "restore_on_no_match": [5],
    "native": [None],
    "dispatch": ["no"],
    "ask_every_turn": ["yes"],
    "learn": [1],
    "top_k": [0, "5", True],
    "always_keep": [[""], [7], 7, "create_db"],
}


@pytest.mark.parametrize("option", MISTAKES)
def test_a_mistake_in_an_argument_of_a_flow_is_an_error_that_names_it(option: str):
    for value in MISTAKES[option]:
        with pytest.raises(InvalidArgument, match=f"^{option}: "):
            ToolDiscovery("http://127.0.0.1:9", **{option: value})
