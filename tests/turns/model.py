"""A scripted upstream model on loopback: searches for a tool, calls what it finds, then is done."""

import copy
import json
import re
from itertools import count
from typing import Any

from tests.client.upstream import Exchange
from tests.turns.rules import is_to_think, refusal, visible
from tests.turns.shapes import BY_NAME, Json, Said, Shape
from tests.turns.streaming import EVENTS, think
from toolscout.turns.drivers.exchange import PATHS, STREAMING_PATHS

PHANTOM = "gateway_search_tools"
THROUGH = "call_tool"
DEFINED = re.compile(r'{"name":"([^"]+)","description"')
NATIVE_SEARCH = "tool_search"
USAGE = {
    "openai": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    "openai-responses": {
        "input_tokens": 3,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 5,
    },
    "anthropic": {"input_tokens": 3, "output_tokens": 2},
    "gemini": {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5},
}
NUMBERS = count(1_000)
"""Numbers of responses: their ids are unique, as a provider's are."""


class ScriptedModel:
    """Serves OpenAI's chat completions and Responses, Anthropic's messages, and Gemini.

    For each question of the user it calls the tool it wants, as soon as it sees it; before that it
    searches, once. Without a search tool it calls the first tool that it sees. It calls none where
    that is forbidden, and instead of words in the end the tool that ends a run, if it sees one.
    Requests that the provider would refuse are refused.
    """

    def __init__(
        self, arguments: Json | None = None, wants: str = "send_email", also: str = ""
    ) -> None:
        self.arguments = arguments or {"path": "a@b.example"}
        self.wants = wants
        self.also = also
        """A tool that it calls in the same response, if it sees it."""
        self.query = "send an email to somebody"
        """What it searches for."""
        self.ends = ""
        """The tool with which its caller wants a run to end, if it sees it."""
        self.leaves_out = ""
        """An argument that it leaves out where nothing holds it to a tool's schema."""
        self.searches_beside = False
        """Whether its first call has a search beside it."""
        self.limited = False
        """Whether its provider refuses every request after a search (429)."""
        self.requests: list[Json] = []
        """Those that were not refused."""
        self.refused: list[str] = []
        self.threads: dict[str, Json] = {}
        """Conversations of Anthropic that are kept here, by the id of their last response."""
        self.continued: set[str] = set()
        """The responses that were continued."""

    def __call__(self, exchange: Exchange) -> None:
        path = exchange.path.partition("?")[0]
        interface = next((name for end, name in PATHS if path.endswith(end)), None)
        if interface is None or not exchange.body:  # a proxy that looks around
            exchange.answer(b"{}", status=404)
            return
        body = self.in_thread(exchange.json)
        if problem := self.refused_by_thread(exchange.json) or refusal(interface, body):
            self.refused.append(problem)
            error = {
                "type": "error",
                "error": {"type": "invalid_request_error", "message": problem},
            }
            exchange.answer(json.dumps(error).encode(), status=400, headers=[JSON])
            return
        if self.limited and self.requests:
            limited = LIMITED_BY_GOOGLE if interface == "gemini" else LIMITED
            exchange.answer(json.dumps(limited).encode(), status=429, headers=[JSON])
            return
        self.requests.append(copy.deepcopy(body))
        shape: Shape = BY_NAME[interface]
        said = self.say(interface, body)
        number = next(NUMBERS)
        if "thread" in body:
            content = whole(shape, said, body, number)["content"]
            answer = {"role": "assistant", "content": content}
            self.threads[f"msg_{number}"] = body | {"messages": [*body["messages"], answer]}
        if body.get("stream") or path.endswith(STREAMING_PATHS):
            events = b"".join(EVENTS[interface](said, number))
            exchange.answer(events, headers=[("Content-Type", "text/event-stream")])
            return
        exchange.answer(json.dumps(whole(shape, said, body, number)).encode(), headers=[JSON])

    def refused_by_thread(self, body: Json) -> str | None:
        """Return why a request cannot continue a thread; each of its messages is continued once."""
        thread = body.get("thread") or {}
        if thread.get("type") != "continue":
            return None
        if thread["previous_message_id"] not in self.threads:
            return "thread_not_found"
        if thread["previous_message_id"] in self.continued:
            return "thread_already_continued"
        if body.keys() & {"tools", "system"}:
            return "tools and system are those of the thread"
        self.continued.add(thread["previous_message_id"])
        return None

    def in_thread(self, body: Json) -> Json:
        """Return a request with the conversation that it continues here."""
        earlier = self.threads.get((body.get("thread") or {}).get("previous_message_id", ""))
        if earlier is None:
            return body
        return earlier | body | {"messages": [*earlier["messages"], *body["messages"]]}

    def say(self, interface: str, body: Json) -> Said:
        """Return what the model says to a request."""
        said = self.say_or_call(interface, body)
        if said.calls or self.ends not in visible(interface, body) or forbids(body):
            return said
        number = len(self.requests)
        return Said(said.text, ((f"end_{number}", self.ends, {"answer": said.text}),))

    def say_or_call(self, interface: str, body: Json) -> Said:
        """Return the same without the tool that ends a run."""
        if forbids(body):
            return Said("No tool was called.")
        number = len(questions(interface, body))
        told = results(interface, body)
        is_observed = self.ends and GOES_ON.search(str(questions(interface, body)[-1]))
        if is_observed or f"tool_{number}" in told:
            return Said(f"It said: {told.get(f'tool_{number}')}")
        names = callable_names(interface, body)
        searches = [t for t in body.get("tools", []) if t.get("type") == NATIVE_SEARCH]
        search = NATIVE_SEARCH if searches else PHANTOM
        if self.wants not in names and (searches or PHANTOM in names):
            if f"search_{number}" not in told:
                asked = {"query": self.query}
                return Said("Let me look.", ((f"search_{number}", search, asked),))
            return Said("There is no tool for that.")
        real = [name for name in names if name not in (PHANTOM, THROUGH)]
        if not real:
            return Said("There is no tool for that.")
        name = self.wants if self.wants in real else real[0]
        call = (name, self.arguments)
        if name not in visible(interface, body):
            given = {key: self.arguments[key] for key in self.arguments if key != self.leaves_out}
            call = (THROUGH, {"name": name, "arguments": given})
        calls = [(f"tool_{number}", *call)]
        if self.searches_beside and PHANTOM in names:
            self.searches_beside = False
            calls.append((f"search_{number}", PHANTOM, {"query": self.query}))
        if self.also in real:
            calls.append((f"also_{number}", self.also, self.arguments))
        return Said("Sending.", tuple(calls))

    def seen(self, shape: Any) -> list[list[str]]:
        """Names of the tools that the model could call in each request so far, by either way."""
        names = [callable_names(shape.name, request) for request in self.requests]
        return [[name for name in each if name != THROUGH] for each in names]


