"""Deferred loading by the provider itself: our search behind it, and prompts that stay cached."""

import json
import logging
from itertools import pairwise
from typing import Any

import anthropic
import openai
import pytest

from tests.client.upstream import Exchange, peer
from tests.turns.agents import MODELS, QUESTION, Agent, model, service, upstream
from tests.turns.model import PHANTOM, ScriptedModel
from tests.turns.rules import visible
from tests.turns.shapes import Json
from toolscout.discovery import Transport

pytestmark = pytest.mark.filterwarnings("ignore:The model .* is deprecated")

__all__ = ["model", "service", "upstream"]  # fixtures, found by their names

NATIVE = ("openai-responses", "anthropic")
ABOUT = {f"tool_{number}": f"Does the thing of number {number}" for number in range(40)}
ABOUT |= {"send_email": "Send an email to somebody"}


def agent_of(interface: str, url: str, transport: Transport, model: str = "", **more: Any) -> Agent:
    """Return an agent with all the tools."""
    return Agent(interface, url, transport, ABOUT, model=model, **more)


def history(interface: str, request: Json) -> Any:
    return request["input" if interface == "openai-responses" else "messages"]


def begins_with(request: Json, earlier: Json, interface: str) -> bool:
    """Whether the tools and messages of an earlier request are the first of another, by bytes."""

    def written(value: Any) -> str:
        return json.dumps(value)

    return all(
        written(after[: len(before)]) == written(before)
        for before, after in (
            (earlier["tools"], request["tools"]),
            (history(interface, earlier), history(interface, request)),
        )
    )


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "streams"])
@pytest.mark.parametrize("interface", MODELS)
def test_each_request_of_a_conversation_begins_with_the_one_before(
    interface, streams, upstream, service, model
):
    agent = agent_of(interface, upstream.url, Transport(service.url), streams=streams)
    for question in (QUESTION, "and once more", "and a third time"):
        assert agent.ask(question) == ["send_email"]
    assert not model.refused
    requests = model.requests
    # A search, a call and an answer; then only calls and answers, for the tool stays known.
    assert len(requests) == 7
    for before, after in pairwise(requests):
        assert begins_with(after, before, interface)


@pytest.mark.parametrize("interface", NATIVE)
def test_the_declared_tools_stay_and_the_model_sees_few(interface, upstream, service, model):
    """Of OpenAI's deferred functions the model would read name and description."""
    agent = agent_of(interface, upstream.url, Transport(service.url))
    agent.ask(QUESTION)
    first, second = model.requests[:2]
    assert first["tools"] == second["tools"]
    hidden = len(ABOUT) - 1 if interface == "anthropic" else 0
    assert len(first["tools"]) == 2 + hidden
    deferred = [tool for tool in first["tools"] if tool.get("defer_loading")]
    assert len(deferred) == hidden
    shown = model.seen(agent.shape)
    assert set(shown[0]) <= {PHANTOM, "tool_3"}
    assert set(shown[1]) <= {PHANTOM, "tool_3", "send_email"}


@pytest.mark.parametrize(
    ("interface", "name"),
    [
        ("anthropic", "claude-3-5-sonnet-latest"),
        ("anthropic", "claude-sonnet-4-20250514"),
        ("anthropic", "a-model-of-somebody"),
        ("openai-responses", "gpt-5.1"),
        ("openai-responses", "gpt-4.1"),
        ("openai-responses", "o3"),
    ],
)
def test_models_that_cannot_defer_get_the_emulated_form(interface, name, upstream, service, model):
    agent = agent_of(interface, upstream.url, Transport(service.url), name)
    assert agent.ask(QUESTION) == ["send_email"]
    assert not model.refused
    assert agent.shape.names(model.requests[0]) == [PHANTOM, "call_tool", "tool_3"]


class Refusing(ScriptedModel):
    """A compatible API that knows nothing of deferred loading."""

    def __call__(self, exchange: Exchange) -> None:
        for word in ("defer_loading", "tool_search"):
            if word.encode() not in exchange.body:
                continue
            self.refused.append(f"{word}: extra inputs are not permitted")
            problem = {"error": {"message": self.refused[-1], "type": "invalid_request_error"}}
            exchange.answer(
                json.dumps(problem).encode(), 400, [("Content-Type", "application/json")]
            )
            return
        super().__call__(exchange)


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "streams"])
@pytest.mark.parametrize("interface", NATIVE)
def test_a_refused_native_form_is_repeated_once_and_remembered(interface, streams, service, caplog):
    model = Refusing()
    with peer(model) as upstream:
        transport = Transport(service.url)
        for question in (QUESTION, "write an email"):
            agent = agent_of(interface, upstream.url, transport, streams=streams)
            assert agent.ask(question) == ["send_email"]
    assert len(model.refused) == 1
    assert "takes no deferred tools" in caplog.text


