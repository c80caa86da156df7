"""An agent of LlamaIndex, before a proxy."""

import os

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai import OpenAI
from loop import Agent, Tools, serve


class LlamaIndex(Agent):
    def __init__(self, tools: Tools, streams: bool, forced: str) -> None:
        super().__init__(tools, streams, forced)
        self.memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)

    async def ask(self, question: str) -> None:
        model = OpenAI("gpt-4.1", api_base=os.environ["OPENAI_BASE_URL"], max_retries=0)
        agent = FunctionAgent(
            tools=[FunctionTool.from_defaults(function) for function in self.tools.functions()],
            llm=model,
            streaming=self.streams,
            initial_tool_choice=self.forced or None,
        )
        await agent.run(question, memory=self.memory, max_iterations=5)
        self.forced = ""


serve(LlamaIndex)
