"""A toolbox as an agent has one: plain functions, described by their signatures and docstrings."""

import inspect
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]


def send_email(to: str, subject: str = "", body: str = "") -> str:
    """Send an email to an address."""
    return f"sent to {to}"


def search_code(pattern: str) -> str:
    """Search the source code of the repository."""
    return f"no file holds {pattern}"


def read_file(path: str) -> str:
    """Open and read a file from disk."""
    return f"{path} is empty"


def get_weather(city: str) -> str:
    """Return current weather and forecast for a city."""
    return f"sunny in {city}"


def create_issue(title: str) -> str:
    """Open a bug report in the tracker."""
    return f"opened: {title}"


def list_meetings(day: str) -> str:
    """Show the meetings of a day in the calendar."""
    return f"no meetings on {day}"


def translate_text(text: str, language: str) -> str:
    """Translate a text into another language."""
    return f"{text} (in {language})"


def resize_image(path: str, width: int) -> str:
    """Scale a picture to another size."""
    return f"{path} is {width} pixels wide"


TOOLS: dict[str, Callable[..., str]] = {
    function.__name__: function
    for function in (
        send_email,
        search_code,
        read_file,
        get_weather,
        create_issue,
        list_meetings,
        translate_text,
        resize_image,
    )
}


def schema(function: Callable[..., str]) -> Json:
    """Return the JSON Schema of a function's arguments."""
    kinds = {int: "integer", str: "string"}
    parameters = inspect.signature(function).parameters
    return {
        "type": "object",
        "properties": {name: {"type": kinds[p.annotation]} for name, p in parameters.items()},
        "required": [name for name, p in parameters.items() if p.default is p.empty],
    }


def openai_tools() -> list[Json]:
    """Return the toolbox as OpenAI's chat completions take it."""
    return [
        {
            "type": "function",
            "function": {"name": name, "description": f.__doc__, "parameters": schema(f)},
        }
        for name, f in TOOLS.items()
    ]


def anthropic_tools() -> list[Json]:
    """Return the toolbox as Anthropic's messages take it."""
    return [
        {"name": name, "description": f.__doc__, "input_schema": schema(f)}
        for name, f in TOOLS.items()
    ]


def bedrock_tools() -> list[Json]:
    """Return the toolbox as Bedrock's Converse takes it."""
    return [
        {"toolSpec": {"name": name, "description": f.__doc__, "inputSchema": {"json": schema(f)}}}
        for name, f in TOOLS.items()
    ]


def gemini_tools() -> list[Json]:
    """Return the toolbox as Gemini's generateContent takes it."""
    declared = [
        {"name": name, "description": f.__doc__, "parameters": schema(f)}
        for name, f in TOOLS.items()
    ]
    return [{"functionDeclarations": declared}]


def run(name: str, arguments: Json) -> str:
    """Call a tool; what goes wrong is for the model to read."""
    try:
        return TOOLS[name](**arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
