"""A loop around Google's SDK with the transport."""

import os
from collections.abc import AsyncIterator
from typing import Any

import httpx2
from google import genai
from google.genai import types
from loop import Agent, Tools, serve

from toolscout.discovery import AsyncTransport

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
STRICT = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "note": {"type": ["string", "null"]}},
    "required": ["path", "note"],
}


class GoogleGenai(Agent):
    def __init__(self, tools: Tools, streams: bool, forced: str) -> None:
        super().__init__(tools, streams, forced)
        http = httpx2.AsyncClient(transport=AsyncTransport(os.environ["TOOLSCOUT_ENDPOINT"]))
        address = os.environ["OPENAI_BASE_URL"]
        options = types.HttpOptions(base_url=address, httpx_async_client=http)
        self.models = genai.Client(api_key="none", http_options=options).aio.models

    async def ask(self, question: str) -> None:
        functions = {function.__name__: function for function in self.tools.functions()}
        self.messages.append(types.Content(role="user", parts=[types.Part(text=question)]))
        while True:
            parts = [part async for part in self.answered()]
            self.messages.append(types.Content(role="model", parts=parts))
            calls = [part.function_call for part in parts if part.function_call]
            self.forced = ""
            if not calls:
                return
            told = [
                types.FunctionResponse(
                    id=call.id,
                    name=call.name,
                    response={"result": functions[call.name](**call.args)},
                )
                for call in calls
            ]
            answers = [types.Part(function_response=one) for one in told]
            self.messages.append(types.Content(role="user", parts=answers))

    async def answered(self) -> AsyncIterator[types.Part]:
        """Yield what the model says and calls."""
        schema = STRICT if self.tools.strict else SCHEMA
        declared = [
            {"name": name, "description": about, "parameters_json_schema": schema}
            for name, about in self.tools.about.items()
        ]
        calling: dict[str, Any] = {"mode": "ANY", "allowed_function_names": [self.forced]}
        if self.forced in ("", "none"):
            calling = {"mode": self.forced.upper() or "AUTO"}
        config = types.GenerateContentConfig(
            tools=[{"function_declarations": declared}],
            tool_config={"function_calling_config": calling},
        )
        about = {"model": "gemini-3-pro", "contents": self.messages, "config": config}
        if self.streams:
            chunks = [chunk async for chunk in await self.models.generate_content_stream(**about)]
        else:
            chunks = [await self.models.generate_content(**about)]
        for chunk in chunks:
            for part in chunk.candidates[0].content.parts or []:
                yield part


serve(GoogleGenai)
