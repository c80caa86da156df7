"""The providers' shapes, so that one suite of tests holds for all of them."""

from collections.abc import Mapping
from typing import Any, ClassVar

from tests.turns.openai_shapes import OpenAI, Responses
from tests.turns.turns import SCHEMA, Json, Said
from toolscout.turns.providers import ProviderName

__all__ = ["ABOUT", "BY_NAME", "SHAPES", "Json", "Said", "Shape", "tools_of"]

ABOUT = {
    "search_code": "Search for code patterns",
    "read_file": "Read file contents",
    "deploy_app": "Deploy application to production",
    "send_email": "Send an email notification",
    "create_db": "Create database table",
    "run_tests": "Run test suite",
}


class Anthropic:
    name: ProviderName = "anthropic"
    builtin: ClassVar[Json] = {"type": "computer"}

    def raw(self, request: Json) -> list[Any]:
        return list(request.get("tools", []))

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


class OnBedrock(Anthropic):
    name: ProviderName = "bedrock-anthropic"

    def request(self, text: str, tools: list[Any], **more: Any) -> Json:
        body = super().request(text, tools, **more)
        del body["model"]
        return {**body, "anthropic_version": "bedrock-2023-05-31"}


class Bedrock:
    name: ProviderName = "bedrock"
    builtin: ClassVar[Json] = {"cachePoint": {"type": "default"}}

    def raw(self, request: Json) -> list[Any]:
        return list(request.get("toolConfig", {}).get("tools", []))

    def tool(self, name: str, about: str) -> Json:
        schema = {"json": SCHEMA}
        return {"toolSpec": {"name": name, "description": about, "inputSchema": schema}}

    def request(self, text: str, tools: list[Any], **more: Any) -> Json:
        messages = [{"role": "user", "content": [{"text": text}]}]
        return {"messages": messages, "toolConfig": {"tools": tools, **more}}

    def history(self, request: Json, said: Said, results: list[str], text: str) -> Json:
        told: list[Json] = [
            {"toolResult": {"toolUseId": call[0], "content": [{"text": result}]}}
            for call, result in zip(said.calls, results, strict=True)
        ]
        turns = [
            self.response(said)["output"]["message"],
            {"role": "user", "content": [*told, {"text": text}]},
        ]
        return {**request, "messages": [*request["messages"], *turns]}

    def response(self, said: Said) -> Json:
        blocks: list[Json] = [{"text": said.text}] if said.text else []
        blocks += [
            {"toolUse": {"toolUseId": id_, "name": name, "input": given}}
            for id_, name, given in said.calls
        ]
        message = {"role": "assistant", "content": blocks}
        return {
            "output": {"message": message},
            "stopReason": "tool_use" if said.calls else "end_turn",
        }

    def read(self, response: Json) -> Said:
        blocks = response["output"]["message"]["content"]
        used = [block["toolUse"] for block in blocks if "toolUse" in block]
        assert response["stopReason"] == ("tool_use" if used else "end_turn")
        calls = tuple((use["toolUseId"], use["name"], use["input"]) for use in used)
        return Said("".join(block.get("text", "") for block in blocks), calls)

    def names(self, request: Json) -> list[str]:
        return [tool["toolSpec"]["name"] for tool in self.raw(request)]

    def results(self, request: Json) -> dict[str, str]:
        blocks = [block for message in request["messages"] for block in message["content"]]
        results = [block["toolResult"] for block in blocks if "toolResult" in block]
        told = {result["toolUseId"]: result["content"][0]["text"] for result in results}
        assert {b["toolUse"]["toolUseId"] for b in blocks if "toolUse" in b} == set(told)
        return told

    def forcing(self, name: str) -> Json:
        return {"toolChoice": {"tool": {"name": name}}}

    def forbidding(self) -> None:
        return None


class Gemini:
    name: ProviderName = "gemini"
    builtin: ClassVar[Json] = {"googleSearch": {}}

    def raw(self, request: Json) -> list[Any]:
        found: list[Any] = []
        for tool in request.get("tools", []):
            found += tool.get("functionDeclarations", [tool])
        return found

    def tool(self, name: str, about: str) -> Json:
        return {"name": name, "description": about, "parameters": SCHEMA}

    def request(self, text: str, tools: Any, **more: Any) -> Json:
        if isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools) and tools:
            others = [tool for tool in tools if "name" not in tool]
            tools = [{"functionDeclarations": [tool for tool in tools if "name" in tool]}, *others]
        return {"contents": [{"role": "user", "parts": [{"text": text}]}], "tools": tools, **more}

    def history(self, request: Json, said: Said, results: list[str], text: str) -> Json:
        told: list[Json] = [
            {"functionResponse": {"id": call[0], "name": call[1], "response": {"result": result}}}
            for call, result in zip(said.calls, results, strict=True)
        ]
        turns = [
            self.response(said)["candidates"][0]["content"],
            {"role": "user", "parts": [*told, {"text": text}]},
        ]
        return {**request, "contents": [*request["contents"], *turns]}

    def response(self, said: Said) -> Json:
        parts: list[Json] = [{"text": said.text}] if said.text else []
        parts += [
            {"functionCall": {"id": id_, "name": name, "args": given}, "thoughtSignature": "c2ln"}
            for id_, name, given in said.calls
        ]
        content = {"role": "model", "parts": parts}
        return {"candidates": [{"content": content, "finishReason": "STOP"}]}

    def read(self, response: Json) -> Said:
        parts = response["candidates"][0]["content"]["parts"]
        called = [part["functionCall"] for part in parts if "functionCall" in part]
        calls = tuple((call["id"], call["name"], call["args"]) for call in called)
        return Said("".join(part.get("text", "") for part in parts), calls)

    def names(self, request: Json) -> list[str]:
        return [tool["name"] for tool in self.raw(request)]

    def results(self, request: Json) -> dict[str, str]:
        parts = [part for content in request["contents"] for part in content["parts"]]
        responses = [part["functionResponse"] for part in parts if "functionResponse" in part]
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        assert [c.get("id") for c in calls] == [r.get("id") for r in responses]
        return {r.get("id", str(n)): r["response"]["result"] for n, r in enumerate(responses)}

    def forcing(self, name: str) -> None:
        return None  # refuses names that are not declared: such requests are left alone

    def forbidding(self) -> Json:
        return {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}}


Shape = OpenAI | Anthropic | Responses | Bedrock | Gemini
SHAPES: list[Shape] = [OpenAI(), Anthropic(), Responses(), OnBedrock(), Bedrock(), Gemini()]
BY_NAME: dict[str, Any] = {shape.name: shape for shape in SHAPES}


def tools_of(shape: Shape, about: Mapping[str, str] = ABOUT) -> list[Json]:
    """Return tools in the shape of a provider, from their names and descriptions."""
    return [shape.tool(name, text) for name, text in about.items()]
