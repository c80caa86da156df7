"""A call that its tool cannot take is answered with the reason, and never reaches the client."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.turns.flows import PHANTOM, Flow, Model, search
from tests.turns.shapes import ABOUT, BY_NAME, SHAPES, Json, Said, Shape
from tests.turns.streaming import EVENTS, StreamingModel, read
from toolscout.discovery import DiscoveryConfig, ToolDiscovery
from toolscout.discovery.config import ApiConfig

Make = Callable[..., Flow]


def through(name: str, arguments: Any, id_: str = "call_2") -> Said:
    return Said("", ((id_, "call_tool", {"name": name, "arguments": arguments}),))


WRONG = through("send_email", {"path": 7})
RIGHT = through("send_email", {"path": "a@b.example"}, "call_3")
SENDING = (("call_3", "send_email", {"path": "a@b.example"}),)
SAID = "The call of send_email was not made: `path` has to be a string, got 7. Its definition:"


def told(shape: Shape, request: Json) -> str:
    return "\n".join(shape.results(request).values())


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
    tools = [shape.tool(name, about) for name, about in ABOUT.items()]
    model = Model(shape, search("email"), WRONG, RIGHT)
    flow(dispatch="on").complete(shape.request("please", tools), model, shape.name)
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


def test_a_model_that_never_mends_its_call_gets_every_tool(flow: Make, shape: Shape, tools):
    direct = Said("", (("call_9", "send_email", {"path": 7}),))
    model = Model(shape, *[WRONG] * 5, direct)
    discovery = flow(dispatch="on")
    answer = discovery.complete(shape.request("please", tools), model, shape.name)
    assert shape.read(answer).calls == direct.calls  # a declared tool is its caller's to judge
    assert "call_tool" not in model.seen(5)


@pytest.mark.parametrize("shape", [s for s in SHAPES if s.name in EVENTS], ids=lambda s: s.name)
@pytest.mark.parametrize("piece", [1, 7, 100_000])
def test_a_stream_has_the_mended_call_alone(service, shape: Shape, tools, piece: int):
    config = DiscoveryConfig(enabled=True, strategy="api", api=ApiConfig(service.url))
    model = StreamingModel(shape, search("email"), WRONG, RIGHT, piece=piece)
    discovery = ToolDiscovery(config, dispatch="on")
    out = b"".join(discovery.stream(shape.request("please", tools), model, shape.name))
    discovery.close()
    assert read(shape, out).calls == SENDING
    assert b"call_2" not in out
    assert b"thought 1" not in out  # nor what the model thought before it
    assert PHANTOM.encode() not in out
    assert SAID in told(shape, model.requests[2])
