"""A refusal of a tool's name or schema: the request goes out again without it."""

import json
from typing import Any

import httpx2
import pytest

from tests.support import PATIENCE_S
from tests.turns.flows import DONE, PHANTOM, Model, search
from tests.turns.shapes import ABOUT, BY_NAME, Json, tools_of
from tests.turns.streaming import EVENTS, StreamingModel, read
from toolscout.client.offer import Offer
from toolscout.discovery import ToolDiscovery
from toolscout.turns.drivers.exchange import ProviderError
from toolscout.turns.left_out import REFUSED_FOR_S, LeftOut, Upstream
from toolscout.turns.refusals import MAX_REFUSALS, find_named_tools


def refusal(message: str, param: str | None = None) -> ProviderError:
    error = {"message": message, "param": param}
    return ProviderError(httpx2.Response(400, json={"error": error}))


REFUSALS = {
    "openai": "Invalid schema for function 'read_file': schema must be a JSON Schema",
    "openai-responses": "Invalid 'tools[{place}].parameters': not a schema",
    "anthropic": "tools.{place}.custom.input_schema: JSON schema is invalid",
    "bedrock-anthropic": "tools.{place}.custom.input_schema: JSON schema is invalid",
    "bedrock": "Value at 'toolConfig.tools.{next}.member.toolSpec.name' failed to satisfy",
    "gemini": "* GenerateContentRequest.tools[0].function_declarations[{place}].parameters: no",
}
PARAMS = {
    "openai": "tools[{place}].function.parameters",
    "openai-responses": "tools[{place}].parameters",
}


def refusal_in_words_of(name: str, place: int) -> ProviderError:
    param = PARAMS.get(name, "").format(place=place)
    return refusal(REFUSALS[name].format(place=place, next=place + 1), param or None)


class Refusing(Model):
    """Refuses requests that have `read_file`, in the words of its provider."""

    def __call__(self, request: Json) -> Json:
        if "read_file" not in self.shape.names(request):
            return super().__call__(request)
        self.requests.append(request)
        place = self.shape.names(request).index("read_file")
        raise refusal_in_words_of(self.shape.name, place)


@pytest.mark.parametrize("strategy", ["api", "hybrid-first"])
def test_a_refusal_that_names_a_tool_is_repeated_without_it_and_remembered(
    flow, shape, tools, strategy
):
    running = flow(strategy)
    first = Refusing(shape, search("read email"), DONE)
    answer = running.complete(shape.request("read code", tools), first, shape.name)
    assert shape.read(answer) == DONE
    refused = sum("read_file" in shape.names(request) for request in first.requests)
    assert refused == 1
    assert "send_email" in first.seen(-1)
    second = Refusing(shape, search("read email"), DONE)
    running.complete(shape.request("now read code", tools), second, shape.name)
    assert not any("read_file" in shape.names(request) for request in second.requests)


@pytest.mark.parametrize("interface", EVENTS)
def test_a_stream_is_begun_again_without_it(service, interface):
    shape = BY_NAME[interface]
    refused = refusal_in_words_of(interface, 3)
    model = StreamingModel(shape, search("email read"), refused, DONE)
    discovery = ToolDiscovery(service.url, dispatch="off", timeout=PATIENCE_S)
    request = shape.request("run tests", tools_of(shape))
    out = b"".join(discovery.stream(request, model, interface, "s"))
    discovery.close()
    assert read(shape, out) == DONE
    assert [len(shape.names(one)) for one in model.requests] == [2, 4, 3]


def test_no_more_than_some_refusals_of_a_turn_are_tried_again(flow):
    shape = BY_NAME["openai"]
    sent: list[list[str]] = []

    def refuse(request: Json) -> Json:
        names = shape.names(request)
        sent.append(names)
        raise refusal(f"Invalid schema for function '{names[1]}'")

    tools = [shape.tool(f"read_{number}", "Read") for number in range(30)]
    running = flow("hybrid-first", top_k=20)
    with pytest.raises(ProviderError):
        running.complete(shape.request("read", tools), refuse, "openai")
    assert [len(names) for names in sent] == [21 - n for n in range(MAX_REFUSALS + 1)]


@pytest.mark.parametrize("message", ["tools: too many", "the function of the tool is wrong", ""])
def test_a_refusal_that_names_no_tool_is_the_callers(flow, message):
    shape = BY_NAME["openai"]
    model = Model(shape, refusal(message))
    with pytest.raises(ProviderError):
        flow().complete(shape.request("read", tools_of(shape)), model, "openai")
    assert len(model.requests) == 1


def asking(flow: Any, refused: Exception | None = None, **more: Any) -> list[list[str]]:
    """Return the tools of each forward of a request of which the first is refused."""
    shape = BY_NAME["openai"]
    model = Model(shape, *([refused] if refused else []), DONE)
    flow.complete(shape.request("read", tools_of(shape)), model, "openai", **more)
    return [shape.names(request) for request in model.requests]


BOTH, ONE = [PHANTOM, "read_file"], [PHANTOM]
EVIDENT = refusal("Invalid schema for function 'read_file'", "tools[1].function.parameters")


