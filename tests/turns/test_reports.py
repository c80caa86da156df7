"""What a flow reports to the service, and that nothing waits for it."""

import asyncio
import json
import os
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from tests.client.upstream import Exchange, Peer, peer
from tests.support import PATIENCE_S, until
from tests.turns.flows import DONE, PHANTOM, Flow, Model
from tests.turns.shapes import ABOUT, SHAPES, Json, Said, Shape, tools_of
from toolscout.discovery import AsyncToolDiscovery, DiscoveryConfig, ToolDiscovery
from toolscout.turns.config import ApiConfig
from toolscout.turns.lessons import reporter

OPENAI = SHAPES[0]
TOOLS = tools_of(OPENAI)
READ = ("call_r", "read_file", {"path": "x"})
MAIL = ("call_m", "send_email", {"path": "y"})
DIGEST = "a1b2c3"


def asking(*queries: str) -> Said:
    return Said(
        calls=tuple((f"call_{n}", PHANTOM, {"query": query}) for n, query in enumerate(queries))
    )


class Service:
    """Finds tools by the words of a query, and keeps the feedback that it is sent."""

    def __init__(self) -> None:
        self.posts: list[Exchange] = []
        self.answer: Callable[[Exchange], None] = _accept
        self.digest = DIGEST

    def __call__(self, exchange: Exchange) -> None:
        if "/feedback" in exchange.path:
            self.posts.append(exchange)
            self.answer(exchange)
            return
        words = exchange.json["pattern"].split()
        names = [name for name in ABOUT if any(word in name for word in words)]
        exchange.select(*names, headers=[("X-Catalog-Digest", self.digest)])

    @property
    def events(self) -> list[Json]:
        return [event for post in self.posts for event in post.json["events"]]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return [(event["pattern"], event["tool"]) for event in self.events]


def _accept(exchange: Exchange) -> None:
    body = json.dumps({"accepted": len(exchange.json["events"])}).encode()
    exchange.answer(body, status=202)


def _status(status: int) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.answer(b"{}", status=status)


def hold_up(service: Service, answer: Callable[[Exchange], None]) -> threading.Event:
    """Let feedback wait for its answer until the event that is returned is set."""
    release = threading.Event()

    def slow(exchange: Exchange) -> None:
        release.wait(10)
        answer(exchange)

    service.answer = slow
    return release


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def upstream(service: Service) -> Iterator[Peer]:
    with peer(service, takes_feedback=True) as started:
        yield started


@pytest.fixture
def discovery(upstream: Peer) -> Iterator[ToolDiscovery]:
    made = ToolDiscovery(configured(upstream.url))
    yield made
    made.close()


def configured(url: str, strategy: str = "api", **api: Any) -> DiscoveryConfig:
    return DiscoveryConfig(
        enabled=True, strategy=strategy, api=ApiConfig(url, timeout=PATIENCE_S, **api)
    )


def request(text: str = "please help", *more: Json) -> Json:
    return {**OPENAI.request(text, TOOLS), "messages": [{"role": "user", "content": text}, *more]}


def results(*calls: tuple[str, str, Any]) -> list[Json]:
    """Return the messages with the calls and their results, as a client appends them."""
    turn = OPENAI.response(Said(calls=calls))["choices"][0]["message"]
    told = [{"role": "tool", "tool_call_id": id_, "content": "ok"} for id_, _, _ in calls]
    return [turn, *told]


def teach(discovery: ToolDiscovery, asked: Json, *turns: Said) -> None:
    """Run a turn, and the next one, whose request has the results of its calls."""
    discovery.complete(asked, Model(OPENAI, *turns))
    told = [*asked["messages"], *results(*turns[-1].calls)]
    discovery.complete({**asked, "messages": told}, Model(OPENAI, DONE))


