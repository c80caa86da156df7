"""The providers' shapes, so that one suite of tests holds for all of them."""

import json
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

ABOUT = {
    "search_code": "Search for code patterns",
    "read_file": "Read file contents",
    "deploy_app": "Deploy application to production",
    "send_email": "Send an email notification",
    "create_db": "Create database table",
    "run_tests": "Run test suite",
}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


@dataclass(frozen=True)
class Said:
    """What a model says in one turn: text, and calls as (id, name, arguments)."""

    text: str = ""
    calls: tuple[tuple[str, str, Any], ...] = ()


class OpenAI:
    name = "openai"

    def tool(self, name: str, about: str) -> Json:
        function = {"name": name, "description": about, "parameters": SCHEMA}
        return {"type": "function", "function": function}

    def request(self, text: str, tools: list[Any], **more: Any) -> Json:
        messages = [{"role": "system", "content": "help"}, {"role": "user", "content": text}]
        return {"model": "m", "messages": messages, "tools": tools, **more}

    def history(self, request: Json, said: Said, results: list[str], text: str) -> Json:
        """The client's next request, after it answered the calls and its user went on."""
        turn = self.response(said)["choices"][0]["message"]
        told = [
            {"role": "tool", "tool_call_id": call[0], "content": result}
            for call, result in zip(said.calls, results, strict=True)
        ]
        more = [turn, *told, {"role": "user", "content": text}]
        return {**request, "messages": [*request["messages"], *more]}

    def response(self, said: Said) -> Json:
        message: Json = {"role": "assistant", "content": said.text or None}
        if said.calls:
            message["tool_calls"] = [
                {
                    "id": id_,
                    "type": "function",
                    "function": {
                        "name": name,
                        "arguments": given if isinstance(given, str) else json.dumps(given),
                    },
                }
                for id_, name, given in said.calls
            ]
        finish = "tool_calls" if said.calls else "stop"
        return {"id": "r", "choices": [{"index": 0, "message": message, "finish_reason": finish}]}

    def read(self, response: Json) -> Said:
        choice = response["choices"][0]
        calls = tuple(
            (c["id"], c["function"]["name"], json.loads(c["function"]["arguments"]))
            for c in choice["message"].get("tool_calls", [])
        )
        assert choice["finish_reason"] == ("tool_calls" if calls else "stop")
        return Said(choice["message"]["content"] or "", calls)

    def names(self, request: Json) -> list[str]:
        return [tool["function"]["name"] for tool in request.get("tools", [])]

    def results(self, request: Json) -> dict[str, str]:
        """Call ids and the results told so far; every call has one, as the API demands."""
        messages = request["messages"]
        told = {m["tool_call_id"]: m["content"] for m in messages if m["role"] == "tool"}
        called = {c["id"] for m in messages for c in m.get("tool_calls", [])}
        assert called == set(told)
        return told

    def forcing(self, name: str) -> Json:
        return {"tool_choice": {"type": "function", "function": {"name": name}}}

    def forbidding(self) -> Json:
        return {"tool_choice": "none"}


class Anthropic:
    name = "anthropic"

    def tool(self, name: str, about: str) -> Json:
        return {"name": name, "description": about, "input_schema": SCHEMA}

    def request(self, text: str, tools: list[Any], **more: Any) -> Json:
        messages = [{"role": "user", "content": [{"type": "text", "text": text}]}]
        return {"model": "m", "system": "help", "messages": messages, "tools": tools, **more}

    def history(self, request: Json, said: Said, results: list[str], text: str) -> Json:
        told: list[Json] = [
            {"type": "tool_result", "tool_use_id": call[0], "content": result}
            for call, result in zip(said.calls, results, strict=True)
        ]
        turns = [
            {"role": "assistant", "content": self.response(said)["content"]},
            {"role": "user", "content": [*told, {"type": "text", "text": text}]},
        ]
        return {**request, "messages": [*request["messages"], *turns]}

    def response(self, said: Said) -> Json:
        blocks: list[Json] = [{"type": "text", "text": said.text}] if said.text else []
        blocks += [
            {"type": "tool_use", "id": id_, "name": name, "input": given}
            for id_, name, given in said.calls
        ]
        stop = "tool_use" if said.calls else "end_turn"
        return {"id": "r", "type": "message", "content": blocks, "stop_reason": stop}

    def read(self, response: Json) -> Said:
        text = "".join(b["text"] for b in response["content"] if b["type"] == "text")
        calls = tuple(
            (b["id"], b["name"], b["input"]) for b in response["content"] if b["type"] == "tool_use"
        )
        assert response["stop_reason"] == ("tool_use" if calls else "end_turn")
        return Said(text, calls)

    def names(self, request: Json) -> list[str]:
        return [tool["name"] for tool in request.get("tools", [])]

    def results(self, request: Json) -> dict[str, str]:
        blocks = [
            block
            for message in request["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
        ]
        told = {b["tool_use_id"]: b["content"] for b in blocks if b["type"] == "tool_result"}
        assert {b["id"] for b in blocks if b["type"] == "tool_use"} == set(told)
        return told

    def forcing(self, name: str) -> Json:
        return {"tool_choice": {"type": "tool", "name": name}}

    def forbidding(self) -> Json:
        return {"tool_choice": {"type": "none"}}


SHAPES = [OpenAI(), Anthropic()]
Shape = OpenAI | Anthropic
