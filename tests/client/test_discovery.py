"""The whole flow, for every provider: tools are deferred, found and brought back, unseen."""

import asyncio
import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.client.shapes import ABOUT, SHAPES, Json, Said, Shape
from tests.client.upstream import Exchange, Peer, peer
from toolscout.client import (
    AsyncToolDiscovery,
    DiscoveryConfig,
    InvalidArgument,
    SearchEvent,
    SessionStore,
    ToolDiscovery,
)
from toolscout.client.config import ApiConfig

PHANTOM = "gateway_search_tools"


class Model:
    """Says one thing after the other, and keeps what it was sent."""

    def __init__(self, shape: Shape, *turns: Said | Exception) -> None:
        self.shape = shape
        self.turns = list(turns)
        self.requests: list[Json] = []

    def __call__(self, request: Json) -> Json:
        self.requests.append(copy.deepcopy(request))
        said = self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]
        if isinstance(said, Exception):
            raise said
        return self.shape.response(said)

    def seen(self, turn: int) -> list[str]:
        return self.shape.names(self.requests[turn])


class Flow:
    """Either twin behind one blocking call."""

    def __init__(self, kind: type[Any], config: DiscoveryConfig, **options: Any) -> None:
        self.discovery = kind(config, **options)

    def complete(
        self, request: Json, model: Callable[[Json], Json], *args: Any, **more: Any
    ) -> Json:
        if isinstance(self.discovery, ToolDiscovery):
            return self.discovery.complete(request, model, *args, **more)

        async def forward(body: Json) -> Json:
            return model(body)

        async def run() -> Json:
            try:
                return await self.discovery.complete(request, forward, *args, **more)
            finally:
                await self.discovery.aclose()

        return asyncio.run(run())


@pytest.fixture(params=SHAPES, ids=lambda shape: shape.name)
def shape(request: pytest.FixtureRequest) -> Shape:
    return request.param


@pytest.fixture
def tools(shape: Shape) -> list[Json]:
    return [shape.tool(name, about) for name, about in ABOUT.items()]


@pytest.fixture
def service() -> Iterator[Peer]:
    """Finds the tools whose names hold a word of the query."""

    def script(exchange: Exchange) -> None:
        words = exchange.json["pattern"].split()
        names = [tool["name"] for tool in exchange.json["tools"]]
        exchange.select(*[name for name in names if any(word in name for word in words)])

    with peer(script) as started:
        yield started


@pytest.fixture(params=[ToolDiscovery, AsyncToolDiscovery], ids=["sync", "async"])
def flow(request: pytest.FixtureRequest, service: Peer) -> Iterator[Callable[..., Flow]]:
    made: list[Flow] = []

    def make(strategy: str = "api", endpoint: str | None = None, **options: Any) -> Flow:
        url = service.url if endpoint is None else endpoint
        fields = {key: options.pop(key) for key in ("always_keep", "max_tools") if key in options}
        config = DiscoveryConfig(
            enabled=True, strategy=strategy, api=ApiConfig(url, timeout=5), **fields
        )
        made.append(Flow(request.param, config, **options))
        return made[-1]

    yield make
    for one in made:
        if isinstance(one.discovery, ToolDiscovery):
            one.discovery.close()


def search(query: Any, id_: str = "call_1") -> Said:
    return Said(calls=((id_, PHANTOM, {"query": query}),))


DONE = Said("All done.")


def test_the_model_sees_the_search_tool_alone_and_then_what_it_found(flow, shape, tools):
    model = Model(shape, search("read code"), DONE)
    request = shape.request("please help", tools)
    before = copy.deepcopy(request)
    response = flow().complete(request, model, shape.name)
    assert model.seen(0) == [PHANTOM]
    assert model.seen(1) == [PHANTOM, "search_code", "read_file"]
    assert shape.raw(model.requests[1])[1:] == tools[:2]
    assert "read_file: Read file contents" in shape.results(model.requests[1])["call_1"]
    assert shape.read(response) == DONE
    assert request == before


def test_a_call_of_a_found_tool_reaches_the_client(flow, shape, tools):
    real = Said("Reading.", (("call_2", "read_file", {"path": "/etc/hosts"}),))
    model = Model(shape, search("read"), real)
    response = flow().complete(shape.request("please help", tools), model, shape.name)
    assert shape.read(response) == real


def test_several_searches_in_one_turn_are_all_answered(flow, shape, tools):
    twice = Said(calls=(search("read").calls[0], search("email", "call_2").calls[0]))
    model = Model(shape, twice, DONE)
    flow().complete(shape.request("please help", tools), model, shape.name)
    assert model.seen(1) == [PHANTOM, "read_file", "send_email"]
    assert set(shape.results(model.requests[1])) == {"call_1", "call_2"}


