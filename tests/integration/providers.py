"""Scripted OpenAI and Anthropic APIs that refuse what the real ones refuse, and any secret."""

import copy
import json
from collections.abc import Callable
from typing import Any, get_type_hints

from anthropic.types.beta import message_create_params as anthropic_messages
from openai.types.chat import completion_create_params as openai_chat
from openai.types.responses import response_create_params as openai_responses

from tests.client.shapes import SHAPES, Json, Said, Shape
from tests.client.streaming import EVENTS
from tests.client.upstream import Exchange

PHANTOM = "gateway_search_tools"

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
    RESPONSES.name: {
        "arguments",
        "call_id",
        "content",
        "encrypted_content",
        "id",
        "name",
        "output",
        "role",
        "status",
        "summary",
        "type",
    },
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
    return Said("Sending.", (("call_tool", next(n for n in names if n != PHANTOM), {"path": "a"}),))


def searches_forever(shape: Shape, body: Json) -> Said:
    """Search whenever the search tool is there."""
    if PHANTOM in shape.names(body):
        return search(len(shape.results(body)) + 1)
    return searches_then_calls(shape, body)


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
        """Names of the tools in each request."""
        return [shape.names(body) for shape, body in self.requests]

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
            number = len(self.requests)
            events = responses_events if shape is RESPONSES else EVENTS[shape.name]
            exchange.answer(
                b"".join(events(said, number)), headers=[("Content-Type", "text/event-stream")]
            )
        else:
            response = _response(shape, said, body["model"])
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


def _response(shape: Shape, said: Said, model: str) -> Json:
    if shape is RESPONSES:
        return _finished(said, 1, model)
    response = {**shape.response(said), "model": model}
    if shape is CHAT:
        response["choices"][0]["message"] |= {"refusal": None, "annotations": []}
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        return {**response, "object": "chat.completion", "created": 1, "usage": usage}
    usage = {"input_tokens": 3, "output_tokens": 2}
    return {**response, "role": "assistant", "stop_sequence": None, "usage": usage}


def _items(said: Said, number: int) -> list[Json]:
    items: list[Json] = []
    if said.text:
        part = {"type": "output_text", "text": said.text, "annotations": []}
        message = {"type": "message", "id": f"msg_{number}", "role": "assistant"}
        items.append({**message, "status": "completed", "content": [part]})
    for id_, name, given in said.calls:
        call = {"type": "function_call", "id": f"fc_{id_}", "call_id": id_, "name": name}
        items.append({**call, "arguments": json.dumps(given), "status": "completed"})
    return items


def _finished(said: Said, number: int, model: str = "m") -> Json:
    usage = {
        "input_tokens": 3,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 5,
    }
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": model,
        "output": _items(said, number),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
    }


def responses_events(said: Said, number: int) -> list[bytes]:
    """A Responses stream: text and arguments in pieces of one character, then the whole."""
    data: list[Json] = []

    def emit(kind: str, **fields: Any) -> None:
        data.append({"type": kind, "sequence_number": len(data), **fields})

    whole = _finished(said, number)
    emit("response.created", response={**whole, "status": "in_progress", "output": []})
    for index, item in enumerate(whole["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message":
            emit("response.output_item.added", output_index=index, item={**item, "content": []})
            spot = {**place, "content_index": 0}
            (part,) = item["content"]
            emit("response.content_part.added", **spot, part={**part, "text": ""})
            for char in part["text"]:
                emit("response.output_text.delta", **spot, delta=char)
            emit("response.output_text.done", **spot, text=part["text"])
            emit("response.content_part.done", **spot, part=part)
        else:
            emit("response.output_item.added", output_index=index, item={**item, "arguments": ""})
            for char in item["arguments"]:
                emit("response.function_call_arguments.delta", **place, delta=char)
            emit("response.function_call_arguments.done", **place, arguments=item["arguments"])
        emit("response.output_item.done", output_index=index, item=item)
    emit("response.completed", response=whole)
    return [f"event: {item['type']}\ndata: {json.dumps(item)}\n\n".encode() for item in data]
