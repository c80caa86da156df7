"""Published MCP servers behind the gateway."""
