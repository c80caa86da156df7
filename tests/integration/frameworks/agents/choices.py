"""Print which tools reach a model, with and without a forced choice."""

import asyncio
import json
import os
from typing import Any

from agents import Model, ModelSettings, ToolSearchTool, WebSearchTool, function_tool
from catalog import FUNCTIONS
from langchain.agents.middleware import ModelRequest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from toolscout.client import AsyncSelector, Selector
from toolscout.integrations.langchain import ToolSearchMiddleware
from toolscout.integrations.openai_agents import SelectingModel

SPUN = {"id": "1", "name": "spin_1", "args": {}}
URL = os.environ["TOOLSCOUT_ENDPOINT"]


def transfer_to_billing(path: str) -> str:
    """Hand the conversation over."""
    return path


OFFERED = [*FUNCTIONS, transfer_to_billing]


class Recorder(Model):
    async def get_response(self, **call: Any) -> Any:
        return call["tools"]

    async def stream_response(self, *args: Any, **more: Any) -> Any:
        yield args[3]


async def of_agents(choice: str | None, *more: Any) -> list[Any]:
    tools = [*map(function_tool, OFFERED), WebSearchTool(), *more]
    said = [
        {"role": "user", "content": [{"type": "input_text", "text": "spin it"}]},
        {"type": "function_call", "call_id": "1", "name": "spin_1", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "spun"},
    ]
    model = SelectingModel(Recorder(), AsyncSelector(URL))
    settings = ModelSettings(tool_choice=choice)
    return await model.get_response(input=said, model_settings=settings, tools=tools)


def of_langchain(choice: Any) -> list[Any]:
    said = [
        HumanMessage("spin it"),
        AIMessage("One?", tool_calls=[SPUN]),
        HumanMessage("the third"),
    ]
    tools = [*map(tool, OFFERED), {"type": "web_search"}]
    model = ChatOpenAI(model="gpt-4.1")
    request = ModelRequest(model=model, messages=said, tools=tools, tool_choice=choice)
    with Selector(URL) as selector:
        return ToolSearchMiddleware(selector).wrap_model_call(request, lambda r: r.tools)


def names(tools: list[Any]) -> list[str]:
    return [one["type"] if isinstance(one, dict) else one.name for one in tools]


async def main() -> None:
    shown = {
        "langchain": names(of_langchain("auto")),
        "langchain, any": names(of_langchain({"type": "any"})),
        "langchain, forced": len(of_langchain("send_email")),
        "agents": names(await of_agents(None)),
        "agents, forced": len(await of_agents("send_email")),
        "agents, own search": len(await of_agents(None, ToolSearchTool())),
    }
    print(json.dumps(shown))


asyncio.run(main())
