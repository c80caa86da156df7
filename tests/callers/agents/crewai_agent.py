"""An agent of CrewAI, before a proxy."""

import os

import crewai
from crewai.tools import tool
from loop import Agent, serve


class CrewAi(Agent):
    async def ask(self, question: str) -> None:
        model = crewai.LLM("gpt-4.1", base_url=os.environ["OPENAI_BASE_URL"], stream=self.streams)
        agent = crewai.Agent(
            role="mailer",
            goal="do what is asked",
            backstory="has many tools",
            # CrewAI requires arguments with a default as well.
            tools=[tool(function) for function in self.tools.functions(has_default=True)],
            llm=model,
            max_iter=5,
        )
        asked = [*self.messages, {"role": "user", "content": question}]
        answer = await agent.kickoff_async(asked)
        self.messages = [*asked, {"role": "assistant", "content": answer.raw}]


serve(CrewAi)
