"""Scripted models of three interfaces, and the callers that speak to them."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from evals.prompt_cost.arguments import fill, find_schema

Json = dict[str, Any]

SEARCHES = ("gateway_search_tools", "tool_search")
DISPATCH = "call_tool"
RESULT = json.dumps(
    {"status": "ok", "items": [{"id": number, "title": f"Item {number}"} for number in range(8)]}
)
"""What every tool answers: some 100 tokens."""


class Interface:
    """The shapes of Anthropic's messages."""

    name: Any = "anthropic"
    model = "claude-sonnet-4-6"

    def tool(self, name: str, description: str, schema: Json) -> Json:
        """Return the definition of a tool."""
        return {"name": name, "description": description, "input_schema": schema}

    def request(self, messages: list[Any], tools: list[Json]) -> Json:
        """Return a request with a system text."""
        body = {"model": self.model, "max_tokens": 4_096, "system": SYSTEM}
        return {**body, "messages": messages, "tools": tools}

    def declared(self, body: Json) -> list[Json]:
        """Return the tools that stand at the beginning of the prompt."""
        return [tool for tool in body["tools"] if not tool.get("defer_loading")]

    def name_of(self, tool: Json) -> str:
        """Return the name of a tool."""
        return str(tool.get("name") or tool.get("type"))

    def said(self, body: Json) -> list[Any]:
        """Return the messages, with the definitions that results load in their places."""
        deferred = {self.name_of(tool): tool for tool in body["tools"] if tool.get("defer_loading")}
        found: list[Any] = []
        for message in body["messages"]:
            found.append(message)
            blocks = message["content"] if isinstance(message["content"], list) else []
            inner = [one for block in blocks for one in _listed(block.get("content"))]
            names = [one["tool_name"] for one in inner if one["type"] == "tool_reference"]
            found += [deferred[name] for name in names if name in deferred]
        return found

    def refuse(self, body: Json) -> str:
        """Say why the provider refuses a request; empty where it takes it."""
        return ""

    def answer(self, text: str, calls: Sequence[tuple[str, str, Json]]) -> Json:
        """Return a response with a text and calls."""
        blocks: list[Json] = [{"type": "text", "text": text}]
        for id_, name, arguments in calls:
            blocks.append({"type": "tool_use", "id": id_, "name": name, "input": arguments})
        reason = "tool_use" if calls else "end_turn"
        return {"role": "assistant", "content": blocks, "stop_reason": reason}

    def calls(self, answer: Json) -> dict[str, str]:
        """Return the names of the tools that a response calls, by the calls' ids."""
        return {
            block["id"]: block["name"] for block in answer["content"] if block["type"] == "tool_use"
        }

    def added(self, answer: Json) -> list[Any]:
        """Return the messages that a response adds to a conversation, results included."""
        results = [
            {"type": "tool_result", "tool_use_id": id_, "content": RESULT}
            for id_ in self.calls(answer)
        ]
        turn = {"role": "assistant", "content": answer["content"]}
        return [turn, *([{"role": "user", "content": results}] if results else [])]


class Chat(Interface):
    """The shapes of OpenAI's chat completions."""

    name = "openai"
    model = "gpt-4.1"

    def tool(self, name: str, description: str, schema: Json) -> Json:
        """Return a function tool."""
        about = {"name": name, "description": description, "parameters": schema}
        return {"type": "function", "function": about}

    def request(self, messages: list[Any], tools: list[Json]) -> Json:
        """Return a request with a system text."""
        first = {"role": "system", "content": SYSTEM}
        return {"model": self.model, "messages": [first, *messages], "tools": tools}

    def name_of(self, tool: Json) -> str:
        """Return the name of a function."""
        return str(tool["function"]["name"])

    def said(self, body: Json) -> list[Any]:
        """Return the conversation as it is."""
        return list(body["messages"])

    def answer(self, text: str, calls: Sequence[tuple[str, str, Json]]) -> Json:
        """Return a response with a text and calls."""
        message: Json = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = [
                {"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
                for i, n, a in calls
            ]
        return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}

    def calls(self, answer: Json) -> dict[str, str]:
        """Return the names of the tools that a response calls, by the calls' ids."""
        calls = answer["choices"][0]["message"].get("tool_calls") or []
        return {call["id"]: call["function"]["name"] for call in calls}

    def added(self, answer: Json) -> list[Any]:
        """Return what a response adds to a conversation, results included."""
        results = [
            {"role": "tool", "tool_call_id": id_, "content": RESULT} for id_ in self.calls(answer)
        ]
        return [answer["choices"][0]["message"], *results]