def test_a_guess_from_the_words_of_a_refusal_holds_for_its_conversation_alone(flow):
    running = flow("hybrid-first")
    guess = refusal("The schema of function 'read_file' is wrong")
    assert asking(running, guess, session="a") == [BOTH, ONE]
    assert "read_file" not in str(asking(running, session="a"))
    assert asking(running, session="b") == [BOTH]


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ("Invalid value: 'schema of tool read_file'", "reasoning_effort"),
        ("Invalid value: 'tools[1].function.name'", "messages[0].role"),
        ("Invalid arguments of function 'read_file' in the history", None),
        ("tools.1.custom.cache_control: Extra inputs are not permitted", None),
        ("Unknown parameter: 'tools[1].strict'.", "tools[1].strict"),
    ],
)
def test_a_refusal_of_anything_but_a_name_or_a_schema_is_the_callers(flow, message, param):
    """A provider repeats in its words what a request says, and that may be anything."""
    running = flow("hybrid-first")
    with pytest.raises(ProviderError):
        asking(running, refusal(message, param), session="a")
    assert asking(running, session="b") == [BOTH]


def test_a_tool_without_which_the_request_is_refused_too_is_not_remembered(flow):
    shape = BY_NAME["openai"]
    tools = tools_of(shape)
    running = flow("hybrid-first")
    with pytest.raises(ProviderError):
        running.complete(shape.request("read", tools), Model(shape, EVIDENT), "openai", "a")
    assert asking(running, session="b") == [BOTH]


def test_what_one_caller_has_taught_is_no_matter_of_another(flow):
    running = flow("hybrid-first")
    assert asking(running, EVIDENT, session="a", scope="mallory") == [BOTH, ONE]
    assert "read_file" not in str(asking(running, session="b", scope="mallory"))
    assert asking(running, session="c", scope="bob") == [BOTH]


def test_a_refused_tool_is_remembered_for_an_hour_and_its_model():
    now = [0.0]
    left_out = LeftOut(lambda: now[0])
    tools = {name: BY_NAME["openai"].tool(name, about) for name, about in ABOUT.items()}
    upstream = Upstream("openai", "gpt-4o", "host/v1", "key")

    def taken(where: Upstream) -> bool:
        left = left_out.leave_out(Offer([*tools.values()]), where)
        return "read_file" in left.names

    left_out.remember(upstream, {"read_file": tools["read_file"]})
    assert not taken(upstream)
    assert taken(upstream._replace(model="gpt-5"))
    assert taken(upstream._replace(address="other/v1"))
    assert taken(upstream._replace(scope="other"))
    now[0] = REFUSED_FOR_S
    assert taken(upstream)


@pytest.mark.parametrize(
    ("interface", "message", "param"),
    [
        ("anthropic", "tools.{}.custom.defer_loading: Extra inputs are not permitted", None),
        ("anthropic", "Tool 'search_code' cannot have both defer_loading and cache_control", None),
        ("anthropic", "tools.{}.custom.cache_control: Extra inputs are not permitted", None),
        ("openai-responses", "Invalid value: 'tool_search'.", None),
        ("openai-responses", "Invalid value: 'tool_search'.", "tools[{0}].type"),
    ],
)
def test_a_refusal_of_the_native_form_costs_no_tool(flow, interface, message, param):
    shape = BY_NAME[interface]
    tools = tools_of(shape)
    sent: list[Json] = []

    def forward(request: Json) -> Json:
        sent.append(request)
        written = [json.dumps(tool) for tool in request["tools"]]
        native = [n for n, tool in enumerate(written) if "defer_" in tool or "tool_search" in tool]
        if native:
            place = native[0]
            raise refusal(message.format(place), param and param.format(place))
        return shape.response(DONE)

    model = "claude-sonnet-4-5" if interface == "anthropic" else "gpt-5.4"
    running = flow("hybrid-first")
    for text in ("read it", "search it"):
        running.complete({**shape.request(text, tools), "model": model}, forward, interface)
    assert len(sent) <= 4
    assert [shape.names(request) for request in sent[1::2]][:1] == [[PHANTOM, "read_file"]]
    assert shape.names(sent[-1]) == [PHANTOM, "search_code"]


class SdkError(Exception):
    """An error as SDKs and LiteLLM raise it."""

    status_code = 400

    def __init__(self, message: str, body: Any = None) -> None:
        super().__init__(message)
        self.body = body


@pytest.mark.parametrize(
    ("error", "named"),
    [
        (SdkError("no", {"message": "no", "param": "tools[1].function.name"}), True),
        (SdkError("no", {"message": "no", "param": "tools[1].function.strict"}), None),
        (
            SdkError(
                "litellm.BadRequestError: AnthropicException - "
                '{"error": {"message": "tools.1.custom.name: String should match pattern"}}'
            ),
            True,
        ),
        (SdkError("tools.1.FrontendRemoteMcpToolDefinition.name: too long"), True),
        (SdkError("Invalid 'tools[1].function.name': string too long"), True),
        (SdkError("The value 'x' at tools[1].function.name is too long"), False),
        (SdkError("Function 'read_file' has a wrong schema"), False),
        (SdkError("Tool read_file was called without a result"), None),
        (
            SdkError(
                "no",
                {"message": "schema for function 'read_file'", "code": "invalid_function_name"},
            ),
            True,
        ),
    ],
)
def test_fields_and_beginnings_are_evidence_and_other_words_a_guess(error, named):
    tools = [BY_NAME["openai"].tool(name, about) for name, about in ABOUT.items()]
    expected = (set(), False) if named is None else ({"read_file"}, named)
    assert find_named_tools(error, tools) == expected
