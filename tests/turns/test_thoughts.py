"""What a model thinks is streamed at once, and goes back to it where it thought it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.turns.bedrock_streaming import frame
from tests.turns.flows import DONE, begins_with, search
from tests.turns.shapes import BY_NAME, Json, Said, Shape, tools_of
from tests.turns.streaming import EVENTS, READING, StreamingModel, read_until
from toolscout.turns.providers.slices import shorten_text

Make = Callable[..., Any]


def _think(number: int) -> dict[str, Json]:
    """Return a thought as each interface has it in the history of a request."""
    text = f"thought {number}"
    signed = f"signed {number}"
    return {
        "anthropic": {"type": "thinking", "thinking": text, "signature": signed},
        "bedrock": {"reasoningContent": {"reasoningText": {"text": text, "signature": signed}}},
        "openai-responses": {
            "type": "reasoning",
            "id": f"rs_{number}",
            "summary": [{"type": "summary_text", "text": text}],
        },
    }


THINKING = list(_think(0))
STREAMS = pytest.mark.parametrize("shape", [BY_NAME[name] for name in THINKING], ids=THINKING)


def ask(shape: Shape) -> Json:
    return shape.request("please help", tools_of(shape), stream=True)


def give_back(shape: Shape, request: Json, *thoughts: Json) -> Json:
    """Return the next request of a client that keeps the thoughts of an answer."""
    following = shape.history(request, READING, ["ok"], "thanks")
    if shape.name == "openai-responses":
        first, *items = following["input"]
        called = [item for item in items if item.get("type") != "reasoning"]
        return {**following, "input": [first, *thoughts, *called]}
    first, answer, *rest = following["messages"]
    answer = {**answer, "content": [*thoughts, *answer["content"]]}
    return {**following, "messages": [first, answer, *rest]}


@STREAMS
def test_each_piece_of_a_thought_flows_at_once(shape: Shape):
    events = EVENTS[shape.name](search("read"))
    first = next(number for number, event in enumerate(events) if b"thought 0" in event)
    assert read_until(shape, ask(shape), events, b"thought 0") == first + 1


class Thinking:
    """A model whose thoughts no other test has, because a process remembers those it has seen."""

    def __init__(self, shape: Shape, first: int, *turns: Said) -> None:
        self._streams = [EVENTS[shape.name](said, first + n) for n, said in enumerate(turns)]
        self.requests: list[Json] = []

    def sign(self, signature: str) -> None:
        """Sign the first thought so."""
        signed = signature.encode()
        self._streams[0] = [event.replace(b"signed 80", signed) for event in self._streams[0]]

    def __call__(self, request: Json) -> Iterator[bytes]:
        yield from self._streams[len(self.requests)]
        self.requests.append(request)


@STREAMS
def test_the_thoughts_before_a_hidden_search_stand_before_it_in_the_next_request(
    flow: Make, shape: Shape
):
    model = Thinking(shape, 30, search("read"), READING, DONE)
    running = flow(dispatch="auto")
    list(running.stream(ask(shape), model, shape.name))
    thoughts = [_think(number)[shape.name] for number in (30, 31)]
    following = give_back(shape, ask(shape), *thoughts)
    list(running.stream(following, model, shape.name))
    assert begins_with(model.requests[2], model.requests[1], shape)
    whole = str(model.requests[2])
    assert [whole.count(f"'thought {number}'") for number in (30, 31)] == [1, 1]
    assert whole.index("thought 30") < whole.index("'call_1'") < whole.index("thought 31")


@STREAMS
def test_thoughts_that_nothing_hides_go_back_as_they_came(flow: Make, shape: Shape):
    running = flow(dispatch="auto")
    model = StreamingModel(shape, DONE)
    thoughts = [_think(number)[shape.name] for number in (7, 8)]
    following = give_back(shape, ask(shape), *thoughts)
    list(running.stream(following, model, shape.name))
    whole = str(model.requests[0])
    assert all(str(thought) in whole for thought in thoughts)


@STREAMS
def test_words_between_a_thought_and_a_search_hold_the_thought_in_its_place(
    flow: Make, shape: Shape
):
    """The client's turn begins with it, as one that calls tools has to."""
    looking = search("read", text="Let me look. ")
    model = Thinking(shape, 20, looking, READING, DONE)
    running = flow(dispatch="auto")
    list(running.stream(ask(shape), model, shape.name))
    thought = _think(20)[shape.name]
    following = give_back(shape, ask(shape), thought)
    list(running.stream(following, model, shape.name))
    assert str(thought) in str(model.requests[2])