def test_a_mixed_turn_whose_search_falls_open_gives_every_tool_back_next_time(flow, shape, tools):
    real = ("call_2", "read_file", {"path": "x"})
    both = Said(calls=(*search("anything").calls, real))
    model = Model(shape, both)
    discovery = flow(endpoint="http://127.0.0.1:9")
    request = shape.request("please help", tools)
    discovery.complete(request, model, shape.name)
    follow_up = shape.history(request, Said(calls=(real,)), ["done"], "and now?")
    discovery.complete(follow_up, model, shape.name)
    assert set(model.seen(1)) == {PHANTOM, *ABOUT}


@pytest.mark.parametrize("odd", [None, "x", 5, [{"error": 1}]])
@pytest.mark.parametrize("first", [True, False])
def test_an_answer_that_is_no_object_is_the_clients(flow, shape, tools, odd, first):
    answers = [odd] if first else [shape.response(search("read")), odd]
    response = flow().complete(
        shape.request("please help", tools), lambda _: answers.pop(0), shape.name
    )
    assert response == odd


def test_a_tool_that_is_found_twice_is_there_once(flow, shape, tools):
    model = Model(shape, search("read"), search("read code", "call_2"), DONE)
    flow().complete(shape.request("please help", tools), model, shape.name)
    assert model.seen(2) == [PHANTOM, "read_file", "search_code"]


def test_after_five_searches_every_tool_is_there_and_the_search_is_gone(flow, shape, tools):
    model = Model(shape, search("read"))
    response = flow().complete(shape.request("please help", tools), model, shape.name)
    assert len(model.requests) == 6
    assert model.seen(5) == list(ABOUT)
    assert shape.read(response) == Said()


def test_a_mixed_turn_gives_the_client_its_calls_and_the_next_request_what_was_found(
    flow, shape, tools
):
    running = flow()
    request = shape.request("please help", tools)
    first = Model(shape, search("tests"), Said(calls=(("call_2", "run_tests", {}),)))
    called = shape.read(running.complete(request, first, shape.name))
    follow_up = shape.history(request, called, ["ok"], "go on")
    mixed = Said("Both.", (("call_3", "run_tests", {}), search("email", "call_4").calls[0]))
    second = Model(shape, mixed)
    response = running.complete(follow_up, second, shape.name)
    assert len(second.requests) == 1
    assert shape.read(response) == Said("Both.", (("call_3", "run_tests", {}),))
    third = Model(shape, DONE)
    running.complete(follow_up, third, shape.name)
    assert third.seen(0) == [PHANTOM, "run_tests", "send_email"]


def test_found_tools_stay_for_the_session_and_for_no_other(flow, shape, tools):
    running = flow()
    one, other = (shape.request(text, tools) for text in ("please help", "something else"))
    running.complete(one, Model(shape, search("read"), DONE), shape.name)
    again, elsewhere = Model(shape, DONE), Model(shape, DONE)
    running.complete(one, again, shape.name)
    running.complete(other, elsewhere, shape.name)
    assert again.seen(0) == [PHANTOM, "read_file"]
    assert elsewhere.seen(0) == [PHANTOM]


def test_sessions_of_different_users_are_kept_apart_by_scope(flow, shape, tools):
    running = flow()
    request = shape.request("hello", tools)
    running.complete(request, Model(shape, search("read"), DONE), shape.name, scope="alice")
    bob = Model(shape, DONE)
    running.complete(request, bob, shape.name, scope="bob")
    assert bob.seen(0) == [PHANTOM]


def test_tools_that_the_conversation_called_stay_even_where_the_session_is_lost(flow, shape, tools):
    called = Said(calls=(("call_1", "read_file", {}),))
    request = shape.history(shape.request("please help", tools), called, ["text"], "go on")
    model = Model(shape, DONE)
    flow().complete(request, model, shape.name)
    assert model.seen(0) == [PHANTOM, "read_file"]


def test_tools_the_client_no_longer_offers_do_not_come_back(flow, shape, tools):
    running = flow()
    running.complete(
        shape.request("please help", tools), Model(shape, search("read"), DONE), shape.name
    )
    model = Model(shape, DONE)
    rest = [tools[0], *tools[2:]]
    running.complete(shape.request("please help", rest), model, shape.name)
    assert model.seen(0) == [PHANTOM]


@pytest.mark.parametrize(
    ("order", "seen"),
    [
        ("append", ["run_tests", "read_file", "send_email"]),
        ("catalog", ["read_file", "send_email", "run_tests"]),
        ("rank", ["read_file", "send_email", "run_tests"]),
    ],
)
def test_the_order_of_found_tools(flow, shape, tools, order, seen):
    model = Model(shape, search("tests"), search("email read", "call_2"), DONE)
    flow(order=order).complete(shape.request("please help", tools), model, shape.name)
    assert model.seen(2)[1:] == seen


