"""OpenAI: chat completions with their stream, and Responses."""
