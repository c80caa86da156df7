"""Tools that stay in sight: those that the caller names, and those without which no run ends."""

import json

import httpx2
import pytest

from tests.client.flows import DONE, PHANTOM, Model, search
from tests.client.shapes import ABOUT, BY_NAME, Json
from tests.client.upstream import peer
from toolscout.discovery import Transport

ENDINGS = ["final_result", "final_result_Invoice", "final_answer", "transfer_to_billing"]
MUST_CALL: dict[str, Json] = {
    "openai": {"tool_choice": "required"},
    "openai-responses": {"tool_choice": "required"},
    "anthropic": {"tool_choice": {"type": "any"}},
    "bedrock-anthropic": {"tool_choice": {"type": "any"}},
    "bedrock": {"toolChoice": {"any": {}}},
    "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}},
}
OPENAI = BY_NAME["openai"]
MANY = {f"tool_{number}": f"Does the thing of number {number}" for number in range(30)}


@pytest.mark.parametrize("strategy", ["api", "hybrid-first", "tool-search"])
def test_tools_that_end_a_run_are_shown_beside_what_was_found(flow, shape, tools, strategy):
    model = Model(shape, search("read"), DONE)
    ending = [shape.tool(name, "Finish") for name in ENDINGS]
    flow(strategy, top_k=1).complete(shape.request("read it", [*tools, *ending]), model, shape.name)
    assert set(model.seen(1)) == {PHANTOM, "read_file", *ENDINGS}


def test_a_filtered_request_keeps_the_tools_that_end_a_run(flow, shape):
    model = Model(shape, DONE)
    declared = [shape.tool(name, about) for name, about in MANY.items()]
    ending = [shape.tool(name, "Finish") for name in ENDINGS]
    request = shape.request("do the thing of number 3", [*ending, *declared])
    flow("relevance", max_tools=5).complete(request, model, shape.name)
    assert set(model.seen(0)) > {"tool_3", *ENDINGS}


def test_the_last_tool_is_shown_where_the_model_must_call_one(flow, shape, tools):
    model = Model(shape, DONE)
    request = shape.request("read it", [*tools, shape.tool("Invoice", "An invoice")])
    flow().complete(request, model, shape.name)
    assert model.seen(0) == [PHANTOM]
    must = shape.request("read", [*tools, shape.tool("Invoice", "")], **MUST_CALL[shape.name])
    flow().complete(must, model, shape.name)
    assert model.seen(1) == [PHANTOM, "Invoice"]


def test_the_tools_that_end_a_run_are_not_pins_of_the_service(flow, tools, shape, service):
    ending = [shape.tool(name, "Finish") for name in ENDINGS]
    flow("hybrid-first").complete(
        shape.request("read", [*tools, *ending]), Model(shape, DONE), shape.name
    )
    assert "always_keep" not in service.requests[0].json


def test_a_transport_shows_its_pins_and_asks_for_as_many_as_it_is_told(service):
    declared = [OPENAI.tool(name, about) for name, about in (MANY | ABOUT).items()]
    body = OPENAI.request("read or run", declared)
    answer = json.dumps(OPENAI.response(DONE)).encode()
    with (
        peer(lambda exchange: exchange.answer(answer)) as upstream,
        httpx2.Client(transport=Transport(service.url, always_keep=["create_db"], top_k=2)) as http,
    ):
        http.post(f"{upstream.url}/chat/completions", json=body)
        assert OPENAI.names(upstream.requests[0].json) == [PHANTOM, "read_file", "create_db"]
    assert service.requests[0].json["top_k"] == 2
