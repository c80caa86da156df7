"""Estimate the prompt tokens of a tool, without a tokenizer."""

from toolscout.contract.tools import Tool

CHARS_PER_TOKEN = 4
"""Average of common tokenizers on JSON and English."""


def tool_tokens(tool: Tool) -> int:
    """Estimate the tokens of a tool in a prompt: of its raw definition, or of name and text."""
    definition = len(memoryview(tool.definition)) or len(memoryview(tool.parameters))
    spelled = len(tool.name) + len(tool.description or "")
    return -(-max(definition, spelled) // CHARS_PER_TOKEN)


def text_tokens(text: str) -> int:
    """Estimate the tokens of a text."""
    return -(-len(text) // CHARS_PER_TOKEN)
