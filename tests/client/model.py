"""A scripted upstream model on loopback: searches for a tool, calls what it finds, then is done."""

import copy
import json
from typing import Any

from tests.client.shapes import SHAPES, Json, Said, Shape
from tests.client.streaming import EVENTS
from tests.client.upstream import Exchange

PHANTOM = "gateway_search_tools"
USAGE = {
    "openai": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    "anthropic": {"input_tokens": 3, "output_tokens": 2},
}


class ScriptedModel:
    """Serves `POST …/chat/completions` and `POST …/messages`.

    Searches with the words of the request as long as it sees the search tool and has no answer,
    then calls the first tool that came back, and says it is done once that has a result.
    """

    def __init__(self, arguments: Json | None = None) -> None:
        self.arguments = arguments or {"path": "a@b.example"}
        self.requests: list[Json] = []

    def __call__(self, exchange: Exchange) -> None:
        if not exchange.body:  # a proxy that looks around
            exchange.answer(b"{}", status=404)
            return
        openai, anthropic = SHAPES[:2]
        shape: Shape = openai if exchange.path.endswith("/chat/completions") else anthropic
        body = exchange.json
        self.requests.append(copy.deepcopy(body))
        said = self.say(shape, body)
        if body.get("stream"):
            events = b"".join(EVENTS[shape.name](said, len(self.requests)))
            exchange.answer(events, headers=[("Content-Type", "text/event-stream")])
            return
        response = shape.response(said)
        response |= {"model": body["model"], "usage": USAGE[shape.name], "created": 1}
        if shape is openai:
            response["object"] = "chat.completion"
        else:
            response |= {"role": "assistant", "stop_sequence": None}
        content = json.dumps(response).encode()
        exchange.answer(content, headers=[("Content-Type", "application/json")])

    def say(self, shape: Shape, body: Json) -> Said:
        names = shape.names(body)
        told = shape.results(body)
        if "call_tool" in told:
            return Said(f"It said: {told['call_tool']}")
        if PHANTOM in names and "call_search" not in told:
            query = "send an email to somebody"
            return Said("Let me look.", (("call_search", PHANTOM, {"query": query}),))
        real = [name for name in names if name != PHANTOM]
        if not real:
            return Said("There is no tool for that.")
        return Said("Sending.", (("call_tool", real[0], self.arguments),))

    def seen(self, shape: Any) -> list[list[str]]:
        """Names of the tools in each request so far."""
        return [shape.names(request) for request in self.requests]
