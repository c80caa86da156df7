"""A request that brings a provider's own search tool, before models that have it and have not."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import openai
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.client.agents import QUESTION, Agent, model, service, upstream
from tests.client.model import PHANTOM, ScriptedModel
from tests.client.rules import visible
from tests.client.searching_callers import (
    ABOUT,
    BM25,
    FORMS,
    OPEN,
    OPENAI,
    OPENROUTER,
    REGEX,
    TEXT,
    WITHOUT,
    agent_of,
    deferred,
    found_by,
    names_in,
    seen_by_caller,
)
from tests.client.shapes import Json, Said
from tests.client.streaming import EVENTS
from tests.client.test_native_prefix import CALL, MIXED, NAMES, SEARCH, Conversation
from tests.client.test_native_prefix import service as finder
from tests.client.upstream import Exchange, peer
from toolscout.discovery import DiscoveryConfig, ToolDiscovery, Transport
from toolscout.errors import ConfigurationError

# OpenAI's SDK does not know the item of OpenRouter, nor Anthropic's the models of others.
pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")

__all__ = ["finder", "model", "service", "upstream"]  # fixtures, found by their names


@pytest.fixture(autouse=True)
def close() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "streams"])
@pytest.mark.parametrize(("interface", "own"), FORMS)
def test_it_is_executed_for_a_model_without_one(interface, own, streams, upstream, service, model):
    agent = agent_of(interface, upstream.url, own, Transport(service.url), streams=streams)
    for question in (QUESTION, "and once more", "and a third time"):
        assert agent.ask(question) == ["send_email"]
    assert not model.refused
    assert len(model.requests) == 7  # one search; then the tool stays known
    first, *later = model.seen(agent.shape)
    assert first == [PHANTOM, "tool_3"]
    assert all(names == [PHANTOM, "tool_3", "send_email"] for names in later)
    assert "defer_loading" not in str(model.requests)
    assert [request.json["pattern"] for request in service.requests] == [model.query]
    assert PHANTOM not in str(agent.messages)
    parts = seen_by_caller(agent.messages)
    if interface == "openai":
        assert not parts  # these completions have no shape for a search
    else:
        assert found_by(own, parts) == ["send_email"]


@pytest.mark.parametrize(("interface", "own"), FORMS[:3])
def test_another_process_knows_what_was_found_from_the_conversation(
    interface, own, upstream, service, model
):
    agent = agent_of(interface, upstream.url, own, Transport(service.url))
    agent.ask(QUESTION)
    parts = seen_by_caller(agent.messages)
    after = agent_of(interface, upstream.url, own, Transport(service.url))
    after.messages = [{"role": "user", "content": QUESTION}]
    if interface == "anthropic":  # and no call of the tool, from which it would be known too
        after.messages.append({"role": "assistant", "content": [*parts, TEXT]})
    else:
        after.messages += [*parts, {"role": "assistant", "content": TEXT["text"]}]
    assert after.ask("and once more") == ["send_email"]
    assert len(service.requests) == 1
    assert not model.refused


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "streams"])
@pytest.mark.parametrize(("interface", "own"), FORMS[:3])
def test_ours_goes_first_if_asked_to_and_is_loaded_by_the_provider(
    interface, own, streams, upstream, service, model
):
    name = {"anthropic": "claude-opus-5"}.get(interface, "gpt-5.4")
    transport = Transport(service.url, search="ours")
    agent = agent_of(interface, upstream.url, own, transport, model=name, streams=streams)
    for question in (QUESTION, "and once more"):
        assert agent.ask(question) == ["send_email"]
    assert not model.refused
    assert {str(request["tools"]) for request in model.requests} == {
        str(model.requests[0]["tools"])
    }
    shown = [set(names) - {PHANTOM} for names in model.seen(agent.shape)]
    assert shown[0] == {"tool_3"}
    assert all(names == {"tool_3", "send_email"} for names in shown[1:])
    assert found_by(own, seen_by_caller(agent.messages)) == ["send_email"]


@pytest.mark.parametrize(
    ("interface", "own", "name"),
    [
        ("anthropic", REGEX, "claude-opus-5"),
        ("openai", BM25, "claude-sonnet-4-5"),  # as LiteLLM takes it
        ("openai-responses", OPENAI, "openai/gpt-5.4"),
        ("openai-responses", OPENROUTER, "z-ai/glm-4.6"),
        ("openai-responses", OPENAI | {"execution": "client"}, "gpt-4.1"),
        ("anthropic", None, "glm-4.6"),
    ],
)
def test_a_model_that_has_it_and_a_caller_who_executes_it_are_left_alone(
    interface, own, name, service
):
    with peer(lambda exchange: exchange.answer(b"{}", 404)) as upstream:
        agent = agent_of(interface, upstream.url, own, Transport(service.url), model=name)
        agent.tools = [tool for tool in agent.tools if tool]
        with pytest.raises(Exception, match="404"):
            agent.ask(QUESTION)
        assert upstream.requests[0].json["tools"] == agent.tools
    assert not service.requests


def test_few_deferred_tools_are_searched_and_none_need_no_search(upstream, service, model):
    agent = agent_of("anthropic", upstream.url, BM25, Transport(service.url))
    agent.tools = [BM25, *[t for t in agent.tools if t["name"] in ("tool_3", "send_email")]]
    assert agent.ask(QUESTION) == ["send_email"]
    assert model.seen(agent.shape)[:2] == [[PHANTOM, "tool_3"], [PHANTOM, "tool_3", "send_email"]]
    model.requests.clear()
    built_ins = [{"type": f"web_{n}", "name": f"web_{n}"} for n in range(3)]
    agent.tools += built_ins
    agent.messages = []
    assert agent.ask("and with tools of the provider") == ["send_email"]
    assert set(model.seen(agent.shape)[0]) == {PHANTOM, "tool_3", "web_0", "web_1", "web_2"}
    model.requests.clear()
    agent.tools = agent.tools[:-3]
    for tool in agent.tools:
        tool.pop("defer_loading", None)
    assert agent.ask("and once more") == ["send_email"]
    assert model.seen(agent.shape)[0] == ["tool_3", "send_email"]
    assert not model.refused


@pytest.mark.parametrize(("interface", "own"), FORMS[:4])
def test_a_search_without_an_answer_is_shown_as_failed(interface, own, upstream, model):
    agent = agent_of(interface, upstream.url, own, Transport("http://127.0.0.1:9"))
    assert agent.ask(QUESTION) == ["send_email"]
    assert not model.refused
    last = seen_by_caller(agent.messages)[-1]
    if own == OPENROUTER:
        assert (last["status"], last["error"]) == ("failed", "unavailable")
    elif own == OPENAI:
        assert (last["status"], last["tools"]) == ("incomplete", [])
    else:
        assert last["content"]["error_code"] == "unavailable"


def test_a_forced_search_is_left_to_the_model(upstream, service, model):
    agent = agent_of("anthropic", upstream.url, BM25, Transport(service.url))
    agent.choice = {"tool_choice": {"type": "tool", "name": BM25["name"]}}
    assert agent.ask(QUESTION) == ["send_email"]
    assert not model.refused


@pytest.mark.parametrize(("interface", "own"), FORMS[:4])
@pytest.mark.parametrize("has_tools", [True, False])
def test_a_later_request_may_bring_no_search_any_more(
    interface, own, has_tools, upstream, service, model
):
    agent = agent_of(interface, upstream.url, own, Transport(service.url))
    agent.ask(QUESTION)
    agent.tools = [t for t in agent.tools if t.get("name") in ("tool_3",)] if has_tools else []
    agent.ask("thanks")
    assert not model.refused
    assert [tool["name"] for tool in model.requests[-1].get("tools", [])] == ["tool_3"] * has_tools


def test_a_search_among_the_allowed_tools_is_not_sent_on(upstream, service, model):
    agent = agent_of("openai-responses", upstream.url, OPENAI, Transport(service.url))
    allowed = [OPENAI, {"type": "function", "name": "tool_3"}]
    choice = {"type": "allowed_tools", "mode": "auto", "tools": allowed}
    agent.choice = {"tool_choice": choice}
    agent.ask(QUESTION)
    assert not model.refused
    assert model.requests[0]["tool_choice"]["tools"] == allowed[1:]


def test_a_reference_to_an_item_that_was_shown_here_is_not_sent_on(upstream, service, model):
    agent = agent_of("openai-responses", upstream.url, OPENAI, Transport(service.url))
    agent.ask(QUESTION)
    agent.messages = [
        {"type": "item_reference", "id": item["id"]}
        if "tool_search" in item.get("type", "")
        else item
        for item in agent.messages
    ]
    assert agent.ask("and once more") == ["send_email"]
    assert not model.refused
    assert "item_reference" not in str(model.requests)


@pytest.mark.parametrize("search", ["mine", ""])
def test_whose_search_goes_first_is_one_of_two(search):
    with pytest.raises(ConfigurationError, match="search: expected ours or theirs"):
        ToolDiscovery(DiscoveryConfig(), search=search)


def streamed(interface: str, own: Json, service: str, *turns: Said) -> tuple[Any, list[Json]]:
    """Return what an SDK makes of a stream of turns of a model, and what the model was sent."""
    sent: list[Json] = []

    def script(exchange: Exchange) -> None:
        events = EVENTS[interface](turns[len(sent)], len(sent))
        sent.append(exchange.json)
        exchange.answer(b"".join(events), headers=[("Content-Type", "text/event-stream")])

    with peer(script) as upstream:
        agent = agent_of(interface, upstream.url, own, Transport(service), streams=True)
        if interface == "anthropic":
            agent.messages = [{"role": "user", "content": QUESTION}]
            agent.anthropic()
            return agent.messages[1]["content"], sent
        request: Any = {"model": agent.model, "input": QUESTION, "tools": agent.tools}
        events = [*agent.client.responses.create(**request, stream=True)]
    assert [event.sequence_number for event in events] == [*range(len(events))]
    assert [event.type for event in events[:2]] == ["response.created", "response.in_progress"]
    shown = [event for event in events if event.type == "response.output_item.done"]
    assert [event.output_index for event in shown] == [*range(len(shown))]
    final = events[-1].response
    assert [event.item.id for event in shown] == [item.id for item in final.output]
    return final.output, sent


SEARCHING = ("call_1", PHANTOM, {"query": "send an email"})
SENDING = ("call_2", "send_email", {"path": "a"})


@pytest.mark.parametrize(("interface", "own"), [("anthropic", BM25), ("openai-responses", OPENAI)])
@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([Said("Looking.", (SEARCHING,)), Said("Sending.", (SENDING,))], "tsrtc"),
        ([Said("", (SEARCHING,)), Said("", (SENDING,))], "src"),
        ([Said("", (SEARCHING,)), Said("", (SEARCHING,)), Said("Done.")], "srsrt"),
        ([Said("Both.", (SENDING, SEARCHING))], "tcsr"),
    ],
    ids=["with words", "silent", "twice", "beside a call"],
)
def test_searches_stand_in_a_stream_where_they_were_made(interface, own, turns, expected, service):
    parts, sent = streamed(interface, own, service.url, *turns)
    letters = {
        **dict.fromkeys(("text", "message"), "t"),
        **dict.fromkeys(("server_tool_use", "tool_search_call"), "s"),
        **dict.fromkeys(("tool_search_tool_result", "tool_search_output"), "r"),
        **dict.fromkeys(("tool_use", "function_call"), "c"),
    }
    kinds = [letters[part.type] for part in parts if part.type not in ("thinking", "reasoning")]
    assert "".join(kinds) == expected
    assert len(sent) == len(turns)


def test_a_stored_response_is_continued(upstream, service, model):
    agent = agent_of("openai-responses", upstream.url, OPENAI, Transport(service.url))
    request: Any = {"model": agent.model, "tools": agent.tools}
    asked = agent.client.responses.create(**request, input=QUESTION)
    call = asked.output[-1]
    assert isinstance(call, openai.types.responses.ResponseFunctionToolCall)
    told: Any = [{"type": "function_call_output", "call_id": call.call_id, "output": "sent"}]
    agent.client.responses.create(**request, input=told, previous_response_id=asked.id)
    assert not model.refused
    assert "send_email" in model.seen(agent.shape)[-1]


some_action = st.tuples(st.sampled_from([SEARCH, CALL, MIXED]), st.sampled_from(NAMES[:6]))


@pytest.mark.parametrize("interface", ["anthropic", "openai-responses"])
@pytest.mark.parametrize(
    "options",
    [{"search": "theirs"}, {"search": "ours"}, {"search": "theirs", "dispatch": True}],
    ids=["theirs", "ours", "dispatch"],
)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    turns=st.lists(
        st.tuples(
            st.sampled_from(["", "", "forbids", "forces"]), st.lists(some_action, max_size=3)
        ),
        min_size=1,
        max_size=4,
    ),
    restarts=st.booleans(),
    number=st.integers(0, 10**9),
)
def test_over_many_turns_nothing_is_refused_and_what_was_found_stays(
    finder, interface, options, turns, restarts, number
):
    own = BM25 if interface == "anthropic" else OPENAI
    with closing(ToolDiscovery(finder.url, **options)) as discovery:
        conversation = Conversation(interface, discovery)
        conversation.tools = [own, *deferred(conversation.tools, "tool_9")]
        if options["search"] == "theirs":
            conversation.beside = {"model": WITHOUT[interface]}
        for place, (kind, actions) in enumerate(turns):
            choice = conversation.choice(kind, "tool_7")
            if kind == "forces":
                actions = [(CALL, "tool_7"), *actions]
            conversation.ask(f"question {number}.{place}", choice, actions)
            if restarts:
                conversation.discovery.close()
                conversation.discovery = ToolDiscovery(finder.url, **options)
            parts = seen_by_caller(conversation.messages)
            known = {name for part in parts for name in names_in(part)}
            shown = visible(interface, conversation.requests[-1])
            if kind != "forbids" and "dispatch" not in options:
                assert known | {"tool_9"} <= {*shown, *NAMES[6:9]}
        conversation.discovery.close()
    assert PHANTOM not in str(conversation.messages)
    assert not any(own in request["tools"] for request in conversation.requests)


def test_a_scripted_model_refuses_a_search_that_is_not_its_own():
    """Else the tests above would show nothing."""
    model = ScriptedModel()
    with peer(model) as upstream:
        for interface, own in FORMS:
            http: Any = None
            agent = Agent(interface, upstream.url, http, ABOUT, model=WITHOUT[interface])
            agent.tools = [own]
            with pytest.raises(Exception, match="400"):
                agent.ask(QUESTION)
            agent.close()
    assert len(model.refused) == len(FORMS)
