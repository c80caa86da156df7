"""Calls of shells, patches and custom tools reach the client, also in a turn with a search."""

import json
from typing import Any

import pytest

from tests.turns.shapes import BY_NAME, Json, tools_of
from tests.turns.streaming import events_of
from toolscout.discovery import DiscoveryConfig, ToolDiscovery
from toolscout.turns.providers import ProviderName

PHANTOM = "gateway_search_tools"
QUERY = {"query": "read"}
SEARCHES: dict[str, Json] = {
    "gpt-4.1": {"type": "function_call", "name": PHANTOM, "arguments": json.dumps(QUERY)},
    "gpt-5.4": {"type": "tool_search_call", "execution": "client", "arguments": QUERY},
}
"""A search, by models without and with one of their own."""

CUSTOM: Json = {"id": "c1", "type": "custom", "custom": {"name": "run", "input": "print(1)"}}
CALLS: list[Json] = [
    {"type": "custom_tool_call", "call_id": "c1", "name": "run", "input": "print(1)"},
    {"type": "local_shell_call", "call_id": "c1", "action": {"command": ["ls"]}},
    {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}},
    {"type": "apply_patch_call", "call_id": "c1", "operation": {"type": "delete_file"}},
    {"type": "computer_call", "call_id": "c1", "actions": [{"type": "screenshot"}]},
    {"type": "mcp_approval_request", "name": "run", "arguments": "{}", "server_label": "s"},
]
STREAMS = pytest.mark.parametrize("streams", [False, True], ids=["plain", "stream"])


class Script:
    """A model whose responses these are, plain or as a stream, and what it was sent."""

    def __init__(self, *responses: Json, streams: bool, provider: ProviderName) -> None:
        self.responses = list(responses)
        self.sent: list[Json] = []
        self.streams, self.provider = streams, provider
        self.discovery = ToolDiscovery(DiscoveryConfig(enabled=True, strategy="tool-search"))

    def ask(self, request: Json) -> Json:
        """Return the response that the client gets."""
        if not self.streams:
            return self.discovery.complete(request, self._next, self.provider)
        out = b"".join(self.discovery.stream(request, self._events, self.provider))
        data = events_of(out)
        if self.provider == "openai":
            return self._joined([chunk["choices"][0] for chunk in data])
        done = [e["item"] for e in data if e["type"] == "response.output_item.done"]
        final: Json = data[-1]["response"]
        assert done == final["output"]
        return final

    def _joined(self, choices: list[Json]) -> Json:
        calls = [call for one in choices for call in one["delta"].get("tool_calls", [])]
        assert [call.pop("index") for call in calls] == list(range(len(calls)))
        finish = choices[-1]["finish_reason"]
        return {"choices": [{"message": {"tool_calls": calls}, "finish_reason": finish}]}

    def _next(self, request: Json) -> Json:
        self.sent.append(request)
        return self.responses.pop(0)

    def _events(self, request: Json) -> Any:
        response = self._next(request)
        events: list[Json] = []
        if self.provider == "openai":
            [choice] = response["choices"]
            calls = enumerate(choice["message"]["tool_calls"])
            deltas = [{"tool_calls": [{"index": at, **call}]} for at, call in calls]
            events += [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
            end = {"delta": {}, "finish_reason": choice["finish_reason"]}
            events.append({"choices": [{"index": 0, **end}]})
        else:
            for at, item in enumerate(response["output"]):
                for kind in ("added", "done"):
                    place = {"output_index": at, "item": item}
                    events.append({"type": f"response.output_item.{kind}", **place})
            events.append({"type": "response.completed", "response": response})
        yield from (b"data: %s\n\n" % json.dumps(event).encode() for event in events)


def asked(provider: ProviderName, model: str, *built_in: Json) -> Json:
    shape = BY_NAME[provider]
    return shape.request("please help", [*tools_of(shape), *built_in], model=model)


@STREAMS
@pytest.mark.parametrize("model", SEARCHES)
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call["type"])
def test_the_client_gets_its_call_at_once_and_the_found_tool_with_its_next_request(
    call, model, streams
):
    item = {"id": "i1", **call}
    both = {"id": "r", "output": [item, {"id": "i2", "call_id": "c2", **SEARCHES[model]}]}
    last = {"id": "s", "output": []}
    script = Script(both, last, streams=streams, provider="openai-responses")
    request = asked("openai-responses", model)
    assert script.ask(request)["output"] == [item]
    assert len(script.sent) == 1
    answer = {"type": call["type"].replace("call", "call_output"), "call_id": "c1", "output": "ok"}
    user = {"role": "user", "content": "please help"}
    script.ask({**request, "input": [user, item, answer]})
    names = [tool.get("name") for tool in script.sent[1]["tools"] if "defer_loading" not in tool]
    loaded = [tool["name"] for i in script.sent[1]["input"] for tool in i.get("tools", [])]
    assert "read_file" in [*names, *loaded]


@STREAMS
def test_a_call_of_a_custom_tool_reaches_the_client_of_chat_completions(streams):
    function = {"name": PHANTOM, "arguments": json.dumps(QUERY)}
    search = {"id": "c2", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [CUSTOM, search]}
    both = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    script = Script(both, streams=streams, provider="openai")
    [choice] = script.ask(asked("openai", "gpt-4.1"))["choices"]
    assert choice["message"]["tool_calls"] == [CUSTOM]
    assert choice["finish_reason"] == "tool_calls"
    assert len(script.sent) == 1


@STREAMS
def test_a_search_beside_a_shell_that_the_api_runs_itself_goes_on(streams):
    ran = [
        {"id": "i1", "type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}},
        {"id": "i2", "type": "shell_call_output", "call_id": "c1", "output": []},
    ]
    search = {"id": "i3", "call_id": "c2", **SEARCHES["gpt-4.1"]}
    said = {"id": "i4", "type": "message", "role": "assistant", "content": []}
    first, last = {"id": "r", "output": [*ran, search]}, {"id": "s", "output": [said]}
    script = Script(first, last, streams=streams, provider="openai-responses")
    assert said in script.ask(asked("openai-responses", "gpt-4.1"))["output"]
    assert script.sent[1]["input"][1:3] == ran