def test_a_real_tool_of_the_same_name_is_left_alone(flow, shape, tools, caplog):
    tools.append(shape.tool(PHANTOM, "A real tool"))
    real = Said(calls=(("call_1", PHANTOM, {"x": 1}),))
    model = Model(shape, real)
    response = flow().complete(shape.request("please help", tools), model, shape.name)
    assert model.seen(0) == [f"{PHANTOM}_2"]
    assert shape.read(response) == real
    assert "exists" in caplog.text


def test_a_search_that_falls_open_brings_every_tool_back(flow, shape, tools):
    model = Model(shape, search("zxqv"), DONE)
    flow().complete(shape.request("please help", tools), model, shape.name)
    assert model.seen(1) == [PHANTOM, *ABOUT]


def test_a_service_that_is_gone_brings_every_tool_back(flow, shape, tools):
    model = Model(shape, search("read"), DONE)
    running = flow(endpoint="http://127.0.0.1:9")
    running.complete(shape.request("please help", tools), model, shape.name)
    assert model.seen(1) == [PHANTOM, *ABOUT]
    again = Model(shape, DONE)
    running.complete(shape.request("please help", tools), again, shape.name)
    assert again.seen(0) == [PHANTOM]


@pytest.mark.parametrize("arguments", [{}, {"query": 5}, "not json", {"a": "x", "b": "y"}])
def test_a_search_without_a_query_brings_every_tool_back(flow, shape, tools, arguments):
    model = Model(shape, Said(calls=(("call_1", PHANTOM, arguments),)), DONE)
    flow().complete(shape.request("please help", tools), model, shape.name)
    assert model.seen(1) == [PHANTOM, *ABOUT]


def only(capable: Callable[[Any], Any]) -> pytest.MarkDecorator:
    """Run with the providers that can say this at all."""
    able = [shape for shape in SHAPES if capable(shape)]
    return pytest.mark.parametrize("shape", able, ids=lambda shape: shape.name)


@only(lambda shape: shape.forcing("create_db"))
def test_the_tool_a_request_forces_is_not_deferred(flow, shape, tools):
    model = Model(shape, DONE)
    request = shape.request("please help", tools, **shape.forcing("create_db"))
    flow().complete(request, model, shape.name)
    assert model.seen(0) == [PHANTOM, "create_db"]


@only(lambda shape: shape.forbidding())
def test_a_request_that_allows_no_call_is_left_alone(flow, shape, tools):
    model = Model(shape, DONE)
    request = shape.request("please help", tools, **shape.forbidding())
    flow().complete(request, model, shape.name)
    assert model.requests == [request]


