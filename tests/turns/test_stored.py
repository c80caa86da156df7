"""Conversations that the provider stores: a request names an answer instead of repeating it."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.turns.agents import QUESTION, Agent, model, service, upstream
from toolscout.discovery import Transport

__all__ = ["model", "service", "upstream"]  # fixtures, found by their names

ABOUT = {f"tool_{number}": f"Does the thing of number {number}" for number in range(200)}
ABOUT |= {"send_email": "Send an email to somebody"}


@pytest.fixture
def agent_of(upstream, service) -> Callable[..., Agent]:
    """Return what makes agents with all the tools."""
    return lambda **more: Agent(
        "openai-responses", upstream.url, Transport(service.url), ABOUT, **more
    )


def test_a_conversation_that_the_provider_stores_gets_no_search_twice(agent_of, model):
    agent = agent_of()
    first: Any = {"model": agent.model, "input": QUESTION, "tools": agent.tools}
    agent.client.responses.create(**first)
    agent.client.responses.create(**first, previous_response_id="resp_named")
    assert model.requests[2]["input"] == QUESTION


def test_a_result_for_a_stored_conversation_goes_out_with_every_tool(agent_of, model):
    agent = agent_of()
    agent.tools = agent.tools[-100:]
    output: Any = {"type": "function_call_output", "call_id": "c", "output": "sent"}
    call: Any = {"type": "function_call", "call_id": "c", "name": "send_email", "arguments": "{}"}
    agent.client.responses.create(
        model=agent.model,
        input=[call, output],
        tools=agent.tools,
        previous_response_id="resp_earlier",
    )
    assert model.requests[0]["tools"] == agent.tools


@pytest.mark.parametrize("name", ["gpt-5.4", "gpt-4.1"], ids=["native", "emulated"])
def test_of_too_many_such_a_result_goes_out_with_as_many_as_the_provider_takes(
    agent_of, model, name
):
    agent = agent_of(model=name)
    output: Any = {"type": "function_call_output", "call_id": "c", "output": "sent"}
    agent.client.responses.create(
        model=name, input=[output], tools=agent.tools, previous_response_id="resp_earlier"
    )
    assert not model.refused
    request = model.requests[0]
    plain = [tool for tool in request["tools"] if not tool.get("defer_loading")]
    assert len(plain) == (1 if name == "gpt-5.4" else 126)  # and a place for `call_tool`


@pytest.mark.parametrize("name", ["gpt-5.4", "gpt-4.1"], ids=["native", "emulated"])
@pytest.mark.parametrize("streams", [False, True], ids=["plain", "stream"])
def test_a_stored_conversation_keeps_its_tools(agent_of, model, name, streams):
    agent = agent_of(model=name, streams=streams)
    first: Any = {"model": name, "input": QUESTION, "tools": agent.tools}
    if streams:
        with agent.client.responses.stream(**first) as stream:
            answer = stream.get_final_response()
    else:
        answer = agent.client.responses.create(**first)
    [called] = [item for item in answer.output if item.type == "function_call"]
    output: Any = {"type": "function_call_output", "call_id": called.call_id, "output": "sent"}
    rounds = len(model.requests)
    second: Any = {"model": name, "input": [output], "tools": agent.tools}
    agent.client.responses.create(**second, previous_response_id=answer.id)
    before, after = model.requests[rounds - 1 : rounds + 1]
    assert called.name == "send_email"
    assert after["tools"] == before["tools"]
    assert after["input"] == [output]
