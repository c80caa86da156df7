"""An agent of Microsoft's Agent Framework, before a proxy."""

import os
from typing import Any

import agent_framework
from agent_framework.openai import OpenAIChatCompletionClient
from loop import Agent, Tools, serve


class AgentFramework(Agent):
    def __init__(self, tools: Tools, streams: bool, forced: str) -> None:
        super().__init__(tools, streams, forced)
        address = os.environ["OPENAI_BASE_URL"]
        self.client = OpenAIChatCompletionClient("gpt-4.1", base_url=address)
        self.session = agent_framework.AgentSession()

    async def ask(self, question: str) -> None:
        choice: Any = {"mode": "required", "required_function_name": self.forced}
        if self.forced in ("", "none"):
            choice = self.forced or "auto"
        tools = [agent_framework.tool(function) for function in self.tools.functions()]
        agent = agent_framework.Agent(self.client, tools=tools)
        options = {"tool_choice": choice}
        asked = agent.run(question, session=self.session, options=options, stream=self.streams)
        await (asked.get_final_response() if self.streams else asked)
        self.forced = ""


serve(AgentFramework)
