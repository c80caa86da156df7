"""Tools that a provider refuses are never sent: one of them would cost the whole request."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.client.upstream import Exchange, peer
from tests.turns.flows import DONE, PHANTOM, Model, search
from tests.turns.shapes import ABOUT, BY_NAME, Json, Shape
from tests.turns.turns import SCHEMA
from toolscout import Engine
from toolscout.discovery import Transport
from toolscout.turns.left_out import Upstream

ILL: dict[str, Json] = {
    "read_list": {"type": "array"},
    "read_nothing": {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}},
    "read_oddly": {"type": "object", "properties": {"a": {"type": "strng"}}},
}
JSON = ("Content-Type", "application/json")


MODELS = {"openai": "gpt-4o", "openai-responses": "gpt-4.1", "anthropic": "claude-3-5-haiku"}


def having(value: Any, schema: Json) -> Any:
    """Return a tool with another schema."""
    if value is SCHEMA:
        return schema
    if isinstance(value, dict):
        return {key: having(one, schema) for key, one in value.items()}
    return value


def vendors(shape: Shape) -> Json:
    """Return what tells that the vendor itself answers."""
    return {"model": MODELS[shape.name]} if shape.name in MODELS else {}


def declared(shape: Shape) -> list[Json]:
    ill = [having(shape.tool(name, "Read it"), schema) for name, schema in ILL.items()]
    return [*ill, *(shape.tool(name, about) for name, about in ABOUT.items())]


@pytest.mark.parametrize("endpoint", [None, "http://127.0.0.1:9"], ids=["well", "away"])
@pytest.mark.parametrize("strategy", ["api", "hybrid-first", "tool-search", "relevance"])
def test_what_a_provider_refuses_is_never_sent_and_told_once(
    flow, shape, strategy, endpoint, caplog
):
    running = flow(strategy, endpoint)
    model = Model(shape, search("read"), DONE)
    for text in ("please read", "read again"):
        model.turns = [search("read"), DONE] if strategy != "relevance" else [DONE]
        request = shape.request(text, declared(shape))
        running.complete(request | vendors(shape), model, shape.name)
    assert all("read_file" in json.dumps(request) for request in model.requests)
    assert not any(name in json.dumps(request) for request in model.requests for name in ILL)
    told = [line for line in caplog.messages if "is left out" in line]
    assert len(told) == len(ILL)
    assert f"tool 'read_list' is left out for {shape.name}: its schema is of type array" in str(
        told
    )


def test_what_the_caller_forces_stays(flow):
    shape = BY_NAME["openai"]
    model = Model(shape, DONE)
    request = shape.request("please", declared(shape), **shape.forcing("read_list"))
    flow().complete(request | vendors(shape), model, "openai")
    assert model.seen(0) == [PHANTOM, "read_list"]


def test_few_tools_go_out_without_what_is_refused(flow):
    shape = BY_NAME["openai"]
    model = Model(shape, DONE)
    request = shape.request("please", declared(shape)) | vendors(shape)
    flow(defer_above=len(ABOUT)).complete(request, model, "openai")
    assert model.requests == [{**request, "tools": request["tools"][len(ILL) :]}]


@pytest.mark.parametrize("strategy", ["hybrid-first", "relevance"])
def test_a_request_of_which_nothing_would_be_left_goes_out_as_it_came(flow, strategy):
    shape = BY_NAME["openai"]
    model = Model(shape, DONE)
    request = shape.request("read", declared(shape)[: len(ILL)]) | vendors(shape)
    flow(strategy).complete(request, model, "openai")
    assert model.requests == [request]


@pytest.mark.parametrize(
    ("interface", "address", "is_known"),
    [
        ("openai", "api.openai.com/v1/chat/completions", True),
        ("openai", "eu.api.openai.com/v1/chat/completions", True),
        ("openai", "me.openai.azure.com/openai/deployments/d/chat/completions", True),
        ("openai", "my-vllm/v1/chat/completions", False),
        ("openai", "openrouter.ai/api/v1/chat/completions", False),
        ("openai", "api.openai.com.example/v1/chat/completions", False),
        ("openai", "generativelanguage.googleapis.com/v1beta/openai/chat/completions", False),
        ("openai", "", False),
        ("openai-responses", "api.openai.com/v1/responses", True),
        ("anthropic", "api.anthropic.com/v1/messages", True),
        ("anthropic", "127.0.0.1/v1/messages", False),
        ("gemini", "generativelanguage.googleapis.com/v1beta/models/m:generateContent", True),
        ("gemini", "europe-west1-aiplatform.googleapis.com/v1/m:generateContent", True),
        ("bedrock", "bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse", True),
        ("bedrock", "my-gateway/model/m/converse", False),
    ],
)
def test_rules_are_known_at_the_hosts_of_the_interfaces_vendor(interface, address, is_known):
    assert Upstream(interface, "gpt-4o", address).is_vendors == is_known


@pytest.mark.parametrize(
    ("interface", "model", "is_known"),
    [
        ("openai", "gpt-4o", True),
        ("openai", "qwen3-32b", False),
        ("openai", "gpt-oss-120b", False),
        ("anthropic", "claude-opus-4-6", True),
        ("anthropic", "kimi-k2", False),
        ("gemini", "None", True),
        ("bedrock-anthropic", "None", True),
    ],
)
def test_without_a_host_the_model_tells_who_answers(interface, model, is_known):
    assert Upstream(interface, model).is_vendors == is_known


def test_a_compatible_server_gets_what_the_vendor_would_refuse():
    shape = BY_NAME["openai"]
    tools = [shape.tool(f"slack.{word}.delete", "Delete") for word in ABOUT]
    sent: list[Json] = []

    def answered(request: httpx2.Request) -> httpx2.Response:
        sent.append(json.loads(request.content))
        return httpx2.Response(200, json=shape.response(DONE))

    with peer(lambda exchange: exchange.select("slack.send_email.delete")) as service:
        transport = Transport(service.url, inner=httpx2.MockTransport(answered), defer_above=0)
        with httpx2.Client(transport=transport) as client:
            body = shape.request("delete it", tools) | {"model": "gpt-4o"}
            client.post("http://my-vllm:8000/v1/chat/completions", json=body)
    assert shape.names(sent[0]) == [PHANTOM, "call_tool", "slack.send_email.delete"]


def strict(request: httpx2.Request) -> httpx2.Response:
    """Answer as a provider that takes neither long names nor composed schemas."""
    tools = [tool.get("function", tool) for tool in json.loads(request.content)["tools"]]
    schemas = [tool.get("parameters") or tool.get("input_schema") for tool in tools]
    is_long = any(len(tool["name"]) > 64 for tool in tools)
    if is_long or any({"allOf", "anyOf", "oneOf"} & {*schema} for schema in schemas):
        return httpx2.Response(400, json={"error": {"message": "no"}})
    interface = "openai" if request.url.path.endswith("completions") else "anthropic"
    return httpx2.Response(200, json=BY_NAME[interface].response(DONE))


@pytest.mark.parametrize("case", ["wire-long-name", "wire-native-again"])
def test_lists_that_broke_agents_elsewhere_are_answered_at_once(data: Path, case):
    cases = json.loads((data / "cases/field.json").read_text())["cases"]
    asked = next(one for one in cases if one["id"] == case)["input"]
    host = "api.openai.com" if asked["path"].endswith("completions") else "api.anthropic.com"
    sent: list[httpx2.Request] = []

    def answered(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        return strict(request)

    def ranking(exchange: Exchange) -> None:
        found = Engine(exchange.json["tools"]).search(exchange.json["pattern"])
        exchange.select(*found.names)

    with peer(ranking) as service:
        transport = Transport(service.url, inner=httpx2.MockTransport(answered))
        with httpx2.Client(transport=transport) as client:
            for _ in range(2):
                answer = client.post(f"https://{host}{asked['path']}", json=asked["body"])
                assert answer.status_code == 200
    assert len(sent) == 2


@pytest.mark.parametrize("finds", [True, False])
def test_a_tool_whose_name_no_reference_may_have_is_declared_undeferred(flow, finds):
    shape = BY_NAME["anthropic"]
    long = "read_the_page_" + "x" * 80
    tools = [shape.tool(name, "Read it") for name in (long, *ABOUT)]
    request = {**shape.request("please", tools), "model": "claude-sonnet-4-5"}
    model = Model(shape, search("read_the_page" if finds else "read"), DONE)
    flow().complete(request, model, "anthropic")
    for sent in model.requests:
        shown = [tool["name"] for tool in sent["tools"] if "defer_loading" not in tool]
        assert shown == [PHANTOM, long]
    results = json.dumps(model.requests[1]["messages"])
    assert [f'"tool_name": "{name}"' in results for name in (long, "read_file")] == [
        False,
        not finds,
    ]
    assert finds == (long in results)
