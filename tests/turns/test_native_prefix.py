"""Natively, each request of a conversation begins with the bytes of the one before."""

from collections.abc import Iterator
from contextlib import closing
from itertools import count, pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.client.upstream import Peer, peer
from tests.turns.agents import MODELS
from tests.turns.model import NATIVE_SEARCH, NUMBERS, PHANTOM, whole
from tests.turns.rules import refusal, visible
from tests.turns.shapes import BY_NAME, Json, Said
from tests.turns.test_native import begins_with, history
from toolscout.discovery import ToolDiscovery

NATIVE = ("anthropic", "openai-responses")
NAMES = [f"tool_{number}" for number in range(40)]
IDS = count()

SEARCH, CALL, MIXED, LOST = "search", "call", "search and call", "search for ever"
Turn = tuple[tuple[str, str], tuple[str, ...]]
"""What the request says about calls, and what the model does until it answers in words."""


@pytest.fixture(scope="module")
def service() -> Iterator[Peer]:
    """Yield a service that finds the tool that a query ends with, nothing for other queries."""

    def script(exchange: Any) -> None:
        name = exchange.json["pattern"].rpartition(" ")[2]
        exchange.select(*({name} & {*NAMES}))

    with peer(script) as started:
        yield started


class Conversation:
    """A caller and a model of one interface, which does what it is told."""

    def __init__(self, interface: Any, discovery: ToolDiscovery) -> None:
        self.interface = interface
        self.shape = BY_NAME[interface]
        self.discovery = discovery
        self.tools = [self.shape.tool(name, f"Does {name}") for name in NAMES]
        self.messages: list[Any] = []
        self.requests: list[Json] = []
        self.actions: list[tuple[str, str]] = []
        self.beside: Json = {}
        """What every request says besides."""

    def forward(self, body: Json) -> Json:
        """Answer as the model: a search, a call, both, or words."""
        assert refusal(self.interface, body) is None
        self.requests.append(body)
        kind, name = self.actions[0] if self.actions else ("", "")
        if kind != LOST:
            self.actions = self.actions[1:]
        choice = str(body.get("tool_choice"))
        if "none" in choice:
            kind = ""
        if "allowed_tools" in choice and kind:
            kind, name = CALL, body["tool_choice"]["tools"][0]["name"]
        calls: list[tuple[str, str, Json]] = []
        number = next(IDS)
        if kind in (CALL, MIXED):
            calls.append((f"call_{number}", name, {"path": "a"}))
        if kind in (SEARCH, MIXED, LOST):
            kinds = [tool.get("type") for tool in body["tools"]]
            search = NATIVE_SEARCH if NATIVE_SEARCH in kinds else PHANTOM
            calls.append((f"search_{number}", search, {"query": f"please {name}"}))
        text = "" if calls else f"Done with {number}."
        return whole(self.shape, Said(text, tuple(calls)), body, next(NUMBERS))

    def ask(self, text: str, choice: Json, actions: list[tuple[str, str]]) -> None:
        """Ask for something, and run what the model calls until it answers in words."""
        self.messages.append({"role": "user", "content": text})
        self.actions = actions
        calls: tuple[Any, ...] = ("first",)
        while calls:
            key = "input" if self.interface == "openai-responses" else "messages"
            request = {"model": MODELS[self.interface], key: [*self.messages], "tools": self.tools}
            request |= self.beside | choice
            answer = self.discovery.complete(request, self.forward, self.interface)
            calls = self.shape.read(answer).calls
            self.add(answer, calls)
            choice = {}

    def add(self, answer: Json, calls: tuple[Any, ...]) -> None:
        if self.interface == "openai-responses":
            self.messages += answer["output"]
            self.messages += [
                {"type": "function_call_output", "call_id": id_, "output": "done"}
                for id_, *_ in calls
            ]
            return
        self.messages.append({"role": "assistant", "content": answer["content"]})
        if calls:
            results = [
                {"type": "tool_result", "tool_use_id": id_, "content": "done"} for id_, *_ in calls
            ]
            self.messages.append({"role": "user", "content": results})

    def choice(self, kind: str, name: str) -> Json:
        """Return what a request says about calls."""
        if kind == "forbids":
            return self.shape.forbidding()
        if kind == "forces":
            return self.shape.forcing(name)
        if kind == "allows" and self.interface == "openai-responses":
            tools = [{"type": "function", "name": name}]
            return {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": tools}}
        return {}


some_name = st.sampled_from(NAMES[:6])
some_action = st.tuples(st.sampled_from([SEARCH, CALL, MIXED, LOST]), some_name)
some_choice = st.sampled_from(["", "", "forbids", "forces", "allows"])


def checked(conversation: Conversation) -> None:
    for before, after in pairwise(conversation.requests):
        assert begins_with(after, before, conversation.interface)


@pytest.mark.parametrize("interface", NATIVE)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    turns=st.lists(
        st.tuples(some_choice, some_name, st.lists(some_action, max_size=3)),
        min_size=1,
        max_size=4,
    ),
    number=st.integers(0, 10**9),
)
def test_whatever_happens_the_prefix_stays(service, interface, turns, number):
    with closing(ToolDiscovery(service.url)) as discovery:
        conversation = Conversation(interface, discovery)
        for place, (choice, name, actions) in enumerate(turns):
            if interface == "openai-responses" and choice in ("forces", "allows"):
                choice = ""  # such a function has to be declared
            said = conversation.choice(choice, name)
            if choice == "forces" and actions:
                actions = [(CALL, name), *actions]
            conversation.ask(f"question {number}.{place}", said, actions)
    checked(conversation)