@pytest.mark.parametrize("kind", [ToolDiscovery, AsyncToolDiscovery], ids=["sync", "async"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_the_tool_that_was_called_after_a_search_is_reported(upstream, service, kind, shape: Shape):
    running = Flow(kind, configured(upstream.url, api_key="secret"))
    model = Model(shape, asking("read it"), Said(calls=(READ,)), DONE)
    request = shape.request("please help", tools_of(shape))
    running.complete(request, model, shape.name, session="ann")
    told = shape.history(request, Said(calls=(READ,)), ["ok"], "thanks")
    running.complete(told, model, shape.name, session="ann")
    if kind is ToolDiscovery:
        running.discovery.close()
    (post,) = service.posts
    (event,) = post.json["events"]
    assert event.pop("turn")
    expected = {"pattern": "read it", "tool": "read_file", "success": True, "catalog": DIGEST}
    assert event == expected | {"session": "ann"}
    assert post.path == "/v1/tool-discovery/feedback"
    assert post.headers["authorization"] == "Bearer secret"
    assert post.headers["x-catalog-digest"] == DIGEST


def test_the_search_that_failed_before_learns_too(discovery, service):
    teach(discovery, request(), asking("look at it"), asking("read it"), Said(calls=(READ,)))
    discovery.close()
    assert service.pairs == [("look at it", "read_file"), ("read it", "read_file")]
    turns = [event["turn"] for event in service.events]
    assert len(set(turns)) == 2  # of equal reports of one turn the service counts only one


def test_a_search_with_the_words_of_the_user_learns_of_every_call(discovery, service):
    both = Said(calls=(READ, MAIL))
    teach(
        discovery, request("read and mail it"), asking("Read  and mail it"), asking("email"), both
    )
    discovery.close()
    assert service.pairs == [
        ("Read  and mail it", "read_file"),
        ("Read  and mail it", "send_email"),
        ("email", "send_email"),
    ]


def test_calls_of_later_requests_belong_to_the_question_until_the_next(discovery, service):
    model = Model(OPENAI, asking("read email"), Said(calls=(READ,)))
    discovery.complete(request(), model)
    discovery.complete(request("please help", *results(READ)), Model(OPENAI, Said(calls=(MAIL,))))
    again = results(READ), results(MAIL)
    thanks = {"role": "user", "content": "and now"}
    later = request("please help", *again[0], *again[1], thanks)
    discovery.complete(later, Model(OPENAI, Said(calls=(READ,))))
    discovery.close()
    assert service.pairs == [("read email", "read_file"), ("read email", "send_email")]
    assert len({event["turn"] for event in service.events}) == 1


def test_a_call_beside_a_search_is_not_its_result(discovery, service):
    both = Said(calls=(*asking("read email").calls, READ))
    discovery.complete(request(), Model(OPENAI, both))
    teach(discovery, request("please help", *results(READ)), Said(calls=(MAIL,)))
    discovery.close()
    assert service.pairs == [("read email", "send_email")]


def test_nothing_is_reported_without_a_search_or_of_a_tool_that_does_not_exist(discovery, service):
    teach(discovery, request("one"), Said(calls=(READ,)))
    teach(discovery, request("two"), asking("read it"), DONE)
    odd = Said(calls=(("c", "made_up", {}),))
    teach(discovery, request("three"), asking("read it"), odd)
    discovery.close()
    assert service.posts == []


@pytest.mark.parametrize(
    "options",
    [{"learn": False}, {"log_query": "off"}, {"strategy": "tool-search"}, {"path": "/search"}],
    ids=str,
)
def test_nothing_is_reported_where_that_is_not_wanted(upstream, service, options):
    path = options.pop("path", "")
    config = configured(upstream.url + path, options.pop("strategy", "api"))
    discovery = ToolDiscovery(config, **options)
    teach(discovery, request(), asking("read it"), Said(calls=(READ,)))
    discovery.close()
    assert service.posts == []


def test_a_tool_that_the_service_is_not_told_of_is_not_reported(upstream, service):
    def redact(tool: Json) -> Json | None:
        return None if tool["name"] == "read_file" else tool

    discovery = ToolDiscovery(configured(upstream.url), redact=redact)
    teach(discovery, request(), asking("sing it"), Said(calls=(READ, MAIL)))
    discovery.close()
    assert service.pairs == [("sing it", "send_email")]


def test_no_turn_waits_for_feedback(discovery, service):
    release = hold_up(service, _accept)
    for number in range(3):
        asked = request(f"please help {number}")
        teach(discovery, asked, asking("read it"), Said(calls=(READ,)))
    until(lambda: bool(service.posts))
    assert not release.is_set()
    release.set()
    until(lambda: len(service.events) == 3)


def test_closing_sends_what_came_while_the_last_sender_ended(discovery, service, monkeypatch):
    ending, senders = threading.Event(), []
    start = discovery.selector.run_later

    def run_later(work: Coroutine[Any, Any, None]) -> Any:
        async def run() -> None:
            await work
            await asyncio.to_thread(ending.wait, 30)

        senders.append(start(run()))
        return senders[-1]

    monkeypatch.setattr(discovery.selector, "run_later", run_later)
    teach(discovery, request(), asking("read it"), Said(calls=(READ,)))
    until(lambda: len(service.events) == 1)
    teach(discovery, request("please help 1"), asking("email it"), Said(calls=(MAIL,)))
    assert len(senders) == 1
    threading.Timer(0.05, ending.set).start()
    discovery.close()
    assert service.pairs == [("read it", "read_file"), ("email it", "send_email")]


@pytest.mark.parametrize("status", [404, 405, 401])
def test_a_service_that_does_not_learn_is_asked_once(discovery, service, status):
    service.answer = _status(status)
    for number in range(3):
        asked = request(f"please help {number}")
        teach(discovery, asked, asking("read it"), Said(calls=(READ,)))
        asyncio.run(discovery.reporter.flush())
    assert len(service.posts) == 1


@pytest.mark.parametrize("status", [500, 503, 429])
def test_what_could_not_be_taken_is_sent_again_as_it_was(discovery, service, monkeypatch, status):
    monkeypatch.setattr(reporter, "FAILED_PAUSE_S", 0.0)
    answers = [_status(status), _accept]
    service.answer = lambda exchange: answers.pop(0)(exchange)
    teach(discovery, request(), asking("read it"), Said(calls=(READ,)))
    until(lambda: not answers)
    first, second = service.posts
    assert first.json == second.json


@pytest.mark.parametrize(("status", "posts"), [(202, 4), (404, 1)], ids=["taken", "refused"])
def test_a_post_holds_one_catalog_and_none_follows_a_refusal(discovery, service, status, posts):
    release = hold_up(service, _status(status))
    for number in range(4):
        service.digest = f"d{number}"
        asked = request(f"please help {number}")
        teach(discovery, asked, asking("read it"), Said(calls=(READ,)))
    until(lambda: bool(service.posts))
    release.set()
    until(lambda: len(service.posts) == posts)
    discovery.close()
    sent = [post.headers["x-catalog-digest"] for post in service.posts]
    assert sent == [f"d{number}" for number in range(posts)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_reports_its_own_turns(discovery, service):
    release = hold_up(service, _accept)
    for number in range(2):
        asked = request(f"please help {number}")
        teach(discovery, asked, asking(f"read {number}"), Said(calls=(READ,)))
    until(lambda: len(service.posts) == 1)
    child = os.fork()  # while one post is under way, and another waits for it
    if child == 0:
        try:
            asked = request("please help 2")
            teach(discovery, asked, asking("read 2"), Said(calls=(READ,)))
            discovery.close()
        finally:
            os._exit(0)
    release.set()
    os.waitpid(child, 0)
    until(lambda: len(service.pairs) >= 3)
    discovery.close()
    assert sorted(pattern for pattern, _ in service.pairs) == ["read 0", "read 1", "read 2"]


# Calls that the model had no choice about teach the service nothing.


ANSWER = ("call_a", "final_result", {"path": "z"})
FUNCTION = {"type": "function", "function": {"name": "send_email"}}
ALLOWED = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [FUNCTION]}}


def pairs(upstream: Peer, service: Service, shape: Any, request: Json, *calls: Any) -> Any:
    """Return what is reported of a request that the model answers with some calls."""
    discovery = ToolDiscovery(configured(upstream.url, "hybrid-first"))
    said = Said(calls=calls)
    model = Model(shape, said, DONE)
    discovery.complete(request, model, shape.name)
    discovery.complete(shape.history(request, said, ["ok"], "thanks"), model, shape.name)
    discovery.close()
    return service.pairs


@pytest.mark.parametrize(
    "shape", [s for s in SHAPES if s.forcing("send_email")], ids=lambda shape: shape.name
)
def test_a_call_of_a_forced_tool_is_not_reported(upstream, service, shape):
    request = shape.request("hello there", tools_of(shape), **shape.forcing("send_email"))
    assert pairs(upstream, service, shape, request, MAIL) == []


def test_a_required_call_that_the_model_chose_is_reported(upstream, service):
    request = OPENAI.request("read it", tools_of(OPENAI), tool_choice="required")
    assert pairs(upstream, service, OPENAI, request, READ) == [("read it", "read_file")]


def test_a_call_of_a_listed_tool_is_not_reported(upstream, service):
    discovery = ToolDiscovery(configured(upstream.url, "hybrid-first"))
    for choice, call in (({}, READ), ({"tool_choice": ALLOWED}, MAIL)):
        asked = OPENAI.request("read it", tools_of(OPENAI), **choice)
        teach(discovery, asked, Said(calls=(call,)))
    discovery.close()
    assert service.pairs == [("read it", "read_file")]