@pytest.mark.parametrize("name", ["anthropic", "bedrock"])
def test_where_the_search_cannot_be_put_back_the_turn_still_begins_with_its_thought(
    flow: Make, name: str
):
    """As where a clock in the system text makes another prompt of it."""
    shape = BY_NAME[name]
    model = Thinking(shape, 40, search("read"), READING, DONE)
    running = flow(dispatch="auto")
    list(running.stream(ask(shape), model, name))
    following = give_back(shape, ask(shape), _think(40)[name])
    following["system"] = "another" if name == "anthropic" else [{"text": "another"}]
    list(running.stream(following, model, name))
    answer = model.requests[2]["messages"][1]
    assert answer["content"][0] == _think(40)[name]


def test_responses_take_no_reasoning_without_what_followed_it(flow: Make):
    shape = BY_NAME["openai-responses"]
    model = Thinking(shape, 50, search("read"), READING, DONE)
    running = flow(dispatch="auto")
    list(running.stream(ask(shape), model, shape.name))
    thoughts = [_think(number)[shape.name] for number in (50, 51)]
    following = give_back(shape, ask(shape), *thoughts) | {"instructions": "another"}
    list(running.stream(following, model, shape.name))
    ids = [item["id"] for item in model.requests[2]["input"] if item.get("type") == "reasoning"]
    assert ids == ["rs_51"]


def test_what_another_conversation_has_hidden_stays(flow: Make):
    """Some servers sign nothing, or give the same ids again."""
    shape = BY_NAME["anthropic"]
    unsigned = {"type": "thinking", "thinking": "thought 60"}
    running = flow(dispatch="auto")
    list(running.stream(ask(shape), Thinking(shape, 60, search("read"), READING), shape.name))
    model = Thinking(shape, 70, DONE)
    other = shape.request("another question", tools_of(shape), stream=True)
    list(running.stream(give_back(shape, other, unsigned), model, shape.name))
    assert unsigned in model.requests[0]["messages"][1]["content"]


def test_a_long_signature_is_known_again_though_requests_are_read_without_it(flow: Make):
    shape = BY_NAME["anthropic"]
    signature = "A" * 70_000
    model = Thinking(shape, 80, search("read"), READING, DONE)
    model.sign(signature)
    running = flow(dispatch="auto")
    list(running.stream(ask(shape), model, shape.name))
    thought = {**_think(80)["anthropic"], "signature": shorten_text(signature)}
    following = give_back(shape, ask(shape), thought, _think(81)["anthropic"])
    list(running.stream(following, model, shape.name))
    assert [turn["role"] for turn in model.requests[2]["messages"]].count("assistant") == 2
    assert "thought 80" not in str(model.requests[2]["messages"][3])


def test_a_ping_stays_where_it_was(flow: Make):
    """The provider sends one when a block has begun."""
    events = EVENTS["anthropic"](DONE)
    ping = events.pop(1)
    assert b"ping" in ping
    whole = [*events[:2], ping, *events[2:]]
    shape = BY_NAME["anthropic"]
    out = b"".join(flow(dispatch="auto").stream(ask(shape), lambda _: iter(whole), shape.name))
    assert out == b"".join(whole)


@STREAMS
def test_an_error_loses_no_thought_without_words(flow: Make, shape: Shape):
    begun = EVENTS[shape.name](DONE)
    first = next(number for number, event in enumerate(begun) if b"thought 0" in event)
    whole = [*begun[:first], ERRORS[shape.name]]
    out = b"".join(flow(dispatch="auto").stream(ask(shape), lambda _: iter(whole), shape.name))
    assert out == b"".join(whole)


ERRORS = {
    "anthropic": b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n',
    "bedrock": frame("throttlingException", {"message": "overloaded"}, "exception"),
    "openai-responses": b'event: error\ndata: {"type":"error","code":"x","message":"y"}\n\n',
}


@STREAMS
def test_a_stream_that_ends_in_an_error_has_every_thought(flow: Make, shape: Shape):
    events = EVENTS[shape.name](Said("", READING.calls))
    ends = [event for event in events if b"thought 0" in event and b'"usage"' not in event]
    whole = [*events[: events.index(ends[-1]) + 1], ERRORS[shape.name]]
    out = b"".join(flow(dispatch="auto").stream(ask(shape), lambda _: iter(whole), shape.name))
    assert out == b"".join(whole)
