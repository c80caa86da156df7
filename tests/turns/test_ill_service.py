"""Whatever ails the service, an SDK over a transport still gets its tool called."""

from collections.abc import Iterator

import pytest

from tests.client.test_chaos import CAP_S, EMPTY, FAILURES, HANGING, REFUSALS, status
from tests.client.upstream import Exchange, Peer, peer
from tests.support import PATIENCE_S
from tests.turns.agents import Agent
from tests.turns.model import ScriptedModel
from toolscout.discovery import Transport

ABOUT = {f"tool_{number}": f"Does the thing of number {number}" for number in range(20)}
ABOUT |= {"send_email": "Send an email to somebody"}
AILMENTS = FAILURES | REFUSALS


@pytest.fixture(scope="module")
def upstream() -> Iterator[Peer]:
    with peer(ScriptedModel()) as started:
        yield started


@pytest.mark.parametrize("number", range(len(AILMENTS)), ids=list(AILMENTS))
def test_a_turn_ends_with_the_call_of_a_tool(upstream: Peer, number: int):
    name, script = list(AILMENTS.items())[number]
    with peer(script) as service:
        transport = Transport(service.url, timeout=CAP_S if name in HANGING else PATIENCE_S)
        agent = Agent("openai", upstream.url, transport, ABOUT, streams=number % 2 == 0)
        assert agent.ask("please write to a@b.example") == ["send_email"]
        if name in HANGING:
            assert not service.ended
        service.stopping.set()


@pytest.mark.parametrize("answer", EMPTY)
def test_a_service_that_finds_nothing_ends_with_words(upstream: Peer, answer: str):
    with peer(EMPTY[answer]) as service:
        agent = Agent("openai", upstream.url, Transport(service.url), ABOUT)
        assert agent.ask("please write to a@b.example") == []


def test_a_service_that_falls_ill_between_two_searches_does_no_harm(upstream: Peer):
    def script(exchange: Exchange) -> None:
        if exchange.number:
            status(500)(exchange)
        else:
            exchange.select("tool_1")

    with peer(script) as service:
        agent = Agent("openai", upstream.url, Transport(service.url), ABOUT)
        assert agent.ask("please write to a@b.example") == ["send_email"]
