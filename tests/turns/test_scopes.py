"""Whose conversation it is, from when on it is stored, and how much of it."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.client.upstream import Exchange, Peer, peer
from tests.turns.flows import DONE, PHANTOM, Model, search
from tests.turns.shapes import ABOUT, BY_NAME, Json, tools_of
from toolscout.discovery import Transport
from toolscout.turns.session import SessionStore

OPENAI, GEMINI = BY_NAME["openai"], BY_NAME["gemini"]
FILLER = {f"tool_{number}": f"Does the thing of number {number}" for number in range(20)}
TELLING = (
    "Authorization X-API-Key api-key x-goog-api-key Ocp-Apim-Subscription-Key "
    "OpenAI-Organization OpenAI-Project X-Forwarded-User x-portkey-api-key x-portkey-virtual-key "
    "x-portkey-provider Cookie"
).split()
CHANGING = (
    "Idempotency-Key Sec-Fetch-Site traceparent tracestate X-Request-Id x-b3-traceid "
    "x-datadog-trace-id x-portkey-trace-id x-portkey-request-timeout "
    "X-Stainless-Retry-Count User-Agent X-Token-Of-Somebody"
).split()
NOBODYS = "__cf_bm AWSALBCORS _ga_X1 BIGipServerpool ajs_id mp_x ph_x amp_x AMP_x".split()


@pytest.fixture
def model() -> Iterator[Peer]:
    """Yield a provider that takes any request."""
    answers = {shape: json.dumps(shape.response(DONE)).encode() for shape in (OPENAI, GEMINI)}

    def script(exchange: Exchange) -> None:
        exchange.answer(answers[GEMINI if "generateContent" in exchange.path else OPENAI])

    with peer(script) as started:
        yield started


def asked(shape: Any = OPENAI) -> Json:
    return dict(shape.request("read it", tools_of(shape, FILLER | ABOUT)))


def sessions(model: Peer, service: Peer, *headers: Json, **options: Any) -> int:
    """How many conversations are known after the same request with each of these headers."""
    transport = Transport(service.url, **options)
    with httpx2.Client(transport=transport) as http:
        for each in headers:
            http.post(f"{model.url}/chat/completions", json=asked(), headers=each)
        return len(transport.discovery.store)


@pytest.mark.parametrize("name", TELLING)
def test_what_names_a_caller_keeps_conversations_apart(model, service, name):
    assert sessions(model, service, {name: "a=1"}, {name: "a=2"}, {name: "a=1"}, {}) == 3


@pytest.mark.parametrize("name", CHANGING)
def test_what_differs_between_requests_does_not(model, service, name):
    assert sessions(model, service, {name: "1"}, {name: "2"}, {}) == 1


@pytest.mark.parametrize("name", NOBODYS)
def test_cookies_of_balancers_and_analytics_name_nobody(model, service, name):
    cookies = (f"session=a; {name}=1", f"{name}=2; session=a", f"session=b; {name}=2")
    assert sessions(model, service, *({"Cookie": cookie} for cookie in cookies)) == 2


def test_further_headers_can_tell_callers_apart(model, service):
    users = ({"X-User": "a"}, {"x-user": "b"})
    assert sessions(model, service, *users) == 1
    assert sessions(model, service, *users, scope_headers=["X-User"]) == 2


def test_the_key_in_a_url_of_gemini_names_a_caller(model, service):
    transport = Transport(service.url)
    with httpx2.Client(transport=transport) as http:
        for query in ("key=a", "key=b", "key=a&alt=json"):
            url = f"{model.url}/models/m:generateContent?{query}"
            http.post(url, json=asked(GEMINI))
        assert len(transport.discovery.store) == 2


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("status", [400, 401, 403, 429, 500])
def test_nothing_is_stored_of_a_caller_whom_the_provider_refuses(service, status, streams):
    transport = Transport(service.url)
    body = asked() | {"stream": streams}
    with (
        peer(lambda exchange: exchange.answer(b"{}", status)) as upstream,
        httpx2.Client(transport=transport) as http,
    ):
        http.post(f"{upstream.url}/chat/completions", json=body)
    assert len(transport.discovery.store) == 0
    assert transport.discovery.store.size == 0


def test_sessions_are_bounded_in_bytes():
    store = SessionStore(session_bytes=200_000)
    for session in range(100):
        store.mark_expanded(str(session), [f"{session}_tool_{number}" for number in range(1_000)])
    assert 0 < store.size <= 200_000
    assert store.expanded("0") == ()
    assert len(store.expanded("99")) == 1_000


def test_other_definitions_of_the_same_names_are_another_catalog(flow, shape, service):
    running = flow("hybrid-first")
    for about in (ABOUT, dict.fromkeys(ABOUT, "Something else"), ABOUT):
        declared = tools_of(shape, about)
        running.complete(shape.request("read it", declared), Model(shape, DONE), shape.name)
    assert len(service.requests) == 2


def test_the_order_of_the_tools_and_markers_do_not_make_another_catalog(flow, service):
    anthropic, running = BY_NAME["anthropic"], flow("hybrid-first")
    declared = tools_of(anthropic)
    marked = [*declared[1:], declared[0] | {"cache_control": {"type": "ephemeral"}}]
    for given in (declared, marked):
        request = anthropic.request("read it", given)
        running.complete(request, Model(anthropic, DONE), "anthropic")
    assert len(service.requests) == 1


def test_the_response_of_another_caller_names_no_session(flow, tools):
    responses, running = BY_NAME["openai-responses"], flow()
    declared = tools_of(responses)
    first = Model(responses, search("read"), DONE)
    request = responses.request("read it", declared)
    answer = running.complete(request, first, "openai-responses", scope="alice")
    following = responses.request("go on", declared) | {"previous_response_id": answer["id"]}
    for scope, seen in (("alice", [PHANTOM, "read_file"]), ("bob", [PHANTOM])):
        model = Model(responses, DONE)
        running.complete(following, model, "openai-responses", scope=scope)
        assert model.seen(0) == seen
