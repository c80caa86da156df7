"""A tool list becomes an index: reading any provider's tools, compiling, caching by content."""
