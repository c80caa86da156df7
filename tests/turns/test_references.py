"""Conversations that a model began which loads tools, before one that does not."""

import json
from collections.abc import Callable

import httpx2
import pytest

from tests.client.upstream import peer
from tests.turns.model import ScriptedModel
from tests.turns.rules import visible
from tests.turns.shapes import BY_NAME, Json, Shape, tools_of
from toolscout.discovery import Transport

ABOUT = {f"tool_{number}": f"Does the thing of number {number}" for number in range(30)}
ABOUT |= {"find": "Find tools", "send_email": "Send an email to somebody"}
QUESTION = "please write to a@b.example"


def declared(shape: Shape, marks: bool) -> list[Json]:
    """Return the tools, with marks those deferred that the caller searches."""
    tools = tools_of(shape, ABOUT)
    return [
        tool | {"defer_loading": True} if marks and tool["name"] != "find" else tool
        for tool in tools
    ]


def anthropic(marks: bool) -> Json:
    """Return a conversation whose caller has searched by a tool of its own."""
    shape = BY_NAME["anthropic"]
    reference = {"type": "tool_reference", "tool_name": "send_email"}
    called = {"type": "tool_use", "id": "f1", "name": "find", "input": {"query": "email"}}
    result = {"type": "tool_result", "tool_use_id": "f1", "content": [reference]}
    messages = [
        {"role": "user", "content": "what can you send?"},
        {"role": "assistant", "content": [called]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": "An email."},
        {"role": "user", "content": QUESTION},
    ]
    return {"max_tokens": 9, "messages": messages, "tools": declared(shape, marks)}


def responses(marks: bool) -> Json:
    """Return the same in items of Responses."""
    shape = BY_NAME["openai-responses"]
    found = shape.tool("send_email", ABOUT["send_email"]) | {"defer_loading": True}
    search = {"execution": "client", "status": "completed", "call_id": "f1"}
    items = [
        {"role": "user", "content": "what can you send?"},
        {"type": "tool_search_call", **search, "arguments": {"query": "email"}},
        {"type": "tool_search_output", **search, "tools": [found]},
        {"role": "assistant", "content": "An email."},
        {"role": "user", "content": QUESTION},
    ]
    return {"input": items, "tools": declared(shape, marks)}


FORMS: list[tuple[str, str, str, Callable[[bool], Json]]] = [
    ("anthropic", "/messages", "claude-3-5-sonnet-20241022", anthropic),
    ("anthropic", "/messages", "glm-4.6", anthropic),
    ("openai-responses", "/responses", "gpt-4.1", responses),
]


@pytest.mark.parametrize("marks", [False, True], ids=["plain", "marked"])
@pytest.mark.parametrize(("interface", "path", "model", "conversation"), FORMS)
def test_references_are_written_out_for_a_model_that_loads_no_tools(
    interface, path, model, conversation, marks
):
    script = ScriptedModel()
    with (
        peer(lambda exchange: exchange.select("tool_3")) as service,
        peer(script) as upstream,
        httpx2.Client(transport=Transport(service.url)) as client,
    ):
        answer = client.post(upstream.url + path, json={"model": model, **conversation(marks)})
    assert answer.status_code == 200, answer.text
    assert script.refused == []
    (request,) = script.requests
    sent = json.dumps(request)
    assert "tool_reference" not in sent
    assert "defer_loading" not in sent
    assert "send_email" in visible(interface, request)  # what was found stays found
    assert len(visible(interface, request)) < len(ABOUT)
    if interface == "anthropic":
        assert "These tools are available now: send_email" in sent


@pytest.mark.parametrize(
    ("path", "model", "conversation"),
    [("/messages", "claude-opus-5", anthropic), ("/responses", "gpt-5.4", responses)],
)
def test_they_stay_for_a_model_that_loads_tools(path, model, conversation):
    with (
        peer(lambda exchange: exchange.select("tool_3")) as service,
        peer(lambda exchange: exchange.answer(b"{}")) as upstream,
        httpx2.Client(transport=Transport(service.url)) as client,
    ):
        body = {"model": model, **conversation(True)}
        client.post(upstream.url + path, json=body)
        assert [request.json for request in upstream.requests] == [body]
