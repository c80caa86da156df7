"""What MCP servers cost in a prompt, directly and behind the gateway."""
