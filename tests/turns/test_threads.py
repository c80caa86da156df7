"""Conversations that Anthropic keeps: its tool runner sends only what is new."""

import json
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic import beta_tool

from tests.client.upstream import Exchange, peer
from tests.turns.agents import QUESTION, model, service, upstream
from tests.turns.model import JSON, PHANTOM, ScriptedModel
from tests.turns.shapes import BY_NAME
from toolscout.discovery import Transport

__all__ = ["model", "service", "upstream"]  # fixtures, found by their names


@beta_tool
def send_email(path: str) -> str:
    """Send an email to somebody."""
    return f"sent to {path}"


FILLER = [
    beta_tool(lambda path: path, name=f"tool_{number}", description=f"Does number {number}")
    for number in range(20)
]


class Conversation:
    """A thread as a caller continues it by hand."""

    def __init__(self, client: Any, streams: bool) -> None:
        self.client, self.streams = client, streams
        self.previous = ""
        self.tools = [tool.to_dict() for tool in (*FILLER, send_email)]

    def ask(self, text: str) -> list[str]:
        """Answer a question; the names of the tools that were called."""
        called: list[str] = []
        content: Any = text
        while True:
            message = self._sent([{"role": "user", "content": content}])
            self.previous = message.id
            calls = [block for block in message.content if block.type == "tool_use"]
            if not calls:
                return called
            called += [call.name for call in calls]
            content = [
                {"type": "tool_result", "tool_use_id": call.id, "content": "sent"} for call in calls
            ]

    def _sent(self, messages: Any) -> Any:
        thread: Any = {"type": "create"}
        more: Any = {"tools": self.tools}
        if self.previous:
            thread, more = {"type": "continue", "previous_message_id": self.previous}, {}
        about = {"model": "claude-opus-5", "max_tokens": 9, "messages": messages, "thread": thread}
        if not self.streams:
            return self.client.beta.messages.create(**about, **more)
        with self.client.beta.messages.stream(**about, **more) as stream:
            return stream.get_final_message()


def last_words(client: Any, streams: bool, **options: Any) -> str:
    """Return what the runner's last message says."""
    options = {"model": "claude-opus-5", **options}
    runner = client.beta.messages.tool_runner(
        max_tokens=9,
        tools=[*FILLER, send_email],
        messages=[{"role": "user", "content": QUESTION}],
        stream=streams,
        max_iterations=8,
        **options,
    )
    for message in runner:
        last = message.get_final_message() if streams else message
    return "".join(block.text for block in last.content if block.type == "text")


@pytest.fixture
def client(upstream, service):
    with (
        httpx2.Client(transport=Transport(service.url)) as http,
        anthropic.Anthropic(
            api_key="k", base_url=upstream.url, http_client=http, max_retries=0
        ) as made,
    ):
        yield made


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("kept", [True, False], ids=["thread", "no thread"])
def test_the_tool_runner_of_anthropic_ends_well(client, model, streams, kept):
    options = {} if kept else {"thread": False}
    assert last_words(client, streams, **options) == "It said: sent to a@b.example"
    assert model.refused == []
    assert any(PHANTOM in str(request) for request in model.requests)
    assert "send_email" not in model.seen(BY_NAME["anthropic"])[0]


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "stream"])
def test_a_thread_is_searched_in_every_turn(client, service, model, streams):
    def script(exchange: Exchange) -> None:
        exchange.select(exchange.json["pattern"])

    service.script = script
    conversation = Conversation(client, streams)
    for name in ("tool_7", "tool_8", "send_email"):
        model.wants = model.query = name
        assert conversation.ask(f"please, {name}") == [name]
    assert model.refused == []
    kinds = [request["thread"]["type"] for request in model.requests]
    assert kinds == ["create", *["continue"] * (len(kinds) - 1)]


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "stream"])
def test_a_search_beside_a_call_is_answered_with_the_calls_result(client, model, streams):
    model.searches_beside = True
    conversation = Conversation(client, streams)
    model.wants = "tool_3"  # the service finds it for the first message
    assert conversation.ask(QUESTION) == ["tool_3"]
    model.wants = "send_email"
    assert conversation.ask("please go on") == ["send_email"]
    assert model.refused == []


def test_a_model_without_deferred_tools_has_its_thread_untouched(client, model):
    said = last_words(client, False, model="claude-3-5-sonnet-20241022")
    assert said == "It said: sent to a@b.example"
    assert len(model.requests[0]["tools"]) == len(FILLER) + 1
    assert not any(PHANTOM in str(request) for request in model.requests)


def test_a_thread_of_another_process_goes_on_as_it_came(upstream, service, model):
    with (
        httpx2.Client(transport=Transport(service.url)) as one,
        httpx2.Client(transport=Transport(service.url)) as other,
    ):
        here, there = (
            Conversation(
                anthropic.Anthropic(
                    api_key="k", base_url=upstream.url, http_client=http, max_retries=0
                ),
                False,
            )
            for http in (one, other)
        )
        here.ask(QUESTION)
        there.previous = here.previous
        there.ask("please, once more")
    assert model.refused == []


def test_without_a_service_a_thread_loads_every_tool(upstream, model):
    with httpx2.Client(transport=Transport("http://127.0.0.1:9")) as http:
        made = anthropic.Anthropic(
            api_key="k", base_url=upstream.url, http_client=http, max_retries=0
        )
        assert Conversation(made, False).ask(QUESTION) == ["send_email"]
    assert model.refused == []


def test_a_provider_that_refuses_deferred_tools_gets_the_thread_as_it_came(upstream, service):
    def script(exchange: Exchange) -> None:
        if "defer_loading" in exchange.body.decode():
            problem = {"type": "invalid_request_error", "message": "defer_loading: not permitted"}
            body = {"type": "error", "error": problem}
            exchange.answer(json.dumps(body).encode(), status=400, headers=[JSON])
        else:
            model(exchange)

    model = ScriptedModel()
    with peer(script) as refusing, httpx2.Client(transport=Transport(service.url)) as http:
        client = anthropic.Anthropic(
            api_key="k", base_url=refusing.url, http_client=http, max_retries=0
        )
        assert last_words(client, False) == "It said: sent to a@b.example"
    assert not any(PHANTOM in str(request) for request in model.requests)


def test_a_thread_that_begins_anew_has_what_was_found_before(client, model):
    last_words(client, False)
    said = [("user", QUESTION), ("assistant", "It is sent."), ("user", "please, once more")]
    message = client.beta.messages.create(
        model="claude-opus-5",
        max_tokens=9,
        tools=[tool.to_dict() for tool in (*FILLER, send_email)],
        messages=[{"role": role, "content": text} for role, text in said],
        thread={"type": "create"},
    )
    assert [block.name for block in message.content if block.type == "tool_use"] == ["send_email"]
    assert model.refused == []
