"""The shapes of OpenAI's two interfaces."""

import json
from typing import Any, ClassVar

from tests.turns.turns import SCHEMA, Json, Said
from toolscout.turns.providers import ProviderName


class OpenAI:
    name: ProviderName = "openai"
    builtin: ClassVar[Json] = {"type": "web_search"}

    def raw(self, request: Json) -> list[Any]:
        """Return the tools of a request as they are there."""
        return list(request.get("tools", []))

    def tool(self, name: str, about: str) -> Json:
        function = {"name": name, "description": about, "parameters": SCHEMA}
        return {"type": "function", "function": function}

    def request(self, text: str, tools: list[Any], **more: Any) -> Json:
        messages = [{"role": "system", "content": "help"}, {"role": "user", "content": text}]
        return {"model": "m", "messages": messages, "tools": tools, **more}

    def history(self, request: Json, said: Said, results: list[str], text: str) -> Json:
        """Return the client's next request, after it answered the calls and its user went on."""
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
        called = {c["id"] for m in messages for c in m.get("tool_calls") or []}
        assert called == set(told)
        return told

    def forcing(self, name: str) -> Json:
        return {"tool_choice": {"type": "function", "function": {"name": name}}}

    def forbidding(self) -> Json:
        return {"tool_choice": "none"}


class Responses:
    name: ProviderName = "openai-responses"
    builtin: ClassVar[Json] = {"type": "web_search"}

    def raw(self, request: Json) -> list[Any]:
        return list(request.get("tools", []))

    def tool(self, name: str, about: str) -> Json:
        return {"type": "function", "name": name, "description": about, "parameters": SCHEMA}

    def request(self, text: str, tools: list[Any], **more: Any) -> Json:
        return {"model": "m", "instructions": "help", "input": text, "tools": tools, **more}

    def history(self, request: Json, said: Said, results: list[str], text: str) -> Json:
        told = [
            {"type": "function_call_output", "call_id": call[0], "output": result}
            for call, result in zip(said.calls, results, strict=True)
        ]
        given = request["input"]
        before = given if isinstance(given, list) else [{"role": "user", "content": given}]
        turn = self.response(said)["output"]
        return {**request, "input": [*before, *turn, *told, {"role": "user", "content": text}]}

    def response(self, said: Said) -> Json:
        items: list[Json] = [{"type": "reasoning", "id": "rs_1", "summary": []}]
        if said.text:
            part = {"type": "output_text", "text": said.text}
            items.append({"type": "message", "role": "assistant", "content": [part]})
        items += [
            {
                "type": "function_call",
                "call_id": id_,
                "name": name,
                "arguments": given if isinstance(given, str) else json.dumps(given),
            }
            for id_, name, given in said.calls
        ]
        return {"id": "r", "object": "response", "status": "completed", "output": items}

    def read(self, response: Json) -> Said:
        items = response["output"]
        said = [item["content"][0]["text"] for item in items if item["type"] == "message"]
        calls = tuple(
            (item["call_id"], item["name"], json.loads(item["arguments"]))
            for item in items
            if item["type"] == "function_call"
        )
        return Said("".join(said), calls)

    def names(self, request: Json) -> list[str]:
        return [tool["name"] for tool in request.get("tools", [])]

    def results(self, request: Json) -> dict[str, str]:
        items = request["input"] if isinstance(request["input"], list) else []
        told = {i["call_id"]: i["output"] for i in items if i.get("type") == "function_call_output"}
        assert {i["call_id"] for i in items if i.get("type") == "function_call"} == set(told)
        return told

    def forcing(self, name: str) -> Json:
        return {"tool_choice": {"type": "function", "name": name}}

    def forbidding(self) -> Json:
        return {"tool_choice": "none"}
