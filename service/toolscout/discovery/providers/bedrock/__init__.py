"""Bedrock: Converse with its stream, and Anthropic's messages for `InvokeModel`."""
