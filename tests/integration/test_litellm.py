"""The callback in the real LiteLLM proxy, between real requests and scripted providers."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from tests.client.upstream import peer
from tests.integration import providers as scripted
from tests.integration.providers import PHANTOM, THROUGH, StrictProviders
from tests.integration.proxies import (
    CLIENTS,
    FOLDER,
    MASTER_KEY,
    PROVIDER_KEYS,
    Proxy,
    running,
    variables,
)
from tests.support import Process, until
from tests.turns.agents import Agent
from tests.turns.model import ScriptedModel
from tests.turns.rules import refusal
from tests.turns.shapes import BY_NAME, Json, Said
from tests.turns.test_native import begins_with

pytestmark = pytest.mark.integration

ABOUT = {
    "send_email": "Send an email to an address",
    **{f"spin_{n}": f"Spin gadget {n} around its axis" for n in range(30)},
}
MAX_FORWARDS = 6
"""The first forward and one for each of five rounds of searches."""

TURNS = [
    pytest.param(*turn, id=f"{turn[0]} client, {turn[1]}, {'stream' if turn[2] else 'whole'}")
    for turn in product(("openai", "anthropic"), ("gpt", "claude"), (False, True))
]
SEARCHABLE = ([PHANTOM], [PHANTOM, THROUGH, "send_email"])
LOADABLE = ([PHANTOM], [PHANTOM, "send_email"])
"""The search tool, and what is known to fit the message: other tests teach the service. A model
that loads tools by itself has no tool to call others through."""

ROLLOUTS = ("dark", "shadow")


@pytest.fixture(scope="module")
def upstream() -> Iterator[tuple[StrictProviders, str]]:
    providers = StrictProviders(MASTER_KEY, *PROVIDER_KEYS.values())
    with peer(providers) as listening:
        yield providers, listening.url


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recorded") / "charges"


@pytest.fixture(scope="module")
def shared(
    upstream: tuple[StrictProviders, str], server: Process, recorded: Path
) -> Iterator[Proxy]:
    """Yield a proxy with the shipped configuration and one more callback after ours."""
    providers, url = upstream
    folder = recorded.parent
    shutil.copy(Path(__file__).with_name("recorder.py"), folder)
    text = (FOLDER / "config.yaml").read_text("utf-8")
    ours = "callbacks: toolscout.integrations.litellm.hook"
    assert ours in text
    both = text.replace(ours, "callbacks: [toolscout.integrations.litellm.hook, recorder.hook]")
    newer = "  - model_name: gpt-native\n    litellm_params:\n      model: openai/gpt-5.4\n"
    newer += (
        "      api_base: os.environ/UPSTREAM_OPENAI\n      api_key: os.environ/OPENAI_API_KEY\n"
    )
    (folder / "config.yaml").write_text(
        both.replace("\nlitellm_settings", newer + "\nlitellm_settings")
    )
    env = variables(url, TOOLSCOUT_ENDPOINT=server.url, RECORDED=str(recorded))
    with running(env, providers, folder / "log", folder) as proxy:
        yield proxy


@pytest.fixture
def proxy(shared: Proxy) -> Iterator[Proxy]:
    """Yield the shared proxy; no provider may have met a secret or an unknown argument."""
    shared.providers.begin()
    yield shared
    assert shared.providers.leaks == []
    assert shared.providers.refused == []


def request(client: str, model: str, text: str, **more: Any) -> Json:
    shape = CLIENTS[client]
    tools = [shape.tool(tool, about) for tool, about in ABOUT.items()]
    return {**shape.request(text, tools, max_tokens=50, **more), "model": model}


def called(said: Said) -> list[str]:
    return [call[1] for call in said.calls]


@pytest.mark.parametrize(("client", "model", "stream"), TURNS)
def test_the_model_searches_and_the_caller_sees_only_what_it_finds(
    proxy: Proxy, client: str, model: str, stream: bool
):
    body = request(client, model, f"please write to somebody {client} {model} {stream}")
    said = proxy.ask(client, body, stream)
    first, second = proxy.providers.seen()
    loads = (client, model) == ("anthropic", "claude")
    assert first in (LOADABLE if loads else SEARCHABLE)
    assert second[: 2 if loads else 3] == (LOADABLE if loads else SEARCHABLE)[-1]
    assert len(second) <= 7
    assert called(said) == ["send_email"]
    assert said.text == ("Let me look.Sending." if stream else "Sending.")
    follow_up = CLIENTS[client].history(body, said, ["sent"], "and?")
    again = proxy.ask(client, follow_up, stream)
    assert "send_email" in proxy.providers.seen()[-1]
    assert "sent" in again.text


# LiteLLM gives the text of Claude the type of reasoning, which the SDK warns of.
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("model", ["gpt", "claude"])
def test_responses_are_searched(proxy: Proxy, model: str, stream: bool):
    shape = BY_NAME["openai-responses"]
    tools: Any = [shape.tool(tool, about) for tool, about in ABOUT.items()]
    asked: Any = {"model": model, "input": f"please write, {model} {stream}", "tools": tools}
    with openai.OpenAI(api_key=MASTER_KEY, base_url=f"{proxy.url}/v1") as client:
        if stream:
            with client.responses.stream(**asked) as events:
                response = events.get_final_response()
        else:
            response = client.responses.create(**asked)
    assert [item.name for item in response.output if item.type == "function_call"] == ["send_email"]
    first, second = proxy.providers.seen()
    assert first in SEARCHABLE
    assert second[:3] == SEARCHABLE[-1]


@pytest.mark.parametrize(("client", "model", "stream"), TURNS)
def test_a_forward_that_fails_after_a_search_is_made_again_with_every_tool(
    proxy: Proxy, client: str, model: str, stream: bool
):
    proxy.providers.begin(scripted.refuses_what_follows_a_search)
    body = request(client, model, f"write again {client} {model} {stream}")
    said = proxy.ask(client, body, stream)
    assert called(said) == ["send_email"]
    assert proxy.providers.seen()[-1] == list(ABOUT)
    assert len(proxy.providers.requests) == 3


@pytest.mark.parametrize(
    ("client", "model", "stream"),
    [turn for turn in TURNS if "anthropic client, claude" not in str(turn.id)],
)
def test_a_model_that_keeps_searching_is_told_and_acts(
    proxy: Proxy, client: str, model: str, stream: bool
):
    proxy.providers.begin(scripted.searches_until_told)
    body = request(client, model, f"write for ever {client} {model} {stream}")
    said = proxy.ask(client, body, stream)
    assert called(said) == ["send_email"]
    seen = proxy.providers.seen()
    assert len(seen) == MAX_FORWARDS
    assert len(seen[-1]) < len(ABOUT)


@pytest.mark.parametrize("client", CLIENTS)
def test_every_forward_has_the_arguments_of_the_request(proxy: Proxy, client: str):
    more: Json = {"temperature": 0.5, "top_p": 0.9, "user": "me", "seed": 7}
    model = "gpt"
    if client == "anthropic":
        more = {"temperature": 0.5, "top_p": 0.9, "top_k": 3, "stop_sequences": ["END"]}
        model = "claude"
    more["metadata"] = {"user_id": "me"}
    proxy.ask(client, request(client, model, f"write with arguments {client}", **more))
    (_, first), (_, second) = proxy.providers.requests
    for body in (first, second):
        del body["messages"], body["tools"]
    assert first == second
    assert first["temperature"] == 0.5
    assert first["model"] != model


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("client", CLIENTS)
def test_what_claude_thought_before_a_search_goes_back_to_it(
    proxy: Proxy, client: str, stream: bool
):
    thinking: Json = {"reasoning_effort": "low"}
    if client == "anthropic":
        thinking = {"thinking": {"type": "enabled", "budget_tokens": 1_024}}
    body = request(client, "claude", f"think {client} {stream}", **thinking)
    said = proxy.ask(client, {**body, "max_tokens": 4_000}, stream)
    assert called(said) == ["send_email"]
    assert len(proxy.providers.requests) == 2


@pytest.mark.parametrize("client", CLIENTS)
def test_what_a_later_guardrail_masks_stays_masked_in_every_forward(proxy: Proxy, client: str):
    proxy.providers.begin(scripted.refuses_what_follows_a_search)
    proxy.ask(client, request(client, "gpt", f"write hunter2 to somebody {client}"))
    assert len(proxy.providers.requests) == 3
    for _, body in proxy.providers.requests:
        assert "[masked]" in str(body)
        assert "hunter2" not in str(body)


@pytest.mark.parametrize("client", CLIENTS)
def test_every_forward_is_charged_to_the_callers_key(proxy: Proxy, recorded: Path, client: str):
    model = {"openai": "gpt", "anthropic": "claude"}[client]
    text = f"write and pay {client}"
    proxy.ask(client, request(client, model, text))

    def charges() -> list[Json]:  # those of other tests may come late
        lines = recorded.read_text("utf-8").splitlines() if recorded.exists() else []
        return [charge for line in lines if text in (charge := json.loads(line))["asked"]]

    until(lambda: len(charges()) >= 2)
    charged = charges()
    assert len(charged) == 2
    assert len({charge["key"] for charge in charged}) == 1
    assert all(charge["key"] and charge["cost"] > 0 for charge in charged)


@pytest.fixture
def model(proxy: Proxy) -> Iterator[StrictProviders]:
    """Yield the providers with a model that reads the definitions which a search has loaded."""
    scripted_model = ScriptedModel()
    proxy.providers.begin(lambda shape, body: scripted_model.say(shape.name, body))
    yield proxy.providers
    for shape, body in proxy.providers.requests:
        assert refusal(shape.name, body) is None


@contextmanager
def agent_of(proxy: Proxy, interface: str, model: str, streams: bool) -> Iterator[Agent]:
    """Yield a loop around an SDK whose provider is the proxy."""
    url = proxy.url if interface == "anthropic" else f"{proxy.url}/v1"
    plain = httpx2.HTTPTransport(trust_env=False)
    agent = Agent(interface, url, plain, ABOUT, model=model, streams=streams, key=MASTER_KEY)
    try:
        yield agent
    finally:
        agent.close()


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    ("interface", "name"), [("anthropic", "claude"), ("openai-responses", "gpt-native")]
)
def test_a_deployment_that_loads_deferred_tools_does_so_and_its_prompts_grow(
    proxy: Proxy, model: StrictProviders, interface: str, name: str, streams: bool
):
    with agent_of(proxy, interface, name, streams) as agent:
        for question in (f"hello {name} {streams}", "and once more"):
            assert agent.ask(question) == ["send_email"]
        assert PHANTOM not in str(agent.messages)
    bodies = [body for _, body in model.requests]
    assert len(bodies) in (4, 5)  # if the service knows what fits the first words, none searches
    if interface == "anthropic":
        assert all(len(body["tools"]) == len(ABOUT) + 1 for body in bodies)
        assert all(tool.get("defer_loading") for tool in bodies[0]["tools"][2:])
    else:  # the results of searches define what they load
        assert all(body["tools"] == bodies[0]["tools"] for body in bodies)
        assert not any(tool.get("defer_loading") for tool in bodies[0]["tools"])
    for before, after in pairwise(bodies):
        assert begins_with(after, before, interface)


def test_a_request_that_brings_the_providers_search_is_left_alone(
    proxy: Proxy, model: StrictProviders
):
    search = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    with agent_of(proxy, "anthropic", "claude", streams=False) as agent:
        agent.tools = [search, *(tool | {"defer_loading": True} for tool in agent.tools)]
        agent.ask("hello")
    (body,) = [body for _, body in model.requests][:1]
    assert body["tools"] == agent.tools


@pytest.mark.parametrize("client", CLIENTS)
def test_a_request_with_few_tools_is_left_alone(proxy: Proxy, client: str):
    body = request(client, "claude", "few")
    proxy.ask(client, {**body, "tools": body["tools"][:3]})
    assert proxy.providers.seen() == [list(ABOUT)[:3]]


def test_without_the_service_every_tool_comes_back_and_the_log_says_why(
    upstream: tuple[StrictProviders, str], tmp_path: Path
):
    providers, url = upstream
    env = variables(url, TOOLSCOUT_ENDPOINT="http://user:pa55word@127.0.0.1:9")
    with running(env, providers, tmp_path / "log") as proxy:
        for client, model, stream in product(CLIENTS, ("gpt", "claude"), (False, True)):
            providers.begin()
            body = request(client, model, f"nobody is there {client} {model} {stream}")
            assert called(proxy.ask(client, body, stream)) == ["send_email"]
            assert providers.seen() == [list(ABOUT)]
            assert providers.leaks == providers.refused == []
        assert (
            "tool search fell open: api_error (cannot connect), "
            "endpoint http://127.0.0.1:9/v1/tool-discovery/search"
        ) in proxy.log
        assert "pa55word" not in proxy.log


@pytest.mark.parametrize("rollout", ROLLOUTS)
def test_a_rollout_that_only_watches_logs_the_choice_and_changes_nothing(
    upstream: tuple[StrictProviders, str], server: Process, tmp_path: Path, rollout: str
):
    providers, url = upstream
    env = variables(url, TOOLSCOUT_ENDPOINT=server.url, TOOLSCOUT_ROLLOUT=rollout)
    with running(env, providers, tmp_path / "log") as proxy:
        providers.begin()
        assert called(proxy.ask("openai", request("openai", "gpt", "send an email"))) == [
            "send_email"
        ]
        assert providers.seen() == [list(ABOUT)]
        (line,) = [line for line in proxy.log.splitlines() if "tool search" in line]
    assert f"tool search ({rollout}) would have selected 1 of 31 tools in " in line
    assert ' ms: ["send_email"]' in line
    assert ("overlap" in line) == (rollout == "shadow")
