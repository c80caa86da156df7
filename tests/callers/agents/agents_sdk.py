"""An agent of the OpenAI Agents SDK."""

import os

import agents
import httpx2
from loop import Agent, serve
from openai import AsyncOpenAI

from toolscout.discovery import AsyncTransport

URL = os.environ["TOOLSCOUT_ENDPOINT"]


class AgentsSdk(Agent):
    async def ask(self, question: str) -> None:
        http = httpx2.AsyncClient(transport=AsyncTransport(URL))
        agents.set_default_openai_client(AsyncOpenAI(http_client=http))
        tools = [agents.function_tool(function) for function in self.tools.functions()]
        settings = agents.ModelSettings(tool_choice=self.forced or None)
        agent = agents.Agent("mailer", model="gpt-5.4", tools=tools, model_settings=settings)
        asked = [*self.messages, {"role": "user", "content": question}]
        if self.streams:
            result = agents.Runner.run_streamed(agent, asked, max_turns=5)
            async for _ in result.stream_events():
                pass
        else:
            result = await agents.Runner.run(agent, asked, max_turns=5)
        self.messages = result.to_input_list()
        self.forced = ""


serve(AgentsSdk)
