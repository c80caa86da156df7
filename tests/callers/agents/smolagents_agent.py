"""An agent of smolagents, which answers by a call of `final_answer`."""

import os
import sys
from contextlib import redirect_stdout
from typing import ClassVar

import httpx2
from loop import Agent, serve
from smolagents import LogLevel, OpenAIModel, Tool, ToolCallingAgent

from toolscout.discovery import Transport

URL = os.environ["TOOLSCOUT_ENDPOINT"]


def made(function: object) -> Tool:
    """One of the tools; smolagents reads their inputs from attributes."""

    class Made(Tool):
        name = function.__name__
        description = function.__doc__
        inputs: ClassVar = {"path": {"type": "string", "description": "Where"}}
        output_type = "string"
        skip_forward_signature_validation = True

        def forward(self, path: str) -> str:
            return function(path)

    return Made()


class SmolAgent(Agent):
    async def ask(self, question: str) -> None:
        http = httpx2.Client(transport=Transport(URL))
        options = {"http_client": http, "max_retries": 0}
        model = OpenAIModel("gpt-5.4", client_kwargs=options, retry=False)
        tools = [made(function) for function in self.tools.functions()]
        agent = ToolCallingAgent(
            tools, model, stream_outputs=self.streams, max_steps=4, verbosity_level=LogLevel.OFF
        )
        with redirect_stdout(sys.stderr):  # where the pieces of a stream are printed
            answer = agent.run(question)
        assert agent.memory.steps[-1].error is None
        assert answer


serve(SmolAgent)
