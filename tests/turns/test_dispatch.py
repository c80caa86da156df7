"""Found tools behind one constant tool: the same tools in every request, and real calls outside."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.turns.flows import PHANTOM, Flow, Model, search
from tests.turns.shapes import ABOUT, BY_NAME, SHAPES, Json, Said, Shape, tools_of
from tests.turns.streaming import EVENTS, StreamingModel, read
from toolscout.turns.providers import PROVIDERS

Make = Callable[..., Flow]
SEARCH = Said("Looking.", (("call_1", PHANTOM, {"query": "send mail"}),))
MAIL = {"to": "a@b.example", "tags": [1, {"x": None}]}
THROUGH = Said("Sending.", (("call_2", "call_tool", {"name": "send_email", "arguments": MAIL}),))
DIRECT = Said("Sending.", (("call_2", "send_email", MAIL),))
DONE = Said("Done.")
CONSTANT = [PHANTOM, "call_tool"]


def test_the_client_gets_a_call_of_the_found_tool(flow: Make, shape: Shape, tools):
    model = Model(shape, SEARCH, THROUGH)
    answer = flow(dispatch="on").complete(shape.request("please", tools), model, shape.name)
    assert shape.read(answer) == DIRECT
    assert [model.seen(turn) for turn in range(2)] == [CONSTANT, CONSTANT]
    [found] = shape.results(model.requests[1]).values()
    defined = json.loads(next(line for line in found.splitlines() if line.startswith("{")))
    assert defined["name"] == "send_email"
    assert defined["parameters"]["properties"]


def test_the_next_request_goes_on_with_the_bytes_of_the_one_before(flow: Make, shape: Shape, tools):
    discovery = flow(dispatch="on")
    model = Model(shape, SEARCH, THROUGH, DONE)
    request = shape.request("please", tools)
    discovery.complete(request, model, shape.name)
    discovery.complete(shape.history(request, DIRECT, ["sent"], "thanks"), model, shape.name)
    assert model.seen(2) == CONSTANT
    second, third = model.requests[1:]
    assert json.dumps(shape.raw(second)) == json.dumps(shape.raw(third))
    history = PROVIDERS[shape.name].history
    before, after = history(second), history(third)
    assert json.dumps(after[: len(before)]) == json.dumps(before)
    assert PROVIDERS[shape.name].recent(third) == CONSTANT


def test_a_visible_tool_is_called_directly(flow: Make, shape: Shape, tools):
    discovery = flow(dispatch="on", always_keep=["send_email"])
    model = Model(shape, DIRECT, DONE)
    request = shape.request("please", tools)
    assert shape.read(discovery.complete(request, model, shape.name)) == DIRECT
    assert model.seen(0) == [*CONSTANT, "send_email"]
    discovery.complete(shape.history(request, DIRECT, ["sent"], "thanks"), model, shape.name)
    assert PROVIDERS[shape.name].recent(model.requests[1]) == ["send_email"]


ODD: list[tuple[Any, Any]] = [
    ({"name": "send_email", "to": "x"}, {"to": "x"}),
    ({"name": "send_email", "arguments": '{"to": "x"}'}, {"to": "x"}),
    ({"name": "send_email"}, {}),
]


@pytest.mark.parametrize(("written", "arguments"), ODD)
def test_arguments_that_are_written_otherwise_are_the_calls(
    flow: Make, shape: Shape, tools, written, arguments
):
    model = Model(shape, SEARCH, Said(calls=(("call_2", "call_tool", written),)))
    answer = flow(dispatch="on").complete(shape.request("please", tools), model, shape.name)
    assert shape.read(answer).calls == (("call_2", "send_email", arguments),)


@pytest.mark.parametrize("shape", [s for s in SHAPES if s.name in EVENTS], ids=lambda s: s.name)
@pytest.mark.parametrize("piece", [1, 7, 100_000])
def test_a_stream_has_the_call_of_the_found_tool(flow: Make, shape: Shape, tools, piece):
    both = Said("Sending.", (*THROUGH.calls, ("call_3", "call_tool", {"name": "read_file"})))
    model = StreamingModel(shape, SEARCH, both, piece=piece)
    request = shape.request("please", tools)
    out = b"".join(flow(dispatch="on").stream(request, model, shape.name))
    said = read(shape, out)
    assert said.calls == (*DIRECT.calls, ("call_3", "read_file", {}))
    assert said.text.endswith("Sending.")
    assert b"call_tool" not in out
    assert [model.seen(turn) for turn in range(2)] == [CONSTANT, CONSTANT]


def test_a_search_beside_a_call_shows_its_tools_next_time(flow: Make, shape: Shape, tools):
    """The model never saw the result, so only a declaration tells it of the tool."""
    discovery = flow(dispatch="on", always_keep=["read_file"], top_k=1)
    read_it = ("call_3", "read_file", {"path": "x"})
    model = Model(shape, Said("", (*SEARCH.calls, read_it)), DONE)
    request = shape.request("please", tools)
    answer = discovery.complete(request, model, shape.name)
    assert shape.read(answer).calls == (read_it,)
    discovery.complete(
        shape.history(request, Said("", (read_it,)), ["ok"], "go on"), model, shape.name
    )
    assert model.seen(1) == [*CONSTANT, "read_file", "send_email"]


# A call that its tool cannot take is answered with the reason, and never reaches the client.


def through(name: str, arguments: Any, id_: str = "call_2") -> Said:
    return Said("", ((id_, "call_tool", {"name": name, "arguments": arguments}),))


WRONG = through("send_email", {"path": 7})
RIGHT = through("send_email", {"path": "a@b.example"}, "call_3")
SENDING = (("call_3", "send_email", {"path": "a@b.example"}),)
SAID = "The call of send_email was not made: `path` has to be a string, got 7. Its definition:"


def told(shape: Shape, request: Json) -> str:
    return "\n".join(shape.results(request).values())


STRICT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["bill", "note"],
    "properties": {"bill": {"type": "string"}, "note": {"type": ["string", "null"]}},
}
PAYING = (("call_2", "pay_bill", {"bill": "b1", "note": None}),)


def test_what_a_strict_schema_requires_and_may_be_null_becomes_null(flow: Make, shape, tools):
    pay = PROVIDERS[shape.name].function("pay_bill", "Pay an open bill", STRICT)
    model = Model(shape, through("pay_bill", {"bill": "b1"}))
    request = shape.request("please", [*tools, pay])
    answer = flow(dispatch="on").complete(request, model, shape.name)
    assert shape.read(answer).calls == PAYING
    assert len(model.requests) == 1


OPENAI = pytest.mark.parametrize(
    "shape", [BY_NAME["openai"], BY_NAME["openai-responses"]], ids=lambda shape: shape.name
)


def make_strict(tool: Json) -> Json:
    if "function" in tool:
        return {**tool, "function": {**tool["function"], "strict": True}}
    return {**tool, "strict": True}


@OPENAI
def test_a_strict_tool_is_declared_once_it_is_found_and_stays(flow: Make, shape: Shape):
    """Only the arguments of declared tools are constrained."""
    tools = [
        make_strict(tool) if name == "send_email" else tool
        for name, tool in zip(ABOUT, tools_of(shape), strict=True)
    ]
    said = Said("", (("call_2", "send_email", {"path": "a@b.example"}),))
    model = Model(shape, search("email"), said, search("read", "call_3"), DONE)
    discovery = flow(dispatch="on", top_k=1)
    request = shape.request("please", tools)
    called = shape.read(discovery.complete(request, model, shape.name))
    assert called == said
    following = shape.history(request, called, ["sent"], "now read")
    discovery.complete(following, model, shape.name)
    declared = [*CONSTANT, "send_email"]
    assert [*map(model.seen, range(4))] == [CONSTANT, declared, declared, declared]
    assert tools[[*ABOUT].index("send_email")] in shape.raw(model.requests[3])


@OPENAI
def test_where_every_tool_is_strict_they_are_dispatched(flow: Make, shape: Shape):
    tools = [*map(make_strict, tools_of(shape))]
    model = Model(shape, search("email"), DONE)
    flow(dispatch="on").complete(shape.request("please", tools), model, shape.name)
    assert model.seen(1) == CONSTANT


def test_a_wrong_argument_is_answered_with_the_definition(flow: Make, shape: Shape, tools):
    model = Model(shape, search("email"), WRONG, RIGHT)
    discovery = flow(dispatch="on")
    answer = discovery.complete(shape.request("please", tools), model, shape.name)
    assert shape.read(answer).calls == SENDING
    assert SAID in told(shape, model.requests[2])
    assert told(shape, model.requests[2]).count('"name":"send_email"') == 2


def test_an_unknown_tool_is_answered_with_names_like_it(flow: Make, shape: Shape, tools):
    model = Model(shape, search("email"), through("send_mail", {}), RIGHT)
    discovery = flow(dispatch="on")
    answer = discovery.complete(shape.request("please", tools), model, shape.name)
    assert shape.read(answer).calls == SENDING
    assert "There is no tool send_mail. Near: send_email" in told(shape, model.requests[2])


def test_a_call_of_no_tool_is_answered(flow: Make, shape: Shape, tools):
    nameless = Said("", (("call_2", "call_tool", {"tool": "send_email"}),))
    model = Model(shape, search("email"), nameless, RIGHT)
    answer = flow(dispatch="on").complete(shape.request("please", tools), model, shape.name)
    assert shape.read(answer).calls == SENDING
    assert "`name` is missing" in told(shape, model.requests[2])


def test_the_answer_names_the_function_that_was_called(flow: Make):
    shape = BY_NAME["gemini"]
    model = Model(shape, search("email"), WRONG, RIGHT)
    flow(dispatch="on").complete(shape.request("please", tools_of(shape)), model, shape.name)
    *_, call, result = model.requests[2]["contents"]
    assert call["parts"][0]["functionCall"]["name"] == "call_tool"
    assert result["parts"][0]["functionResponse"]["name"] == "call_tool"


def test_a_call_that_is_never_mended_reaches_the_client_in_the_end(flow: Make, shape, tools):
    model = Model(shape, *[WRONG] * 6)
    answer = flow(dispatch="on").complete(shape.request("please", tools), model, shape.name)
    assert shape.read(answer).calls == (("call_2", "send_email", {"path": 7}),)
    assert len(model.requests) == 6


def test_beside_a_call_that_fits_only_that_one_reaches_the_client(flow: Make, shape: Shape, tools):
    both = Said("", (*WRONG.calls, *RIGHT.calls))
    model = Model(shape, search("email"), both)
    discovery = flow(dispatch="on")
    answer = discovery.complete(shape.request("please", tools), model, shape.name)
    assert shape.read(answer).calls == SENDING
    assert len(model.requests) == 2


def test_a_model_that_never_mends_its_call_keeps_its_tools(flow: Make, shape: Shape, tools):
    model = Model(shape, *[WRONG] * 6)
    flow(dispatch="on").complete(shape.request("please", tools), model, shape.name)
    assert model.seen(5) == model.seen(0)


@pytest.mark.parametrize("shape", [s for s in SHAPES if s.name in EVENTS], ids=lambda s: s.name)
@pytest.mark.parametrize("piece", [1, 7, 100_000])
def test_a_stream_has_the_mended_call_alone(flow: Make, shape: Shape, tools, piece: int):
    model = StreamingModel(shape, search("email"), WRONG, RIGHT, piece=piece)
    request = shape.request("please", tools)
    out = b"".join(flow(dispatch="on").stream(request, model, shape.name))
    assert read(shape, out).calls == SENDING
    assert b"call_2" not in out
    assert PHANTOM.encode() not in out
    assert SAID in told(shape, model.requests[2])
