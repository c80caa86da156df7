"""What outlives a request: one protocol for state, kept in memory, in a file, or in Redis."""