ALLOWED = [
    ("openai", {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto"}}}),
    ("openai-responses", {"tool_choice": {"type": "allowed_tools", "mode": "auto"}}),
    ("gemini", {"toolConfig": {"functionCallingConfig": {"allowedFunctionNames": ["run_tests"]}}}),
]


@pytest.mark.parametrize(("name", "choice"), ALLOWED)
def test_a_request_that_lists_allowed_tools_is_left_alone(flow, name, choice):
    shape = next(shape for shape in SHAPES if shape.name == name)
    tools = [shape.tool(tool, about) for tool, about in ABOUT.items()]
    model = Model(shape, DONE)
    request = shape.request("please help", tools, **choice)
    flow().complete(request, model, name)
    assert model.requests == [request]


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
    shape = next(shape for shape in SHAPES if shape.name == provider)
    tools = [shape.tool(name, about) for name, about in ABOUT.items()]
    model = Model(shape, search("read"), DONE)
    flow().complete(shape.request("please help", [builtin, *tools]), model, provider)
    assert shape.raw(model.requests[0])[1:] == [builtin]
    assert builtin in shape.raw(model.requests[1])
    sent = [tool["name"] for tool in service.requests[0].json["tools"]]
    assert sent == list(ABOUT)


def test_a_session_remembers_names_and_no_definitions(flow, shape, tools):
    store = SessionStore()
    request = shape.request("please help", tools)
    flow(store=store).complete(request, Model(shape, DONE), shape.name, session="s")
    assert store.deferred("s") == tuple(ABOUT)


def test_few_tools_are_not_worth_deferring(flow, shape, tools):
    model = Model(shape, DONE)
    request = shape.request("please help", tools)
    flow(defer_above=6).complete(request, model, shape.name)
    assert model.requests == [request]


@pytest.mark.parametrize("mode", ["on", "dark", "shadow"])
@pytest.mark.parametrize("broken", [[], None, 5, "tools", [3], [None], ["x"], {"name": "x"}])
def test_a_request_with_odd_tools_is_forwarded_as_it_came(flow, shape, broken, mode):
    model = Model(shape, DONE)
    request = shape.request("please help", broken)
    flow(rollout=mode).complete(request, model, shape.name)
    assert model.requests == [request]


@pytest.mark.parametrize("mode", ["on", "dark", "shadow"])
@pytest.mark.parametrize(
    ("provider", "request_"),
    [
        ("openai", {"messages": 5, "tools": [{"name": "x"}]}),
        ("gemini", {"contents": "x", "tools": [{"functionDeclarations": 5}]}),
        ("gemini", {"contents": {"parts": [{"text": "x"}]}, "tools": 5}),
        ("bedrock", {"messages": [], "toolConfig": {"tools": 5}}),
        ("bedrock", {"messages": [], "toolConfig": 5}),
    ],
)
def test_odd_containers_of_a_request_are_its_own_business(flow, provider, request_, mode):
    answers: list[Json] = []
    flow(rollout=mode).complete(request_, lambda body: answers.append(body) or {}, provider)
    assert len(answers) == 1


def test_what_the_model_raises_at_once_is_raised(flow, shape, tools):
    model = Model(shape, RuntimeError("overloaded"))
    with pytest.raises(RuntimeError, match="overloaded"):
        flow().complete(shape.request("please help", tools), model, shape.name)
    assert len(model.requests) == 1


def test_what_fails_after_a_search_is_tried_as_it_came(flow, shape, tools):
    model = Model(shape, search("read"), RuntimeError("too long"), DONE)
    request = shape.request("please help", tools)
    response = flow().complete(request, model, shape.name)
    assert model.requests[2] == request
    assert shape.read(response) == DONE


def test_passthrough_forwards_the_request_as_it_is(flow, shape, tools):
    model = Model(shape, DONE)
    request = shape.request("please help", tools)
    flow("passthrough").complete(request, model, shape.name)
    assert model.requests == [request]


def test_relevance_filters_and_injects_nothing(flow, shape, tools):
    model = Model(shape, DONE)
    request = shape.request("search code and read the file", tools)
    flow("relevance", max_tools=1, always_keep=("run_tests",)).complete(request, model, shape.name)
    assert model.seen(0) == [name for name in ABOUT if name != "create_db"]


def test_tool_search_finds_by_expression_without_asking_anyone(flow, shape, tools, service):
    model = Model(shape, search("^(read|send)_"), search("zxqv", "call_2"), DONE)
    flow("tool-search").complete(shape.request("please help", tools), model, shape.name)
    assert model.seen(1) == [PHANTOM, "read_file", "send_email"]
    assert "No tool was found" in shape.results(model.requests[2])["call_2"]
    assert service.requests == []


@pytest.mark.parametrize("mode", ["off", "dark", "shadow", "percent:0"])
def test_a_rollout_that_is_not_on_changes_no_request(flow, shape, tools, service, mode):
    model = Model(shape, DONE)
    request = shape.request("read a file", tools)
    flow(rollout=mode).complete(request, model, shape.name)
    assert model.requests == [request]
    assert len(service.requests) == (mode in ("dark", "shadow"))


def test_local_searches_make_events_too(flow, shape, tools):
    events: list[SearchEvent] = []
    model = Model(shape, search("^read_"), search("zxqv", "call_2"), DONE)
    flow("tool-search", observers=[events.append]).complete(
        shape.request("please help", tools), model, shape.name, session="s-1"
    )
    told = [(e.session, e.loop_count, e.status, e.selected, e.deferred_count) for e in events]
    assert told == [("s-1", 1, "selected", ["read_file"], 6), ("s-1", 2, "selected", [], 6)]


def test_an_openai_message_goes_back_with_its_reasoning_and_an_id_for_every_call(flow):
    shape = SHAPES[0]
    tools = [shape.tool(name, about) for name, about in ABOUT.items()]
    first = shape.response(search("read"))
    message = first["choices"][0]["message"]
    message |= {"reasoning_content": "Let me think.", "refusal": None}
    del message["tool_calls"][0]["id"]
    answers = [first, shape.response(DONE)]
    requests: list[Json] = []
    flow().complete(
        shape.request("please help", tools), lambda b: requests.append(b) or answers.pop(0)
    )
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


def test_a_store_can_be_shared(flow, shape, tools):
    store = SessionStore()
    request = shape.request("please help", tools)
    flow(store=store).complete(request, Model(shape, search("read"), DONE), shape.name)
    model = Model(shape, DONE)
    flow(store=store).complete(request, model, shape.name)
    assert model.seen(0) == [PHANTOM, "read_file"]


def test_permissions_are_not_for_a_flow_that_shows_every_tool_in_the_end(flow):
    with pytest.raises(InvalidArgument, match="permit"):
        flow(permit=lambda name: True)


def test_an_unknown_provider_is_the_callers_error(flow, tools):
    with pytest.raises(InvalidArgument, match="provider: expected one of"):
        flow().complete({"tools": tools}, Model(SHAPES[0], DONE), "nobody")
