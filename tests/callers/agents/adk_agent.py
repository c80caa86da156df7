"""An agent of Google's ADK with Gemini, before a proxy."""

import os

from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.models import Gemini
from google.adk.runners import InMemoryRunner
from google.genai import types
from loop import Agent, Tools, serve


class Adk(Agent):
    def __init__(self, tools: Tools, streams: bool, forced: str) -> None:
        super().__init__(tools, streams, forced)
        self.model = Gemini(model="gemini-3-pro", base_url=os.environ["OPENAI_BASE_URL"])
        self.runner = InMemoryRunner(LlmAgent(name="mailer", model=self.model))
        self.runner.auto_create_session = True

    async def ask(self, question: str) -> None:
        self.runner.agent = LlmAgent(
            name="mailer",
            model=self.model,
            tools=list(self.tools.functions()),
            before_model_callback=self.force,
        )
        mode = StreamingMode.SSE if self.streams else StreamingMode.NONE
        message = types.Content(role="user", parts=[types.Part(text=question)])
        async for _ in self.runner.run_async(
            user_id="user",
            session_id="session",
            new_message=message,
            run_config=RunConfig(streaming_mode=mode, max_llm_calls=5),
        ):
            pass

    def force(self, callback_context: object, llm_request: object) -> None:
        """Force a tool in the first request."""
        calling = {"mode": "ANY", "allowed_function_names": [self.forced]}
        if self.forced in ("", "none"):
            calling = {"mode": self.forced.upper() or "AUTO"}
        llm_request.config.tool_config = types.ToolConfig(function_calling_config=calling)
        self.forced = ""


serve(Adk)
