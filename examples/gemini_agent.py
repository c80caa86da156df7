"""An agent with the Google Gen AI SDK whose model sees the tools it searched for, not all of them.

    pip install . google-genai
    TOOLSCOUT_ENDPOINT=http://127.0.0.1:8080 python examples/gemini_agent.py "write to a@b.c"

`GEMINI_API_KEY`, `GOOGLE_GEMINI_BASE_URL` and `GEMINI_MODEL` say which model.
"""

import os
import sys

import httpx2
from google import genai
from google.genai import types
from toolbox import gemini_tools, run

from toolscout.discovery import Transport

MAX_STEPS = 10

# The toolbox is small; by default only requests with more than ten tools are searched.
transport = Transport(os.environ.get("TOOLSCOUT_ENDPOINT", "http://127.0.0.1:8080"), defer_above=5)
http = httpx2.Client(transport=transport)
gemini = genai.Client(http_options=types.HttpOptions(httpx_client=http))


def ask(contents):
    """Ask the model, which is to call the tools itself."""
    return gemini.models.generate_content(
        model=os.environ.get("GEMINI_MODEL", "gemini-2.5-flash"),
        contents=contents,
        config={"tools": gemini_tools(), "automatic_function_calling": {"disable": True}},
    )


def answer(question: str) -> str:
    """Let the model call tools until it has something to say."""
    contents = [{"role": "user", "parts": [{"text": question}]}]
    for _ in range(MAX_STEPS):
        response = ask(contents)
        contents.append(response.candidates[0].content)
        if not response.function_calls:
            return response.text or ""
        results = [
            {
                "functionResponse": {
                    "id": call.id,
                    "name": call.name,
                    "response": {"result": run(call.name, call.args or {})},
                }
            }
            for call in response.function_calls
        ]
        contents.append({"role": "user", "parts": results})
    return f"no answer after {MAX_STEPS} steps"


if __name__ == "__main__":
    print(answer(" ".join(sys.argv[1:])))
