"""Between hosts and MCP servers: a gateway that finds tools and calls them."""
