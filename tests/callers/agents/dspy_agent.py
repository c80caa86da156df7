"""An agent of DSPy, before a proxy."""

import os

import dspy
from loop import Agent, Tools, serve


class Dspy(Agent):
    def __init__(self, tools: Tools, streams: bool, forced: str) -> None:
        super().__init__(tools, streams, forced)
        address = os.environ["OPENAI_BASE_URL"]
        model = dspy.LM("openai/gpt-4.1", api_base=address, cache=False, num_retries=0)
        adapter = dspy.ChatAdapter(use_native_function_calling=True)
        dspy.configure(lm=model, adapter=adapter)
        self.history = dspy.History(messages=[])

    async def ask(self, question: str) -> None:
        agent = dspy.ReActV2("question -> answer", self.tools.functions(), max_iters=5)
        asked = {"question": question, "history": self.history}
        if self.streams:
            async for part in dspy.streamify(agent)(**asked):
                answer = part
        else:
            answer = await agent.acall(**asked)
        self.history = answer.history


serve(Dspy)
