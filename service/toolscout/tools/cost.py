"""How many prompt tokens a tool costs, estimated without a tokenizer."""

from toolscout.contract import Tool

CHARS_PER_TOKEN = 4
"""Average of common tokenizers on JSON and English."""


def tool_tokens(tool: Tool) -> int:
    """Tokens of a tool as it would stand in a prompt: its raw definition, or name and text."""
    definition = len(memoryview(tool.definition)) or len(memoryview(tool.parameters))
    spelled = len(tool.name) + len(tool.description or "")
    return -(-max(definition, spelled) // CHARS_PER_TOKEN)


def text_tokens(text: str) -> int:
    """Tokens of a text."""
    return -(-len(text) // CHARS_PER_TOKEN)
