"""A scripted agent: what a model would send and read, turn by turn, counted in tokens.

A turn is one request to the model. Each sends the tools, the instructions and the whole
conversation again, the last one with the result of the task.
"""

import json
import re
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from fastmcp import Client

from evals.mcp_tokens.tasks import Task

with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
    import bpe_openai

    ENCODING = bpe_openai.get_encoding("o200k_base")

MAX_TURNS = 8


class Outcome(NamedTuple):
    """What one task took."""

    turns: int
    tokens: int
    """Of the prompts of all turns."""
    is_done: bool


class Conversation:
    """One task, from the question to the answer, over one MCP session.

    Args:
        client: the session.
        prompt: the tokens of tools and instructions, which each turn sends.
        task: what to do.
    """

    def __init__(self, client: Client[Any], prompt: int, task: Task) -> None:
        self.task = task
        self._client = client
        self._context = prompt + count(task.text)
        self._turns = self._tokens = 0

    async def call(self, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """Take a turn in which the model calls a tool; return the text, and whether it failed."""
        self._take_turn()
        result = await self._client.call_tool_mcp(name, arguments)
        text = "\n".join(getattr(part, "text", "") for part in result.content)
        self._context += count(compact({"name": name, "arguments": arguments})) + count(text)
        return text, bool(result.is_error)

    def end_response(self, text: str) -> Outcome:
        """Take the turn in which the model answers."""
        self._take_turn()
        return Outcome(self._turns, self._tokens, self.task.expected in text)

    def _take_turn(self) -> None:
        if self._turns >= MAX_TURNS:
            raise RuntimeError(f"{self.task.text}: more than {MAX_TURNS} turns")
        self._turns += 1
        self._tokens += self._context


async def directly(talk: Conversation) -> Outcome:
    """Call the tool by its name, as a model does that sees all of them."""
    text, _ = await talk.call(talk.task.tool, dict(talk.task.arguments))
    return talk.end_response(text)


async def by_transform(talk: Conversation) -> Outcome:
    """Search until it is found, then call it; fastmcp's search shows definitions alone."""
    task = talk.task
    for query in task.queries:
        text, _ = await talk.call("search_tools", {"query": query})
        if f'"{task.tool}"' in text:
            call = {"name": task.tool, "arguments": task.arguments}
            text, _ = await talk.call("call_tool", call)
            break
    return talk.end_response(text)


async def by_gateway(talk: Conversation) -> Outcome:
    """Search until it is found, read the definition unless the line has all, then call it."""
    task = talk.task
    for query in task.queries:
        text, _ = await talk.call("search_tools", {"query": query})
        caller = await _find_caller(talk, text)
        if caller is not None:
            call = {"name": task.tool, "arguments": task.arguments}
            text, is_refused = await talk.call(caller, call)
            if is_refused and '"token"' in text:
                call["token"] = json.loads(text)["token"]
                text, _ = await talk.call(caller, call)
            break
    return talk.end_response(text)


async def _find_caller(talk: Conversation, text: str) -> str | None:
    """Return the tool by which an answer has the task's tool called, if it found that."""
    task = talk.task
    answer = json.loads(text)
    callers: dict[str, str] = {tool["name"]: tool["call"] for tool in answer["tools"]}
    for line in answer.get("more", ()):
        caller, name, parameters = re.split(r"[ (]", line.partition(")")[0], maxsplit=2)
        typed = {one.partition(":")[0] for one in parameters.split(", ") if ":" in one}
        if name == task.tool and task.arguments.keys() <= typed:
            callers[name] = caller
        elif name == task.tool:
            text, _ = await talk.call("search_tools", {"names": [name]})
            callers |= {tool["name"]: tool["call"] for tool in json.loads(text)["tools"]}
    return callers.get(task.tool)


def prompt_tokens(tools: Sequence[Any], instructions: str | None) -> int:
    """Count what each turn sends before the conversation: tools as a model sees them."""
    shown = [
        {"name": one.name, "description": one.description, "input_schema": one.input_schema}
        for one in tools
    ]
    return count(compact(shown)) + count(instructions or "")


def compact(value: Any) -> str:
    """Return JSON without blanks."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def count(text: str) -> int:
    """Count the tokens of a text."""
    return len(ENCODING.encode_ordinary(text))
