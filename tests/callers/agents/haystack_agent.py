"""An agent of Haystack, before a proxy."""

import os
from typing import Any

from haystack.components.agents import Agent as HaystackAgent
from haystack.components.agents import State
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.hooks import hook
from haystack.tools import create_tool_from_function
from loop import Agent, serve


class Haystack(Agent):
    async def ask(self, question: str) -> None:
        address = os.environ["OPENAI_BASE_URL"]
        model = OpenAIChatGenerator(model="gpt-4.1", api_base_url=address, max_retries=0)

        @hook
        def free(state: State) -> None:
            model.generation_kwargs = {}

        if self.forced:
            choice: Any = {"type": "function", "function": {"name": self.forced}}
            choice = "none" if self.forced == "none" else choice
            model.generation_kwargs = {"tool_choice": choice}
        agent = HaystackAgent(
            chat_generator=model,
            tools=[create_tool_from_function(function) for function in self.tools.functions()],
            max_agent_steps=5,
            streaming_callback=(lambda _: None) if self.streams else None,
            hooks={"before_tool": [free]},
        )
        asked = [*self.messages, ChatMessage.from_user(question)]
        self.messages = agent.run(asked)["messages"]
        self.forced = ""


serve(Haystack)
