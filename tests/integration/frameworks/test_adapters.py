"""The adapters of toolscout.integrations, each in its framework."""

import json

import pytest

from tests.client.upstream import Exchange, peer
from tests.integration.frameworks.environment import AGENTS, HOW, ask, run, settings, strict_model
from tests.support import Process
from tests.turns.model import NATIVE_SEARCH, ScriptedModel, results
from tests.turns.rules import visible
from tests.turns.shapes import BY_NAME, Json, Said

pytestmark = pytest.mark.integration

NOBODY = "http://127.0.0.1:9"
SELECTING = [
    *(("langchain_agent", ["gpt-4.1", how], "openai") for how in ("plain", "stream", "blocking")),
    *(
        ("agents_sdk", [form, how], "openai-responses")
        for form in ("provider", "model")
        for how in ("plain", "stream")
    ),
]


@pytest.mark.parametrize(("agent", "form", "interface"), SELECTING)
def test_the_model_sees_the_tools_that_fit(agent, form, interface, server: Process):
    with strict_model() as (model, upstream):
        said = ask(agent, *form, upstream=upstream, service=server.url)
    assert said["called"] == ["send_email"]
    assert "sent to a@b.example" in said["answer"]
    first, second = model.seen(BY_NAME[interface])
    assert first == second
    assert {"send_email", "spin_7"} <= set(first)
    assert len(first) <= 6


@pytest.mark.parametrize(("agent", "form", "interface"), SELECTING)
def test_without_a_service_the_model_sees_every_tool(agent, form, interface):
    with strict_model() as (model, upstream):
        said = ask(agent, *form, upstream=upstream, service=NOBODY)
    assert said["called"] == ["send_email"]
    own = agent == "langchain_agent"  # its search
    assert [len(names) for names in model.seen(BY_NAME[interface])] == [40 + own, 40 + own]


MODELS = [
    ("gpt-4.1", "openai", "plain"),
    ("gpt-4.1", "openai", "blocking"),
    ("claude-3-7", "anthropic", "stream"),
    ("claude-sonnet-4-5", "anthropic", "plain"),
    ("claude-sonnet-4-5", "anthropic", "stream"),
    ("claude-sonnet-4-5", "anthropic", "blocking"),
]


@pytest.mark.parametrize(("name", "interface", "how"), MODELS)
def test_a_langchain_agent_searches_for_what_its_first_message_did_not_bring(name, interface, how):
    def service(exchange: Exchange) -> None:
        is_search = exchange.json["pattern"] == "send an email to somebody"
        exchange.select("send_email" if is_search else "spin_3")

    with peer(service) as found, strict_model() as (model, upstream):
        said = ask("langchain_agent", name, how, upstream=upstream, service=found.url)
    assert said["called"] == ["send_email"]
    assert "sent to a@b.example" in said["answer"]
    first, second, third = model.seen(BY_NAME[interface])
    assert sorted(first) == ["gateway_search_tools", "spin_3", "spin_7"]
    assert second == third == [*first, "send_email"]
    if name == "claude-sonnet-4-5":  # the prompt that is cached stays
        assert len({json.dumps(request["tools"]) for request in model.requests}) == 1
        assert len(model.requests[0]["tools"]) == 41


def test_what_forces_or_searches_a_tool_itself_is_left_alone():
    with peer(lambda exchange: exchange.select("spin_3")) as service:
        env = settings("http://127.0.0.1:9", service.url)
        shown = json.loads(run(AGENTS / "choices.py", env=env).splitlines()[-1])
    assert shown == {
        "langchain": ["gateway_search_tools", "spin_3", "transfer_to_billing", "web_search"],
        "langchain, any": ["gateway_search_tools", "spin_3", "transfer_to_billing", "web_search"],
        "langchain, forced": 42,
        "agents": ["spin_3", "transfer_to_billing", "web_search"],
        "agents, forced": 42,
        "agents, own search": 43,
    }
    of_langchain, (of_agents,) = service.requests[:-1], service.requests[-1:]
    assert [request.json["pattern"] for request in of_langchain] == ["spin it", "the third"] * 2
    assert of_agents.json["messages"] == [
        {"role": "user", "content": "spin it"},
        {"type": "function_call", "name": "spin_1"},
    ]


class Searching(ScriptedModel):
    """Searches with the tool that pydantic-ai offers, then calls what it finds."""

    def say(self, interface: str, body: Json) -> Said:
        told = results(interface, body)
        if "tool_1" in told:
            return Said(f"It said: {told['tool_1']}")
        if self.wants in visible(interface, body):
            return Said("Sending.", (("tool_1", self.wants, self.arguments),))
        if "search_1" in told:
            return Said("There is no tool for that.")
        native = any(tool["type"] == NATIVE_SEARCH for tool in body["tools"] if "type" in tool)
        search = NATIVE_SEARCH if native else "search_tools"
        queries = {"queries": ["send an email to somebody", "spin gadget 8"]}
        return Said("Let me look.", (("search_1", search, queries),))


@HOW
@pytest.mark.parametrize("interface", ["openai", "openai-responses", "anthropic"])
def test_pydantic_ai_finds_its_deferred_tools(interface, how, server: Process):
    assert "spin_8" in found_tools(interface, how, server.url)  # by the second of two queries


def test_pydantic_ai_finds_them_by_words_without_a_service():
    assert len(found_tools("openai", "plain", NOBODY)) <= 6


def found_tools(interface: str, how: str, service: str) -> set[str]:
    form = {"openai": "chat", "openai-responses": "responses"}.get(interface, interface)
    with strict_model(Searching({"to": "a@b.example"})) as (model, upstream):
        said = ask("pydantic_ai_agent", form, how, upstream=upstream, service=service)
    assert said["called"] == ["send_email"]
    assert "sent to a@b.example" in said["answer"]
    first, second, _ = (set(names) - {"search_tools"} for names in model.seen(BY_NAME[interface]))
    assert first == set()
    assert "send_email" in second
    assert len(second) <= 6
    return second


@HOW
def test_pydantic_ai_tells_the_model_when_nothing_fits(how):
    with (
        peer(lambda exchange: exchange.select()) as service,
        strict_model(Searching()) as (_, upstream),
    ):
        said = ask("pydantic_ai_agent", "chat", how, upstream=upstream, service=service.url)
    assert said == {"answer": "There is no tool for that.", "called": []}


def searched(service: str) -> Json:
    env = settings("http://127.0.0.1:9", service)
    return json.loads(run(AGENTS / "fastmcp_host.py", "send an email", env=env).splitlines()[-1])


def test_a_fastmcp_server_finds_and_calls_its_tools(server: Process):
    said = searched(server.url)
    assert said["listed"] == ["spin_7", "search_tools", "call_tool"]
    assert said["found"][0] == "send_email"
    assert len(said["found"]) <= 3
    assert said["answer"] == "sent to a@b.example"


def test_a_fastmcp_server_sends_the_schemas_of_its_tools():
    with peer(lambda exchange: exchange.select("spin_9")) as service:
        assert searched(service.url)["found"] == ["spin_9"]
    [request] = service.requests
    sent = {tool["name"]: tool for tool in request.json["tools"]}
    assert len(sent) == 39
    assert "turns" in json.dumps(sent["spin_9"])
    assert request.json["top_k"] == 3


def test_a_fastmcp_server_searches_by_itself_without_a_service():
    said = searched(NOBODY)
    assert said["found"][0] == "send_email"
    assert len(said["found"]) <= 3


def test_a_fastmcp_server_finds_nothing_where_nothing_fits():
    with peer(lambda exchange: exchange.select()) as service:
        assert searched(service.url)["found"] == []
