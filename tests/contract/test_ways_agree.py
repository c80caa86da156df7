"""However tools come to the ranking, a question has the same answer, and rights hold the same."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalogs import SHAPES, in_shape
from tests.support import GATEWAY, Process, running
from toolscout import Engine
from toolscout.client import Selector
from toolscout.contract.requests import Filters
from toolscout.discovery import DiscoveryConfig, Transport
from toolscout.tools.shapes import name_of
from toolscout.turns.config import SEARCH_TOOL_NAME, ApiConfig

RIGHTS: dict[str, dict[str, Any]] = {
    "all": {},
    "reader": {"max_risk": "read_only"},
    "finance": {"tags": ["finance"]},
    "git": {"namespaces": ["git"]},
}
"""What a key of each tenant may see."""


def key_of(tenant: str, kind: str = "limited") -> str:
    return f"{tenant}-{kind}-0123456789abcdef0123456789abcdef"


def keys() -> Iterator[str]:
    """Yield for each tenant a key with its rights, and another that registers catalogs."""
    for tenant, rights in RIGHTS.items():
        yield f"{tenant}={key_of(tenant, 'writing')}"
        limits = [
            f"{name}={value if isinstance(value, str) else value[0]}"
            for name, value in rights.items()
        ]
        yield ";".join((f"{tenant}={key_of(tenant)}", *limits))


NAMES = ("get_report", "delete_report", "send_report", "list_invoices", "archive_page", "find_user")

TEXTS = (
    "Get the monthly report",
    "Remove a report for good",
    "Send a report to somebody",
    "List open invoices of a customer",
    "Put a page into the archive",
)

PARAMETERS = ("customer", "month", "recipient", "page_id")

QUESTIONS = ("get the report", "which invoices are open", "recipient of a page", "user")

FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "risk": st.sampled_from(["read_only", "write_local", "destructive"]),
        "status": st.sampled_from(["available", "unavailable"]),
        "tags": st.sampled_from([["finance"], ["people", "finance"], ["people"]]),
        "namespace": st.sampled_from(["git", "erp"]),
        "domain": st.sampled_from(["code", "data"]),
        "source": st.just("https://tools.example"),
        "capabilities": st.just(["read"]),
        "keywords": st.just(["ledger"]),
        "examples": st.just(["who still owes us money"]),
        "annotations": st.sampled_from([{"readOnlyHint": True}, {"destructiveHint": True}]),
    },
)
"""Fields of a tool beside those of its provider's shape."""

PROVIDERS = [shape for shape in SHAPES if shape != "bare_schema"]
SHAPE = st.sampled_from(["request", "own definition", *PROVIDERS])


@st.composite
def tools(draw: st.DrawFn, shapes: st.SearchStrategy[str] = SHAPE) -> list[dict[str, Any]]:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=4, max_size=6, unique=True))
    return [a_tool(draw(shapes), name, draw(st.sampled_from(TEXTS)), draw) for name in names]


def a_tool(shape: str, name: str, about: str, draw: st.DrawFn) -> dict[str, Any]:
    given_names = draw(st.lists(st.sampled_from(PARAMETERS), max_size=2, unique=True))
    properties = {one: {"type": "string", "description": f"The {one}"} for one in given_names}
    schema = {"type": "object", "properties": properties}
    tool: dict[str, Any] = {"name": name, "description": about}
    if shape == "request":
        tool["parameters"] = schema
    elif shape == "own definition":
        tool["definition"] = {"name": name, "input_schema": schema}
    else:
        tool = in_shape(shape, name, about, schema)
    return tool | draw(FIELDS)


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("keyed")
    with running(folder, TOOLSCOUT_API_KEYS=", ".join(keys())) as server:
        yield server


def names_by_http(server: Process, tenant: str, question: dict[str, Any], listed: list) -> dict:
    """Return the names that each call of the service selects, by the way the tools were given."""
    headers = {"authorization": f"Bearer {key_of(tenant)}"}
    writer = {"authorization": f"Bearer {key_of(tenant, 'writing')}"}

    def asked(path: str, body: dict[str, Any]) -> httpx2.Response:
        response = server.post(body, path, headers)
        assert response.is_success, response.text
        return response

    search = "/v1/tool-discovery/search"
    inline = asked(search, question | {"tools": listed})
    digest = inline.headers["x-catalog-digest"]
    put = server.send("PUT", "/v1/catalogs/ways", json.dumps({"tools": listed}).encode(), writer)
    assert put.is_success, put.text
    newer = {"query": question["pattern"], "max_tools": question["top_k"], "tools": listed}
    newer |= {name: question[name] for name in question.keys() - {"pattern", "top_k"}}
    batch = {name: question[name] for name in question.keys() - {"pattern"}}
    batch |= {"patterns": [question["pattern"]], "tools": listed}
    return {
        "inline": inline.json()["selected_names"],
        "digest": asked(search, question | {"catalog": digest}).json()["selected_names"],
        "name": asked(search, question | {"catalog": "ways"}).json()["selected_names"],
        "batch": asked(f"{search}:batch", batch).json()["results"][0]["selected_names"],
        "newer contract": asked(GATEWAY, newer).json()["selected_names"],
    }