GOES_ON = re.compile("^Respond with|Observation:")
"""What the user is made to say after a tool has answered: by DSPy, and by smolagents."""

JSON = ("Content-Type", "application/json")
SLOW_DOWN = "slow down"
LIMITED = {
    "type": "error",
    "error": {"type": "rate_limit_error", "code": "rate_limit_exceeded", "message": SLOW_DOWN},
}

LIMITED_BY_GOOGLE = {"error": {"code": 429, "message": SLOW_DOWN, "status": "RESOURCE_EXHAUSTED"}}


def forbids(body: Json) -> bool:
    """Whether a request forbids calls."""
    calling = body.get("toolConfig", {}).get("functionCallingConfig", {})
    choice = body.get("tool_choice")
    return (
        calling.get("mode") == "NONE"
        or choice == "none"
        or (isinstance(choice, dict) and choice.get("type") == "none")
    )


def callable_names(interface: str, body: Json) -> list[str]:
    """Return the tools that are declared, and those that are called through a constant one."""
    names = visible(interface, body)
    if THROUGH in names:
        told = map(str, [*results(interface, body).values(), *questions(interface, body)])
        defined = [name for text in told for name in DEFINED.findall(text)]
        names += [name for name in defined if name not in names]
    return names


def whole(shape: Shape, said: Said, body: Json, number: int) -> Json:
    """Return a response with all that the API sends."""
    if shape.name == "gemini":
        return shape.response(said) | {"usageMetadata": USAGE["gemini"]}
    response: Json = shape.response(said) | {"model": body["model"], "usage": USAGE[shape.name]}
    if shape.name == "openai":
        return response | {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1}
    if shape.name == "anthropic":
        if is_to_think(body):
            response["content"].insert(0, think(number))
        return response | {"id": f"msg_{number}", "role": "assistant", "stop_sequence": None}
    for place, item in enumerate(response["output"]):
        item |= {"id": f"item_{place}", "status": "completed"}
        if item["type"] == "message":
            item["content"][0]["annotations"] = []
        if item.get("name") == NATIVE_SEARCH:
            item |= {"type": "tool_search_call", "execution": "client"}
            item["arguments"] = json.loads(item["arguments"])
            del item["name"]
    name = f"resp_of_model_{number}"
    told: Json = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    told |= {"id": name, "created_at": 1}
    return response | told


def questions(interface: str, body: Json) -> list[Any]:
    """Return what the user has said."""
    if interface == "gemini":
        turns = [turn["parts"] for turn in body["contents"] if turn["role"] == "user"]
        return [parts for parts in turns if any("text" in part for part in parts)]
    given = body["input"] if interface == "openai-responses" else body["messages"]
    if isinstance(given, str):
        return [given]
    said = [turn["content"] for turn in given if turn.get("role") == "user"]
    if interface != "anthropic":
        return said
    return [c for c in said if isinstance(c, str) or any(block["type"] == "text" for block in c)]


def results(interface: str, body: Json) -> dict[str, Any]:
    """Return the results of calls, by the calls' ids."""
    if interface == "openai-responses":
        items = body["input"] if isinstance(body["input"], list) else []
        return {
            item["call_id"]: item.get("output") or item.get("tools")
            for item in items
            if item.get("type") in ("function_call_output", "tool_search_output")
        }
    return BY_NAME[interface].results(body)
