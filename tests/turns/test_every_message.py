"""The service is asked at each message of a user; what fits is there before the model answers."""

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from typing import Any

import pytest

from tests.client.upstream import Peer, peer
from tests.turns.flows import DONE, PHANTOM, Flow, Model, RefusedError, begins_with, search
from tests.turns.shapes import BY_NAME, Json, Said, Shape, tools_of
from toolscout.discovery import ToolDiscovery
from toolscout.turns.local import is_asking
from toolscout.turns.providers import PROVIDERS

Make = Callable[..., Flow]
THROUGH = Said("", (("call_4", "call_tool", {"name": "read_file", "arguments": {"path": "x"}}),))
READING = Said("", (("call_4", "read_file", {"path": "x"}),))
DECLARED = [PHANTOM, "call_tool", "send_email"]
LATER = ["now read it", "then deploy it", "and read it again"]


def patterns(service: Peer) -> list[str]:
    return [request.json["pattern"] for request in service.requests]


def talk(discovery: Any, shape: Shape, model: Model, tools: list[Json], *texts: str) -> list[Json]:
    """Hold a conversation whose model answers in words; return the caller's requests."""
    request = shape.request(texts[0], tools)
    asked = [request]
    for text in texts[1:]:
        discovery.complete(request, model, shape.name)
        request = shape.history(request, DONE, [], text)
        asked.append(request)
    discovery.complete(request, model, shape.name)
    return asked


def test_what_fits_a_later_message_is_called_without_a_search(flow: Make, shape: Shape, tools):
    model = Model(shape, DONE, THROUGH)
    discovery = flow("hybrid-first", dispatch="auto")
    first = shape.request("email somebody", tools)
    discovery.complete(first, model, shape.name)
    second = shape.history(first, DONE, [], "now read x")
    assert shape.read(discovery.complete(second, model, shape.name)) == READING
    assert [model.seen(turn) for turn in range(2)] == [DECLARED, DECLARED]
    (told,) = shape.results(model.requests[1]).values()
    assert '"name":"read_file"' in told


def test_each_request_begins_with_the_one_before(flow: Make, shape: Shape, tools):
    model = Model(shape, DONE)
    talk(flow("hybrid-first", dispatch="auto"), shape, model, tools, "email somebody", *LATER)
    assert all(begins_with(later, before, shape) for before, later in pairwise(model.requests))
    definitions = "".join(shape.results(model.requests[-1]).values())
    assert definitions.count('"name":"read_file"') == 1  # it was there already


def test_declared_finds_are_declared_before_the_answer_and_stay(flow: Make, shape: Shape, tools):
    model = Model(shape, DONE)
    talk(flow("hybrid-first", dispatch="off"), shape, model, tools, "email somebody", *LATER)
    assert [*map(model.seen, range(4))] == [
        [PHANTOM, "send_email"],
        [PHANTOM, "send_email", "read_file"],
        [PHANTOM, "send_email", "read_file", "deploy_app"],
        [PHANTOM, "send_email", "read_file", "deploy_app"],
    ]


def test_a_message_without_a_request_asks_nothing(flow: Make, shape: Shape, tools, service: Peer):
    talk(flow("hybrid-first"), shape, Model(shape, DONE), tools, "read it", "Thanks!", "yes", "42")
    assert patterns(service) == ["read it"]


def test_results_of_calls_ask_nothing(flow: Make, service: Peer):
    shape = BY_NAME["openai"]
    request = shape.request("read it", tools_of(shape))
    discovery = flow("hybrid-first")
    discovery.complete(request, Model(shape, READING), shape.name)
    request["messages"] += [
        shape.response(READING)["choices"][0]["message"],
        {"role": "tool", "tool_call_id": "call_4", "content": "send an email"},
    ]
    discovery.complete(request, Model(shape, DONE), shape.name)
    assert patterns(service) == ["read it"]


def test_it_can_be_switched_off(flow: Make, shape: Shape, tools, service: Peer):
    model = Model(shape, DONE)
    discovery = flow("hybrid-first", dispatch="auto", ask_every_turn=False)
    talk(discovery, shape, model, tools, "email somebody", *LATER)
    assert patterns(service) == ["email somebody"]
    assert [*map(model.seen, range(4))] == [DECLARED] * 4


def test_where_nothing_fitted_before_the_finds_are_the_first_ones(flow: Make, shape, tools):
    model = Model(shape, DONE)
    discovery = flow("hybrid-first", dispatch="auto")
    talk(discovery, shape, model, tools, "hello there", "email somebody", "and read it")
    assert [*map(model.seen, range(3))] == [[PHANTOM], DECLARED, DECLARED]


def test_an_outage_at_a_later_message_changes_nothing(flow: Make, shape, tools, service: Peer):
    model = Model(shape, DONE)
    discovery = flow("hybrid-first", dispatch="auto")
    request = shape.request("email somebody", tools)
    discovery.complete(request, model, shape.name)
    service.script = lambda exchange: exchange.answer(b"{}", status=503)
    later = shape.history(request, DONE, [], "now read x")
    assert shape.read(discovery.complete(later, model, shape.name)) == DONE
    assert begins_with(model.requests[1], model.requests[0], shape)


