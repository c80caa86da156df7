"""A forward may return the SDK's own object: it is searched, and what comes back has its type."""

import json
from typing import Any

import anthropic
import openai
import pytest
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from tests.client.upstream import Exchange, peer
from tests.turns.flows import DONE, PHANTOM, Flow, Model, search
from tests.turns.shapes import BY_NAME, Json, Said, tools_of
from toolscout.client import InvalidArgument
from toolscout.turns.providers import ProviderName

WHOLE: dict[str, Json] = {
    "openai": {"object": "chat.completion", "created": 1, "model": "m"},
    "openai-responses": {"created_at": 1, "model": "m", "parallel_tool_calls": True}
    | {"tool_choice": "auto", "tools": []},
    "anthropic": {"role": "assistant", "model": "m", "stop_sequence": None},
}
USAGE: dict[str, Json] = {
    "openai": {"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8},
    "openai-responses": {
        "input_tokens": 7,
        "input_tokens_details": {"cached_tokens": 2},
        "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 1},
        "total_tokens": 8,
    },
    "anthropic": {"input_tokens": 7, "output_tokens": 1},
}


def body(provider: ProviderName, said: Said) -> Json:
    """Return what the provider's API sends, whole."""
    found = BY_NAME[provider].response(said) | WHOLE[provider] | {"usage": USAGE[provider]}
    for item in found.get("output", []):
        if item["type"] == "message":
            item |= {"id": "msg_1", "status": "completed"}
            item["content"][0]["annotations"] = []
    return found


def typed(provider: ProviderName, said: Said) -> Any:
    """Return what the provider's SDK makes of it, as it does for a real answer."""
    kind: Any = {
        "openai": ChatCompletion,
        "openai-responses": Response,
        "anthropic": anthropic.types.Message,
    }[provider]
    made = kind.construct(**body(provider, said))
    made._request_id = f"req_{said.text}"
    return made


def request(provider: ProviderName) -> Json:
    shape = BY_NAME[provider]
    return shape.request("please help", tools_of(shape))


def run(running: Flow, provider: ProviderName, *turns: Said | Any) -> tuple[Any, Model]:
    """Answer with the turns in order, as objects of the SDK."""
    model = Model(BY_NAME[provider], DONE)
    left = list(turns)

    def forward(sent: Json) -> Any:
        model(sent)
        said = left.pop(0)
        return typed(provider, said) if isinstance(said, Said) else said

    return running.complete(request(provider), forward, provider), model


@pytest.mark.parametrize("provider", list(WHOLE))
def test_an_object_of_the_sdk_is_searched_and_one_of_its_type_comes_back(flow, provider):
    response, model = run(flow(), provider, search("read"), DONE)
    assert model.seen(1) == [PHANTOM, "read_file"]
    assert type(response) is type(typed(provider, DONE))
    assert BY_NAME[provider].read(response.to_dict()) == DONE
    assert response._request_id == "req_All done."


@pytest.mark.parametrize("provider", list(WHOLE))
def test_nothing_that_was_not_sent_goes_back_to_the_model(flow, provider):
    _, model = run(flow(), provider, search("read"), DONE)
    plain = Model(BY_NAME[provider], DONE)
    answers = [body(provider, search("read")), body(provider, DONE)]

    def forward(sent: Json) -> Json:
        plain(sent)
        return answers.pop(0)

    flow().complete(request(provider), forward, provider)
    assert model.requests == plain.requests


def test_a_conversation_may_hold_the_objects_of_the_sdk(flow):
    first = Said(calls=(("call_1", "run_tests", {}),))
    asked = [{"role": "user", "content": "please help"}]
    told = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
    items = [*asked, *typed("openai-responses", first).output, told]
    model = Model(BY_NAME["openai-responses"], search("read", "call_2"), DONE)
    flow().complete(request("openai-responses") | {"input": items}, model, "openai-responses")
    assert model.seen(0) == [PHANTOM, "run_tests"]
    assert set(model.shape.results(model.requests[1])) == {"call_1", "call_2"}
    assert model.requests[1]["input"][0] == asked[0]

    shape, message = BY_NAME["anthropic"], typed("anthropic", first)
    request_ = shape.history(request("anthropic"), first, ["ok"], "go on")
    request_["messages"][1]["content"] = message.content
    model = Model(shape, DONE)
    flow().complete(request_, model, "anthropic")
    assert model.seen(0) == [PHANTOM, "run_tests"]


class Bare:
    """No body, and nothing that becomes one."""


def test_what_is_no_body_is_refused_with_what_came(flow):
    for odd in [None, "x", 5, [{"error": 1}], Bare(), ChatCompletion]:
        for first in [True, False]:
            turns = [odd] if first else [search("read"), odd]
            with pytest.raises(InvalidArgument, match=r"forward: expected .* got \w+"):
                run(flow(), "openai", *turns)


def test_a_real_sdk_forwards_in_one_line(flow, service):
    left = [body("openai", search("read")), body("openai", DONE)]

    def script(exchange: Exchange) -> None:
        headers = [("Content-Type", "application/json"), ("x-request-id", "req_1")]
        exchange.answer(json.dumps(left.pop(0)).encode(), headers=headers)

    with peer(script) as upstream, openai.OpenAI(api_key="none", base_url=upstream.url) as client:
        running = flow()
        response = running.complete(
            request("openai"), lambda sent: client.chat.completions.create(**sent), "openai"
        )
    assert isinstance(response, ChatCompletion)
    assert response.choices[0].message.content == "All done."
    assert response._request_id == "req_1"
    tools = upstream.requests[0].json["tools"]
    assert [tool["function"]["name"] for tool in tools] == [PHANTOM]