class Responses(Interface):
    """The shapes of OpenAI's Responses."""

    name = "openai-responses"
    model = "gpt-5.4"

    def tool(self, name: str, description: str, schema: Json) -> Json:
        """Return a function tool."""
        about = {"type": "function", "name": name, "description": description}
        return {**about, "parameters": schema}

    def request(self, messages: list[Any], tools: list[Json]) -> Json:
        """Return a request with a system text."""
        body = {"model": self.model, "instructions": SYSTEM, "store": False}
        return {**body, "input": messages, "tools": tools}

    def said(self, body: Json) -> list[Any]:
        """Return the conversation as it is."""
        return list(body["input"])

    def answer(self, text: str, calls: Sequence[tuple[str, str, Json]]) -> Json:
        """Return a response with a text and calls."""
        items: list[Json] = []
        for id_, name, arguments in calls:
            if name == SEARCHES[1]:
                search = {"type": "tool_search_call", "execution": "client", "call_id": id_}
                items.append({**search, "status": "completed", "arguments": arguments})
                continue
            call = {"type": "function_call", "call_id": id_, "name": name}
            items.append({**call, "arguments": json.dumps(arguments)})
        content = [{"type": "output_text", "text": text}]
        turn = {"type": "message", "role": "assistant", "content": content}
        return {"id": "resp", "output": items or [turn]}

    def calls(self, answer: Json) -> dict[str, str]:
        """Return the names of the tools that a response calls, by the calls' ids."""
        calls = [item for item in answer["output"] if item["type"] == "function_call"]
        return {call["call_id"]: call["name"] for call in calls}

    def added(self, answer: Json) -> list[Any]:
        """Return what a response adds to a conversation, results included."""
        results = [
            {"type": "function_call_output", "call_id": id_, "output": RESULT}
            for id_ in self.calls(answer)
        ]
        return [*answer["output"], *results]


INTERFACES = {one.name: one for one in (Interface(), Chat(), Responses())}

SYSTEM = (
    "You are a careful assistant. Use a tool where one can do what is asked, say what you did in "
    "a sentence, and never make up an answer."
)


class RefusedError(Exception):
    """A provider's refusal of a request's form, as SDKs raise it."""

    status_code = 400


class Model:
    """Calls the tool that it wants as soon as its prompt has it, after a search if need be.

    Args:
        interface: whose shapes it speaks.
        count: returns the tokens of a text.
    """

    def __init__(self, interface: Interface, count: Callable[[str], int]) -> None:
        self.interface = interface
        self.wanted, self.query = "", ""
        self.requests = self.prompt = self.cached = self.made = 0
        """Requests, tokens of the prompts that were taken, those that an earlier prompt began with,
        and calls that reached the caller."""
        self._count = count
        self._earlier: list[list[str]] = []
        self._state = "ask"

    def want(self, name: str, query: str) -> None:
        """Want one tool for the next question."""
        self.wanted, self.query, self._state = name, query, "ask"

    def forward(self, body: Json) -> Json:
        """Count a prompt and answer it.

        Raises:
            RefusedError: the provider takes no such request, and bills nothing.
        """
        read = self.interface
        self.requests += 1
        if reason := read.refuse(body):
            raise RefusedError(reason)
        parts = [*read.declared(body), SYSTEM, *read.said(body)]
        written = [json.dumps(part, separators=(",", ":"), ensure_ascii=False) for part in parts]
        self._measure(written)
        id_ = f"call_{self.requests}"
        if self._state == "called":
            return read.answer(f"That is done with {self.wanted}; there are eight items.", [])
        names = [read.name_of(tool) for tool in read.declared(body)]
        schema = find_schema(parts, self.wanted)
        if schema is not None:
            self._state = "called"
            given = fill(schema)
            if self.wanted in names or DISPATCH not in names:
                return read.answer("", [(id_, self.wanted, given)])
            return read.answer("", [(id_, DISPATCH, {"name": self.wanted, "arguments": given})])
        search = next((name for name in SEARCHES if name in names), None)
        if search is None or self._state == "searched":
            return read.answer("There is no tool for that.", [])
        self._state = "searched"
        return read.answer("", [(id_, search, {"query": self.query})])

    def _measure(self, written: list[str]) -> None:
        sizes = [self._count(part) for part in written]
        self.prompt += sum(sizes)
        best = 0
        for before in self._earlier:
            pairs = zip(before, written, strict=False)
            equal = next((n for n, (a, b) in enumerate(pairs) if a != b), len(before))
            best = max(best, sum(sizes[:equal]))
        self.cached += best
        self._earlier.append(written)


def _listed(value: Any) -> list[Json]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