def test_a_model_that_takes_no_call_of_ours_gets_none_from_then_on(flow: Make, shape, tools):
    class Thinking(Model):
        """Refuses calls without what it thought before them."""

        def __call__(self, request: Json) -> Json:
            self.requests.append(request)
            if shape.results(request):
                raise RefusedError("reasoning_content is missing in a message with tool_calls")
            return shape.response(DONE)

    model = Thinking(shape, DONE)
    discovery = flow("hybrid-first", dispatch="auto")
    talk(discovery, shape, model, tools, "email somebody", *LATER)
    assert [bool(shape.results(body)) for body in model.requests] == [False, True, *[False] * 3]
    assert [*map(model.seen, range(5))] == [DECLARED] * 5


class AwsError(Exception):
    """As botocore raises it."""

    def __init__(self, status: int) -> None:
        super().__init__("refused")
        self.response = {"ResponseMetadata": {"HTTPStatusCode": status}}


def with_status(status: int) -> Exception:
    error = RefusedError("the prompt is too long")
    error.status_code = status
    return error


@pytest.mark.parametrize("error", [with_status(413), with_status(500), AwsError(400)], ids=repr)
def test_whatever_fails_because_of_a_call_of_ours_is_tried_without_it(
    flow: Make, shape, tools, error: Exception
):
    model = Model(shape, DONE, error, DONE)
    discovery = flow("hybrid-first", dispatch="auto")
    request = shape.request("email somebody", tools)
    discovery.complete(request, model, shape.name)
    later = shape.history(request, DONE, [], "now read x")
    assert shape.read(discovery.complete(later, model, shape.name)) == DONE
    assert [bool(shape.results(body)) for body in model.requests] == [False, True, False]
    assert begins_with(model.requests[2], model.requests[0], shape)


@pytest.mark.parametrize("native", [True, False])
def test_a_stored_conversation_is_asked_again(flow: Make, native: bool, service: Peer):
    shape = BY_NAME["openai-responses"]
    tools = tools_of(shape)
    model = Model(shape, DONE)
    discovery = flow("hybrid-first", dispatch="auto", native=native)
    request = shape.request("email somebody", tools) | {"model": "gpt-5.4"}
    answer = discovery.complete(request, model, shape.name)
    later = shape.request("now read x", tools) | {"model": "gpt-5.4"}
    later["previous_response_id"] = answer["id"]
    discovery.complete(later, model, shape.name)
    assert patterns(service) == ["email somebody", "now read x"]
    assert "Read file contents" in str(model.requests[1]["input"])


def test_a_picture_alone_asks_nothing(flow: Make, service: Peer):
    shape = BY_NAME["anthropic"]
    request = shape.request("email somebody", tools_of(shape))
    discovery = flow("hybrid-first")
    discovery.complete(request, Model(shape, DONE), shape.name)
    later = shape.history(request, DONE, [], "look")
    later["messages"][-1]["content"] = [{"type": "image", "source": {}}]
    discovery.complete(later, Model(shape, DONE), shape.name)
    assert patterns(service) == ["email somebody"]


THINKING = {
    "anthropic": {"model": "claude-opus-4-7", "thinking": {"type": "enabled"}},
    "openai": {"thinking": {"type": "enabled"}},
    "bedrock": {"additionalModelRequestFields": {"thinking": {"type": "enabled"}}},
}
THINKS = pytest.mark.parametrize("name", THINKING)
FITS = "may fit what is asked"


def talk_thinking(discovery: Any, name: str, model: Model, *texts: str) -> None:
    shape = BY_NAME[name]
    request = shape.request(texts[0], tools_of(shape)) | THINKING[name]
    for text in texts[1:]:
        discovery.complete(request, model, name)
        request = shape.history(request, DONE, [], text)
    discovery.complete(request, model, name)


@THINKS
def test_with_thinking_what_fits_a_later_message_is_told_in_words(flow: Make, name: Any):
    """Such a model takes no call that it did not think of itself."""
    shape = BY_NAME[name]
    model = Model(shape, DONE, THROUGH)
    talk_thinking(flow("hybrid-first", dispatch="auto"), name, model, "email somebody", "read x")
    assert [*map(model.seen, range(2))] == [DECLARED] * 2
    assert not shape.results(model.requests[1])
    last = str(PROVIDERS[name].history(model.requests[1])[-1])
    assert last.index("read x") < last.index(FITS) < last.index('{"name":"read_file"')
    assert "send_email" not in last  # it is declared


@THINKS
def test_a_model_that_searches_for_what_it_was_told_gets_the_definitions(flow: Make, name: str):
    shape = BY_NAME[name]
    model = Model(shape, DONE, search("read"), THROUGH)
    talk_thinking(flow("hybrid-first", dispatch="auto"), name, model, "email somebody", "read x")
    (told,) = shape.results(model.requests[2]).values()
    assert '"name":"read_file"' in told
    assert begins_with(model.requests[2], model.requests[1], shape)


