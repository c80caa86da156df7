"""A catalog is sent once; after that its digest is enough, where the service knows digests."""

import json

from tests.client.upstream import TOOLS, Exchange, peer
from tests.support import Process
from toolscout.client.encoding import RequestEncoder
from toolscout.client.offer import Offer

DIGEST = "ab" * 32


class Service:
    """Knows digests as the real one does."""

    def __init__(self) -> None:
        self.known: set[str] = set()

    def __call__(self, exchange: Exchange) -> None:
        body = exchange.json
        if "catalog" in body and body["catalog"] not in self.known:
            problem = json.dumps({"code": "catalog_unknown", "status": 404}).encode()
            exchange.answer(problem, status=404)
            return
        self.known.add(DIGEST)
        exchange.select("read_file", headers=[("X-Catalog-Digest", DIGEST)])


def kinds(fake) -> list[str]:
    return ["digest" if "catalog" in request.json else "tools" for request in fake.requests]


def test_the_second_call_sends_the_digest_in_body_and_header(make):
    with peer(Service()) as fake:
        selector = make(fake.url)
        first = selector.select("x", TOOLS)
        second = selector.select("y", [dict(tool) for tool in TOOLS])
    assert kinds(fake) == ["tools", "digest"]
    assert "x-catalog-digest" not in fake.requests[0].headers
    assert fake.requests[1].headers["x-catalog-digest"] == DIGEST
    assert fake.requests[1].json == {"pattern": "y", "top_k": 5, "catalog": DIGEST}
    assert first.names == second.names == ["read_file"]


def test_other_tools_are_sent_again(make):
    with peer(Service()) as fake:
        selector = make(fake.url)
        selector.select("x", TOOLS)
        selector.select("x", TOOLS[:3], top_k=2)
    assert kinds(fake) == ["tools", "tools"]


def test_a_tool_that_was_changed_in_place_is_sent_again(make):
    tools = [dict(tool) for tool in TOOLS]
    with peer(Service()) as fake:
        selector = make(fake.url)
        selector.select("x", tools)
        tools[0]["description"] = "Now it does something else"
        selector.select("x", tools)
    assert kinds(fake) == ["tools", "tools"]
    assert fake.requests[1].json["tools"][0]["description"] == "Now it does something else"


def test_equal_lists_are_written_once():
    encoder = RequestEncoder("full", None)
    first = encoder.encode(Offer([dict(tool) for tool in TOOLS]))
    assert encoder.encode(Offer([dict(tool) for tool in TOOLS])) is first
    assert encoder.encode(Offer(TOOLS[::-1])) is not first


def test_what_a_function_redacts_is_asked_of_it_every_time():
    hidden: set[str] = set()
    encoder = RequestEncoder("full", lambda tool: None if tool["name"] in hidden else tool)
    whole, _ = encoder.encode(Offer(TOOLS))
    hidden.add("read_file")
    assert encoder.encode(Offer(TOOLS))[0] != whole


def test_an_unknown_catalog_is_sent_again_within_the_same_call(make):
    service = Service()
    with peer(service) as fake:
        selector = make(fake.url)
        selector.select("x", TOOLS)
        service.known.clear()
        selection = selector.select("x", TOOLS)
    assert kinds(fake) == ["tools", "digest", "tools"]
    assert fake.requests[2].headers["x-catalog-digest"] == DIGEST
    assert selection.names == ["read_file"]
    assert not selection.fell_open
    assert selection.attempts == 2


def test_a_server_that_names_no_digest_always_gets_the_tools(make):
    with peer(lambda exchange: exchange.select("read_file")) as fake:
        selector = make(fake.url)
        for _ in range(3):
            assert selector.select("x", TOOLS).names == ["read_file"]
    assert kinds(fake) == ["tools"] * 3


def test_a_server_that_stops_understanding_digests_is_sent_none_for_a_while(make):
    def old_release(exchange: Exchange) -> None:
        if exchange.number == 0:
            exchange.select("read_file", headers=[("X-Catalog-Digest", DIGEST)])
        elif "tools" in exchange.json:
            exchange.select("read_file")
        else:
            exchange.answer(b'{"error":"tools is required"}', status=422)

    with peer(old_release) as fake:
        selector = make(fake.url)
        for _ in range(4):
            assert selector.select("x", TOOLS).names == ["read_file"]
    assert kinds(fake) == ["tools", "digest", "tools", "tools", "tools"]


def test_a_wrong_field_of_one_call_is_no_reason_to_send_others_the_tools(make):
    def script(exchange: Exchange) -> None:
        if "ranker" in exchange.json:
            exchange.answer(b'{"detail":"ranker: there is no such"}', status=422)
        else:
            exchange.select("read_file", headers=[("X-Catalog-Digest", DIGEST)])

    with peer(script) as fake:
        selector = make(fake.url)
        for fields in ({}, {"ranker": "no such"}, {}):
            selector.select("x", TOOLS, fields=fields)
    assert kinds(fake) == ["tools", "digest", "tools", "digest"]


def test_a_digest_no_header_can_carry_is_not_learned(make):
    def hostile(exchange: Exchange) -> None:
        exchange.select("read_file", headers=[("X-Catalog-Digest", 'a","x":"b')])

    with peer(hostile) as fake:
        selector = make(fake.url)
        selector.select("x", TOOLS)
        selector.select("x", TOOLS)
    assert kinds(fake) == ["tools", "tools"]


def test_tools_that_the_service_has_forgotten_are_sent_whole_for_a_while(make):
    service = Service()
    with peer(service) as fake:
        selector = make(fake.url)
        for _ in range(4):
            assert selector.select("x", TOOLS).names == ["read_file"]
            service.known.clear()
    assert kinds(fake) == ["tools", "digest", "tools", "tools", "tools"]


# The client and the real service together.


def test_the_service_selects_and_the_second_call_is_by_digest(make, server: Process):
    selector = make(server.url, timeout=10)
    first = selector.select("look at the contents of a file", TOOLS, top_k=2)
    second = selector.select("send a mail", TOOLS, top_k=2)
    assert first.names[0] == "read_file"
    assert first.outcome == "match"
    assert first.request_id
    assert second.names[0] == "send_email"
    assert second.attempts == 1
