"""Scripted OpenAI and Anthropic APIs that refuse what the real ones refuse, and any secret."""

import copy
import json
from collections.abc import Callable
from typing import get_type_hints

from anthropic.types.beta import message_create_params as anthropic_messages
from openai.types.chat import completion_create_params as openai_chat
from openai.types.responses import response_create_params as openai_responses

from tests.client.upstream import Exchange
from tests.turns.model import PHANTOM, THROUGH, whole
from tests.turns.rules import visible
from tests.turns.shapes import SHAPES, Json, Said, Shape
from tests.turns.streaming import EVENTS

CHAT, MESSAGES, RESPONSES = SHAPES[:3]
ENDPOINTS: dict[str, Shape] = {
    "/chat/completions": CHAT,
    "/messages": MESSAGES,
    "/responses": RESPONSES,
}
STREAMED = {"stream"}
SAMPLING = {"temperature", "top_k", "top_p"}

ARGUMENTS = {
    CHAT.name: {*get_type_hints(openai_chat.CompletionCreateParamsBase), *STREAMED},
    MESSAGES.name: {
        *(set(anthropic_messages.MessageCreateParamsBase.__annotations__) - {"betas"}),
        *STREAMED,
        *SAMPLING,
    },
    RESPONSES.name: {*openai_responses.ResponseCreateParamsBase.__annotations__, *STREAMED},
}
"""Body parameters by the types of the providers' own SDKs; `betas` is a header there."""

PARTS = {
    CHAT.name: {"annotations", "content", "name", "refusal", "role", "tool_call_id", "tool_calls"},
    MESSAGES.name: {"role", "content"},
    RESPONSES.name: {"arguments", "call_id", "content", "encrypted_content", "id", "name"}
    | {"execution", "output", "role", "status", "summary", "tools", "type"}
    | {"async", "caller", "namespace", "parsed_arguments", "phase"},  # as an SDK gives items back
}
"""Keys of one message, or of one input item of a Responses request."""

Policy = Callable[[Shape, Json], Said | None]
"""What the model says to a request; None refuses it."""


def searches_then_calls(shape: Shape, body: Json) -> Said:
    """Search once, call the first tool that was found, and report its result."""
    names, results = shape.names(body), shape.results(body)
    if told := [text for id_, text in results.items() if id_.startswith("call_tool")]:
        return Said(f"It said: {told[-1]}")
    if PHANTOM in names and not results:
        return search(1)
    return calls_first(shape, body)


def calls_first(shape: Shape, body: Json) -> Said:
    """Call the first tool of the caller's."""
    name = next(name for name in shape.names(body) if name not in (PHANTOM, THROUGH))
    return Said("Sending.", (("call_tool", name, {"path": "a"}),))


def searches_until_told(shape: Shape, body: Json) -> Said:
    """Search until that was the last search, and call a tool that was found."""
    results = shape.results(body)
    if any("last search of this turn" in text for text in results.values()):
        return calls_first(shape, body)
    return search(len(results) + 1)


def refuses_what_follows_a_search(shape: Shape, body: Json) -> Said | None:
    """Refuse every request with the result of a search in it."""
    return None if shape.results(body) else searches_then_calls(shape, body)


def search(number: int) -> Said:
    query = {"query": "send an email to somebody"}
    return Said("Let me look.", ((f"call_search_{number}", PHANTOM, query),))


class StrictProviders:
    """Serves all three APIs under one address, and keeps the bodies it was sent."""

    def __init__(self, *secrets: str) -> None:
        self.secrets = secrets
        self.policy: Policy = searches_then_calls
        self.requests: list[tuple[Shape, Json]] = []
        self.leaks: list[str] = []
        self.refused: list[str] = []

    def begin(self, policy: Policy = searches_then_calls) -> None:
        """Forget what came so far, and follow a policy from now on."""
        self.policy = policy
        self.requests.clear()
        self.leaks.clear()
        self.refused.clear()

    def seen(self) -> list[list[str]]:
        """Names of the tools that the model of each request sees."""
        return [visible(shape.name, body) for shape, body in self.requests]

    def __call__(self, exchange: Exchange) -> None:
        path = exchange.path.partition("?")[0]
        shape = next((ENDPOINTS[end] for end in ENDPOINTS if path.endswith(end)), None)
        if shape is None or not exchange.body:  # the proxy lists models when it starts
            exchange.answer(b"{}", status=404)
            return
        text = exchange.body.decode()
        body = json.loads(text)
        self.requests.append((shape, copy.deepcopy(body)))
        self.leaks += [secret for secret in self.secrets if secret in text]
        unknown = _unknown(shape, body)
        self.refused += unknown
        said = None if unknown or self.leaks else self.policy(shape, body)
        if said is None:
            self._refuse(exchange, shape, unknown)
        elif body.get("stream"):
            events = b"".join(EVENTS[shape.name](said, len(self.requests)))
            exchange.answer(events, headers=[("Content-Type", "text/event-stream")])
        else:
            response = whole(shape, said, body, len(self.requests))
            if shape is MESSAGES and body.get("thinking"):
                thought = {"type": "thinking", "thinking": "thought", "signature": "signed"}
                response["content"].insert(0, thought)
            content = json.dumps(response).encode()
            exchange.answer(content, headers=[("Content-Type", "application/json")])

    def _refuse(self, exchange: Exchange, shape: Shape, unknown: list[str]) -> None:
        name = unknown[0] if unknown else "messages"
        error: Json = {"type": "invalid_request_error"}
        if shape is MESSAGES:
            error["message"] = f"{name}: Extra inputs are not permitted"
            answer: Json = {"type": "error", "error": error}
        else:
            error |= {"message": f"Unrecognized request argument supplied: {name}", "param": None}
            answer = {"error": error | {"code": None}}
        headers = [("Content-Type", "application/json")]
        exchange.answer(json.dumps(answer).encode(), status=400, headers=headers)


def _unknown(shape: Shape, body: Json) -> list[str]:
    parts = body["input"] if shape is RESPONSES else body["messages"]
    inner = [key for part in parts if isinstance(part, dict) for key in part]
    unknown = [key for key in body if key not in ARGUMENTS[shape.name]]
    unknown += [f"{shape.name} message {key}" for key in inner if key not in PARTS[shape.name]]
    if shape is MESSAGES and body.get("thinking") and _calls_without_thinking(parts):
        unknown.append("a tool_use without the thinking before it")
    return unknown


def _calls_without_thinking(messages: list[Json]) -> bool:
    turns = [message["content"] for message in messages if message["role"] == "assistant"]
    kinds = [block["type"] for block in turns[-1]] if turns else []
    return "tool_use" in kinds and kinds[0] != "thinking"