@THINKS
def test_with_thinking_each_request_begins_with_the_one_before(flow: Make, name: str):
    shape = BY_NAME[name]
    model = Model(shape, DONE)
    talk_thinking(flow("hybrid-first", dispatch="auto"), name, model, "email somebody", *LATER)
    for before, later in pairwise(model.requests):
        assert begins_with(later, before, shape)
    assert str(model.requests[-1]).count('"name":"read_file"') == 1  # it was there already
    assert str(model.requests[-1]).count(FITS) == 2


@THINKS
@pytest.mark.parametrize("options", [{"dispatch": "off"}, {"ask_every_turn": False}], ids=str)
def test_with_thinking_and_without_words_the_model_searches(flow: Make, name: str, options: Json):
    model = Model(BY_NAME[name], DONE)
    talk_thinking(flow("hybrid-first", **options), name, model, "email somebody", "read x")
    assert FITS not in str(model.requests)


def test_a_marker_of_the_cache_moves_on_without_a_change_of_what_was_told(flow: Make):
    """Claude Code makes the last text a part to mark it, and takes the mark away later."""
    shape = BY_NAME["anthropic"]
    model = Model(shape, DONE)
    discovery = flow("hybrid-first", dispatch="auto")
    marked = {"type": "text", "text": "read x", "cache_control": {"type": "ephemeral"}}
    first = shape.request("email somebody", tools_of(shape)) | THINKING["anthropic"]
    discovery.complete(first, model, shape.name)
    second = shape.history(first, DONE, [], "read x")
    second["messages"][-1] = {"role": "user", "content": [marked]}
    discovery.complete(second, model, shape.name)
    second["messages"][-1] = {"role": "user", "content": "read x"}
    discovery.complete(shape.history(second, DONE, [], "thanks"), model, shape.name)
    sent = [request["messages"][2]["content"] for request in model.requests[1:]]
    assert [part["text"] for part in sent[0]] == [part["text"] for part in sent[1]]


@pytest.mark.parametrize("native", [True, False])
def test_behind_a_message_stand_the_best_tool_and_others_that_are_not_too_long(native: bool):
    """They stay in the conversation; a tool that is left out can be searched."""
    shape = BY_NAME["anthropic"]
    sizes = {"first": 9_000, "second": 2_000, "third": 9_000, "fourth": 1_500, "fifth": 1_000}
    tools = [shape.tool(name, "x" * size) for name, size in sizes.items()]
    tools += tools_of(shape)
    found = [["send_email"], [*sizes]]
    request = shape.request("email somebody", tools) | {"model": "claude-opus-4-7"}
    model = Model(shape, DONE)
    with (
        peer(lambda exchange: exchange.select(*found[min(exchange.number, 1)])) as service,
        closing(ToolDiscovery(service.url, native=native)) as discovery,
    ):
        discovery.complete(request, model, shape.name)
        later = shape.history(request, DONE, [], "now do it")
        discovery.complete(later, model, shape.name)
    told = str(model.requests[1]["messages"][-1])
    assert [name for name in sizes if f"{name}'" in told or f'"{name}"' in told] == [
        "first",
        "second",
        "fourth",
    ]


def test_gemini_takes_the_call_without_a_thought_of_its_own(flow: Make):
    shape = BY_NAME["gemini"]
    model = Model(shape, DONE)
    discovery = flow("hybrid-first", dispatch="auto")
    talk(discovery, shape, model, tools_of(shape), "email somebody", "now read x")
    call, result = PROVIDERS["gemini"].history(model.requests[1])[-2:]
    (part,) = call["parts"]
    assert part["thoughtSignature"] == "skip_thought_signature_validator"
    assert part["functionCall"]["name"] == result["parts"][0]["functionResponse"]["name"]


def test_a_stream_shows_what_fits_too(service: Peer):
    shape = BY_NAME["openai"]
    first = shape.request("email somebody", tools_of(shape))
    later = shape.history(first, DONE, [], "now read x") | {"stream": True}
    seen: list[Json] = []

    def opened(body: Json) -> Iterator[bytes]:
        seen.append(body)
        return iter([b"data: [DONE]\n\n"])

    discovery = ToolDiscovery(service.url)
    discovery.complete(first, Model(shape, DONE))
    assert b"".join(discovery.stream(later, opened)) == b"data: [DONE]\n\n"
    discovery.close()
    assert '"name":"read_file"' in "".join(shape.results(seen[0]).values())


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Thanks a lot!", False),
        ("ok, go ahead", False),
        ("y", False),
        ("2026", False),
        ("", False),
        ("could you do that again please?", False),
        ("delete the branch", True),
        ("and the weather in Paris?", True),
        ("删除", True),
        ("wetter", True),
    ],
)
def test_which_messages_ask_for_something(text: str, asks: bool):
    assert is_asking(text) is asks
