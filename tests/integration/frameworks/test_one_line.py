"""One transport, and an agent of any framework searches its tools."""

from collections.abc import Iterator

import pytest

from tests.client.model import PHANTOM, ScriptedModel
from tests.client.shapes import SHAPES, Shape
from tests.client.upstream import Exchange, Peer, peer
from tests.gateway.test_proxy import proxy
from tests.integration.frameworks.environment import HOW, QUESTION, ask, strict_model

pytestmark = pytest.mark.integration

FORMS = [
    ("langchain_agent", "openai", "openai"),
    ("langchain_agent", "responses", "openai-responses"),
    ("agents_sdk", "line", "openai-responses"),
    ("agents_sdk", "chat", "openai"),
    ("pydantic_ai_agent", "chat", "openai"),
    ("pydantic_ai_agent", "responses", "openai-responses"),
    ("pydantic_ai_agent", "anthropic", "anthropic"),
]
BY_NAME: dict[str, Shape] = {shape.name: shape for shape in SHAPES}


@pytest.fixture
def service() -> Iterator[Peer]:
    """Finds one tool for what the user says first, and another for what the model searches."""

    def script(exchange: Exchange) -> None:
        exchange.select("spin_3" if exchange.json["pattern"] == QUESTION else "send_email")

    with peer(script) as started:
        yield started


def searched_and_called(model: ScriptedModel, interface: str, said: dict) -> None:
    assert said["called"] == ["send_email"]
    assert "sent to a@b.example" in said["answer"]
    assert PHANTOM not in said["answer"]
    first, second, third = (set(names) - {PHANTOM} for names in model.seen(BY_NAME[interface]))
    assert first == {"spin_3"}
    assert second == third == {"spin_3", "send_email"}


@HOW
@pytest.mark.parametrize(("agent", "form", "interface"), FORMS)
def test_the_agent_searches_and_calls_the_tool(agent, form, interface, how, service):
    with strict_model() as (model, upstream):
        said = ask(agent, form, how, upstream=upstream, service=service.url)
    searched_and_called(model, interface, said)


@HOW
def test_langchains_anthropic_model_takes_no_client_but_goes_through_the_proxy(how, service):
    with strict_model() as (model, upstream), proxy(upstream, selector=service.url) as gateway:
        said = ask("langchain_agent", "anthropic", how, upstream=gateway.url, service=service.url)
    searched_and_called(model, "anthropic", said)