@pytest.mark.parametrize("interface", NATIVE)
@pytest.mark.parametrize(
    "actions",
    [[(MIXED, "tool_1"), (CALL, "tool_1")], [(CALL, "tool_1"), (CALL, "tool_1")]],
    ids=["search beside a call", "call of a hidden tool"],
)
def test_a_tool_that_no_result_has_loaded_is_loaded_at_the_end(service, interface, actions):
    with closing(ToolDiscovery(service.url)) as discovery:
        conversation = Conversation(interface, discovery)
        conversation.ask("do something", {}, actions)
        conversation.ask("and again", {}, [(CALL, "tool_1")])
    checked(conversation)
    assert "tool_1" not in visible(interface, conversation.requests[0])
    assert all("tool_1" in visible(interface, body) for body in conversation.requests[1:])
    loading = [str(body).count("found0") > 0 for body in conversation.requests]
    assert loading == [False, *[True] * (len(loading) - 1)]
    assert "found0" not in str(conversation.messages)


def test_a_forced_tool_is_loaded_and_forbidden_calls_change_no_tools(service):
    with closing(ToolDiscovery(service.url)) as discovery:
        conversation = Conversation("anthropic", discovery)
        conversation.ask("one", {}, [(SEARCH, "tool_1"), (CALL, "tool_1")])
        conversation.ask("two", conversation.choice("forces", "tool_5"), [(CALL, "tool_5")])
        conversation.ask("three", conversation.choice("forbids", ""), [])
    checked(conversation)
    assert "tool_5" in visible("anthropic", conversation.requests[3])
    assert len({str(body["tools"]) for body in conversation.requests}) == 1


@pytest.mark.parametrize("choice", ["forces", "allows"])
def test_a_function_that_a_choice_names_is_declared_while_it_does(service, choice):
    """OpenAI refuses a choice of what is not in `tools`; what was called stays loaded."""
    with closing(ToolDiscovery(service.url)) as discovery:
        conversation = Conversation("openai-responses", discovery)
        conversation.ask("one", {}, [(SEARCH, "tool_1"), (CALL, "tool_1")])
        conversation.ask("two", conversation.choice(choice, "tool_5"), [(CALL, "tool_5")])
        conversation.ask("three", conversation.choice("forbids", ""), [])
    declared = [
        [tool["name"] for tool in body["tools"] if "name" in tool] for body in conversation.requests
    ]
    assert declared == [[], [], [], ["tool_5"], [], []]
    assert {"tool_1", "tool_5"} <= {*visible("openai-responses", conversation.requests[-1])}


@pytest.mark.parametrize("interface", NATIVE)
def test_a_model_that_searches_for_ever_is_told_and_keeps_its_prompt(service, interface):
    with closing(ToolDiscovery(service.url)) as discovery:
        conversation = Conversation(interface, discovery)
        conversation.ask("one", {}, [(LOST, "tool_1")])
    assert len(conversation.requests) == 7
    checked(conversation)
    told = history(interface, conversation.requests[-2])[-1]
    assert "That was the last search of this turn" in str(told)
    assert "none" in str(conversation.requests[-1]["tool_choice"])
    assert "Done with" in str(conversation.messages[-1])
    assert PHANTOM not in str(conversation.messages)


def test_with_thinking_no_turn_is_made_up(service):
    """Anthropic refuses a turn with calls that does not begin with what the model thought."""
    with closing(ToolDiscovery(service.url)) as discovery:
        conversation = Conversation("anthropic", discovery)
        conversation.beside = {"thinking": {"type": "enabled", "budget_tokens": 2_000}}
        conversation.ask("do something", {}, [(CALL, "tool_1")])
        conversation.ask("again", {}, [])
    assert "found0" not in str(conversation.requests[-1])
    assert "tool_1" in visible("anthropic", conversation.requests[-1])


@pytest.mark.parametrize("interface", NATIVE)
def test_a_forced_tool_that_fits_the_first_message_is_visible_and_given_once(interface):
    events: list[Any] = []
    with peer(lambda exchange: exchange.select("tool_5")) as service:
        discovery = ToolDiscovery(service.url, turn_observers=[events.append])
        conversation = Conversation(interface, discovery)
        conversation.ask("one", conversation.choice("forces", "tool_5"), [(CALL, "tool_5")])
        discovery.close()
    assert "found0" not in str(conversation.requests)
    assert str(conversation.requests[0]).count("Does tool_5'") == 1
    finished = [event for event in events if event.stage == "finished"]
    counts = (finished[0].called_visible, finished[0].called_found, finished[0].called_hidden)
    assert counts == (1, 0, 0)
