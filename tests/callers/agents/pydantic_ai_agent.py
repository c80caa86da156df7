"""A pydantic-ai agent."""

import os
from collections.abc import AsyncIterable, Callable
from typing import Any

import httpx2
import pydantic_ai
from loop import STRUCTURED, Agent, serve
from pydantic import BaseModel
from pydantic_ai import ModelSettings, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from toolscout.discovery import AsyncTransport


class Answer(BaseModel):
    """The answer."""

    answer: str


URL = os.environ["TOOLSCOUT_ENDPOINT"]


async def _read_all(_: Any, events: AsyncIterable[Any]) -> None:
    async for _ in events:
        pass


class Forcing(AbstractCapability[Any]):
    """Forces a tool in the first request."""

    def __init__(self, name: str) -> None:
        self.forced = name

    def get_model_settings(self) -> Callable[[RunContext[Any]], ModelSettings]:
        def settings(context: RunContext[Any]) -> ModelSettings:
            if not self.forced or context.run_step > 1:
                return ModelSettings()
            choice = "none" if self.forced == "none" else [self.forced]
            return ModelSettings(tool_choice=choice)

        return settings


class PydanticAi(Agent):
    async def ask(self, question: str) -> None:
        http = httpx2.AsyncClient(transport=AsyncTransport(URL))
        model = OpenAIChatModel("gpt-5.4", provider=OpenAIProvider(http_client=http))
        agent = pydantic_ai.Agent(
            model,
            output_type=Answer if STRUCTURED else str,
            tools=self.tools.functions(),
            capabilities=[Forcing(self.forced)],
        )
        handler = _read_all if self.streams else None
        result = await agent.run(
            question, message_history=self.messages, event_stream_handler=handler
        )
        self.messages = result.all_messages()
        assert isinstance(result.output, Answer if STRUCTURED else str)
        self.forced = ""


serve(PydanticAi)