ALL = {"pattern": ".+", "ranker": "regex", "top_k": 50, "latency_budget_ms": 60_000}
"""A question that every tool answers which the key may see."""


def seen_by_engine(listed: list[dict[str, Any]], tenant: str) -> list[str]:
    """Return the names of the tools that the key of a tenant may see."""
    rights = Filters(**RIGHTS[tenant])
    return Engine(listed).search(".+", ranker="regex", top_k=50, filters=rights).names


@given(listed=tools(), pattern=st.sampled_from(QUESTIONS), tenant=st.sampled_from(list(RIGHTS)))
def test_every_way_selects_what_the_engine_selects(
    keyed: Process, listed: list[dict[str, Any]], pattern: str, tenant: str
):
    # What a key may not see counts for nothing, also not for how rare a word is.
    offered = [{key: tool[key] for key in tool.keys() - {"status"}} for tool in listed]
    visible = seen_by_engine(offered, tenant)
    allowed = [tool for tool in listed if name_of(tool) in visible]
    expected = Engine(allowed).search(pattern, top_k=3).names
    question = {"pattern": pattern, "top_k": 3, "latency_budget_ms": 60_000}
    found = names_by_http(keyed, tenant, question, listed)
    with Selector(keyed.url, api_key=key_of(tenant), timeout=30) as selector:
        selection = selector.select(pattern, listed, 3, fields={"latency_budget_ms": 60_000})
        found["client"] = [] if selection.fell_open else selection.names
    assert found == dict.fromkeys(found, expected)


@given(
    listed=tools(),
    tenant=st.sampled_from(list(RIGHTS)),
    definition=st.sampled_from(["full", "minimal", "none"]),
)
def test_a_key_may_see_the_same_tools_however_much_of_them_the_client_sends(
    keyed: Process, listed: list[dict[str, Any]], tenant: str, definition: str
):
    found = names_by_http(keyed, tenant, ALL, listed)
    with Selector(keyed.url, api_key=key_of(tenant), timeout=30, definition=definition) as selector:
        fields = {name: ALL[name] for name in ("ranker", "latency_budget_ms")}
        # Of as many tools as are wanted none is searched, unless there is a filter.
        fields["filters"] = {"exclude": ["nothing"]}
        selection = selector.select(ALL["pattern"], listed, 50, fields=fields)
        found["client"] = [] if selection.fell_open else selection.names
    seen = sorted(seen_by_engine(listed, tenant))
    assert {way: sorted(names) for way, names in found.items()} == dict.fromkeys(found, seen)


@given(
    listed=tools(st.just("openai_chat")),
    pattern=st.sampled_from(QUESTIONS),
    tenant=st.sampled_from(list(RIGHTS)),
)
def test_a_transport_shows_a_model_what_a_search_selects(
    keyed: Process, listed: list[dict[str, Any]], pattern: str, tenant: str
):
    question = {"pattern": pattern, "top_k": 3, "latency_budget_ms": 60_000}
    selected = names_by_http(keyed, tenant, question, listed)["inline"]
    forwarded: list[dict[str, Any]] = []

    def provider(request: httpx2.Request) -> httpx2.Response:
        forwarded.append(json.loads(request.content))
        message: dict[str, Any] = {"role": "assistant", "content": "done"}
        if len(forwarded) == 1:
            called = {"name": SEARCH_TOOL_NAME, "arguments": json.dumps({"query": pattern})}
            message["tool_calls"] = [{"id": "1", "type": "function", "function": called}]
        return httpx2.Response(200, json={"choices": [{"message": message}]})

    config = DiscoveryConfig(
        enabled=True,
        strategy="api",
        dispatch="off",
        max_search_results=3,
        api=ApiConfig(endpoint=keyed.url, api_key=key_of(tenant), timeout=30.0),
    )
    transport = Transport(config, inner=httpx2.MockTransport(provider), defer_above=0)
    body = {"model": "m", "messages": [{"role": "user", "content": pattern}], "tools": listed}
    with httpx2.Client(transport=transport) as client:
        assert client.post("https://provider.example/v1/chat/completions", json=body).is_success
    shown = {tool["function"]["name"] for tool in forwarded[-1]["tools"]}
    assert shown == {SEARCH_TOOL_NAME, *selected}
