"""The providers' shapes of tools in the OpenAPI document."""

from typing import Any

from toolscout.contract.bounds import MAX_NAME_CHARS
from toolscout.tools.shapes import DECLARATIONS, WRAPPERS

_NAMED = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": MAX_NAME_CHARS},
        "description": {"type": ["string", "null"]},
    },
}


def provider_tool() -> dict[str, Any]:
    """Describe a tool with its name in a wrapper; others are `Tool` with a schema."""
    wrapped = [_holding(key, _NAMED) for key in WRAPPERS]
    declared = {"type": "array", "minItems": 1, "items": _NAMED}
    wrapped += [_holding(key, declared) for key in DECLARATIONS]
    return {
        "title": "ProviderTool",
        "description": "A tool as OpenAI chat (`function`), Bedrock (`toolSpec`) or Gemini "
        "(`functionDeclarations`) takes it. The shapes of OpenAI Responses, Anthropic "
        "(`input_schema`) and MCP (`inputSchema`, `title`) have a name of their own.",
        "anyOf": wrapped,
    }


def tools_answer(tools: dict[str, Any]) -> dict[str, Any]:
    """Return an answer to MCP's `tools/list`, whole or its result."""
    result = _holding("tools", tools)
    return {
        "title": "ToolsAnswer",
        "description": "An answer to MCP's `tools/list`, or its result.",
        "anyOf": [result, _holding("result", result)],
    }


def user_message() -> dict[str, Any]:
    """Describe the message that a conversation must have: a user's, with a text."""
    text = {"type": "string", "pattern": r"\S"}
    kind = {"type": ["string", "null"], "enum": ["text", "input_text", None]}
    part = {"type": "object", "required": ["text"], "properties": {"type": kind, "text": text}}
    content = {"anyOf": [text, {"type": "array", "items": {}, "contains": part}]}
    return {
        "type": "object",
        "required": ["role", "content"],
        "properties": {"role": {"const": "user"}, "content": content},
    }


def _holding(key: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": [key], "properties": {key: value}}