@pytest.mark.parametrize("native", [True, False], ids=["native", "emulated"])
def test_a_cache_marker_stays_on_its_tool(native, upstream, service, model):
    agent = agent_of("anthropic", upstream.url, Transport(service.url, native=native))
    agent.tools[-2]["cache_control"] = {"type": "ephemeral"}
    marked = agent.tools[-2]
    assert agent.ask(QUESTION) == ["send_email"]
    assert not model.refused
    for request in model.requests:
        assert marked in request["tools"]
    if not native:  # the marker ends the part that stays the same
        assert model.requests[0]["tools"][-1] == marked


def test_markers_that_move_with_the_conversation_keep_its_searches(upstream, service, model):
    agent = agent_of("anthropic", upstream.url, Transport(service.url))
    agent.ask(QUESTION)
    marker = {"cache_control": {"type": "ephemeral"}}
    agent.messages[0] = {"role": "user", "content": [{"type": "text", "text": QUESTION} | marker]}
    agent.ask("and once more")
    assert "send_email" in visible("anthropic", model.requests[-1])
    assert agent.interface
    assert all(tool in model.requests[-1]["tools"] for tool in model.requests[0]["tools"])


def test_functions_in_namespaces_are_searched_and_stay_there(upstream, service, model):
    agent = agent_of("openai-responses", upstream.url, Transport(service.url))
    inner = [agent.shape.tool(name, text) for name, text in ABOUT.items() if name != "send_email"]
    sender = agent.shape.tool("send", "Send an email to somebody")
    functions = [sender, *inner]
    space = {"type": "namespace", "name": "mail", "description": "Mail", "tools": functions}
    agent.tools = [space, agent.shape.tool("tool_x", "Does another thing")]
    model.wants = "mail.send"
    service.script = lambda exchange: exchange.select("mail.send")
    items = agent.client.responses.create(
        model=agent.model, input=[{"role": "user", "content": "hello"}], tools=agent.tools
    ).output
    assert items[-1].type == "function_call"
    assert {tool["name"] for tool in service.requests[0].json["tools"]} >= {"mail.send", "tool_x"}
    sent: Json
    search, sent = model.requests[0]["tools"]  # `tool_x` and the others are hidden
    assert search["type"] == "tool_search"
    assert {key: sent[key] for key in ("name", "description")} == {
        "name": "mail",
        "description": "Mail",
    }
    assert [tool["name"] for tool in sent["tools"]] == ["send"]  # it fits what the user says
    assert "defer_loading" not in sent["tools"][0]


@pytest.mark.parametrize(
    ("interface", "own"),
    [
        ("anthropic", {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}),
        ("openai-responses", {"type": "tool_search"}),
    ],
)
def test_a_request_with_the_providers_own_search_is_left_alone(interface, own, service, caplog):
    caplog.set_level(logging.INFO, "toolscout.client")
    with peer(lambda exchange: exchange.answer(b"{}", 404)) as upstream:
        agent = agent_of(interface, upstream.url, Transport(service.url))
        agent.tools.append(own)
        with pytest.raises((openai.NotFoundError, anthropic.NotFoundError)):
            agent.ask(QUESTION)
        assert upstream.requests[0].json["tools"] == agent.tools
    assert not service.requests
    assert "searches deferred tools by itself" in caplog.text


@pytest.mark.parametrize("interface", MODELS)
def test_during_an_outage_no_more_tools_come_back_than_the_provider_takes(
    interface, upstream, model
):
    agent = agent_of(interface, upstream.url, Transport("http://127.0.0.1:9"))
    more = [agent.shape.tool(f"more_{number}", "Does more") for number in range(160)]
    agent.tools = [*more, *agent.tools]
    assert agent.ask(QUESTION) == ["send_email"]
    assert not model.refused
    shown = [set(names) - {PHANTOM} for names in model.seen(agent.shape)]
    if interface == "anthropic":  # takes all of them
        assert len(shown[0]) == 201
    else:
        assert [len(names) for names in shown[:2]] == [126, 126]  # and a place for `call_tool`
        assert "send_email" in shown[1] - shown[0]  # the model could still search


@pytest.mark.parametrize("interface", NATIVE)
def test_a_tool_that_is_offered_no_more_is_loaded_no_more(interface, upstream, service, model):
    agent = agent_of(interface, upstream.url, Transport(service.url))
    assert agent.ask(QUESTION) == ["send_email"]
    agent.drop("send_email")
    model.wants = "tool_3"
    assert agent.ask("and once more") == ["tool_3"]
    assert not model.refused
    assert "send_email" not in model.seen(agent.shape)[-1]
    kinds = {tool.get("type") for tool in model.requests[-1]["tools"]}
    assert "tool_search" in kinds or agent.shape.name == "anthropic"


def test_a_prompt_that_is_too_long_says_nothing_about_the_model(service):
    model = ScriptedModel()

    def script(exchange: Exchange) -> None:
        if b"a long story" in exchange.body:
            exchange.answer(b'{"error": {"message": "prompt is too long"}}', 400)
        else:
            model(exchange)

    with peer(script) as upstream:
        transport = Transport(service.url)
        with pytest.raises(anthropic.BadRequestError, match="too long"):
            agent_of("anthropic", upstream.url, transport).ask("a long story")
        agent_of("anthropic", upstream.url, transport).ask(QUESTION)
    assert any(tool.get("defer_loading") for tool in model.requests[0]["tools"])
