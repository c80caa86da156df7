"""An agent of Strands, before a proxy."""

import os
from typing import Any

import strands
from loop import Agent, serve
from strands.agent.conversation_manager import NullConversationManager
from strands.models.openai import OpenAIModel


class Strands(Agent):
    async def ask(self, question: str) -> None:
        address = {"base_url": os.environ["OPENAI_BASE_URL"], "max_retries": 0}
        self.model = OpenAIModel(client_args=address, model_id="gpt-4.1", stream=self.streams)
        agent = strands.Agent(
            self.model,
            self.messages,
            [strands.tool(function) for function in self.tools.functions()],
            callback_handler=None,
            conversation_manager=NullConversationManager(),
            retry_strategy=None,
        )
        agent.add_hook(self.free, strands.hooks.AfterModelCallEvent)
        if self.forced:
            choice: Any = {"type": "function", "function": {"name": self.forced}}
            choice = "none" if self.forced == "none" else choice
            self.model.update_config(params={"tool_choice": choice})
        await agent.invoke_async(question)
        self.messages = agent.messages
        self.forced = ""

    def free(self, event: strands.hooks.AfterModelCallEvent) -> None:
        """Force no tool after the first request."""
        self.model.update_config(params={})


serve(Strands)
