"""Anthropic messages and their stream."""
