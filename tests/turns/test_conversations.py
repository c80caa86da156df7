"""Conversations that begin alike stay apart, and long ones stay within the provider's limits."""

import json
from typing import Any

import pytest

from tests.turns.flows import DONE, PHANTOM, Model, RefusedError, search
from tests.turns.rules import refusal
from tests.turns.shapes import BY_NAME, Json, Said, Shape, tools_of

OPENAI = BY_NAME["openai"]
MANY = {f"tool_{number:03}": f"Does the thing of number {number}" for number in range(160)}


class Strict(Model):
    """Refuses what OpenAI refuses."""

    def __call__(self, request: Json) -> Json:
        if problem := refusal("openai", {"model": "gpt-4.1", **request}):
            raise RefusedError(problem)
        return super().__call__(request)


def go_on(shape: Shape, request: Json, response: Json, text: str = "go on") -> Json:
    """Return the next request of a conversation, after an answer without calls."""
    return shape.history(request, shape.read(response), [], text)


def told(shape: Shape, request: Json) -> str:
    """Return the messages of a request, as JSON."""
    keys = ("messages", "input", "contents")
    return json.dumps(next(request[key] for key in keys if key in request))


def test_a_search_is_put_back_into_its_own_conversation_only(flow, shape, tools):
    running = flow()
    request = shape.request("hi", tools)
    answer = running.complete(request, Model(shape, search("read"), Said("Done.")), shape.name)
    other = running.complete(request, Model(shape, Said("What can I do?")), shape.name)
    own, others = Model(shape, DONE), Model(shape, DONE)
    running.complete(go_on(shape, request, other), others, shape.name)
    running.complete(go_on(shape, request, answer), own, shape.name)
    assert "call_1" not in told(shape, others.requests[0])
    assert others.seen(0) == [PHANTOM]
    assert "call_1" in told(shape, own.requests[0])
    assert own.seen(0) == [PHANTOM, "read_file"]


def test_what_another_conversation_finds_leaves_a_prompt_as_it_was(flow, shape, tools):
    running = flow()
    request = shape.request("hi", tools)
    first = Model(shape, search("read"), Said("Done."))
    answer = running.complete(request, first, shape.name)
    running.complete(request, Model(shape, search("email"), Said("Sent.")), shape.name)
    second = Model(shape, DONE)
    running.complete(go_on(shape, request, answer), second, shape.name)
    assert shape.raw(second.requests[0]) == shape.raw(first.requests[1])


def test_with_other_tools_the_searches_are_left_out_and_the_found_tools_stay(flow, shape, tools):
    running = flow()
    request = shape.request("hi", tools)
    answer = running.complete(request, Model(shape, search("read"), DONE), shape.name)
    fewer = shape.request("hi", [tool for tool in tools if "create_db" not in str(tool)])
    model = Model(shape, DONE)
    running.complete(go_on(shape, fewer, answer), model, shape.name)
    assert "call_1" not in told(shape, model.requests[0])
    assert model.seen(0) == [PHANTOM, "read_file"]


def test_an_answer_that_the_caller_has_changed_still_keeps_what_was_found(flow, shape, tools):
    running = flow()
    request = shape.request("hi", tools)
    running.complete(request, Model(shape, search("read"), DONE), shape.name)
    changed = shape.history(request, Said("Something else."), [], "go on")
    model = Model(shape, DONE)
    running.complete(changed, model, shape.name)
    assert model.seen(0) == [PHANTOM, "read_file"]


@pytest.mark.parametrize(
    "user",
    [
        {"user": "bob"},
        {"safety_identifier": "bob"},
        {"prompt_cache_key": "bob"},
        {"metadata": {"user_id": "bob"}},
    ],
    ids=lambda user: next(iter(user)),
)
def test_a_user_that_a_request_names_is_kept_apart(flow, shape, tools, user: Json):
    running = flow()
    request = shape.request("hi", tools)
    running.complete(request, Model(shape, search("read"), DONE), shape.name)
    model = Model(shape, DONE)
    running.complete({**request, **user}, model, shape.name)
    assert model.seen(0) == [PHANTOM]


@pytest.mark.parametrize("options", [{}, {"dispatch": "on"}, {"dispatch": "off"}], ids=str)
def test_a_long_conversation_never_exceeds_the_providers_maximum(flow, options: dict[str, Any]):
    running = flow(**options)
    request = OPENAI.request("hi", tools_of(OPENAI, MANY))
    for number in range(0, 160, 20):
        calls = [search(f"tool_{n:03}", f"call_{n}").calls[0] for n in range(number, number + 20)]
        model = Strict(OPENAI, Said(calls=tuple(calls)), Said(f"Done {number}."))
        request = go_on(OPENAI, request, running.complete(request, model, "openai"))
    if "dispatch" not in options:
        assert set(model.seen(1)) >= {f"tool_{n:03}" for n in range(60, 160)}
    assert len(model.seen(1)) <= 128


def test_a_refused_conversation_goes_out_once_more_as_it_came(flow, shape, tools):
    running = flow()
    request = shape.request("hi", tools)
    answer = running.complete(request, Model(shape, search("read"), DONE), shape.name)
    model = Model(shape, RefusedError("too many tools"), DONE)
    following = go_on(shape, request, answer)
    assert shape.read(running.complete(following, model, shape.name)) == DONE
    assert model.requests[1] == following
