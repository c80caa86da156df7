"""The Model Context Protocol at `/mcp`."""
