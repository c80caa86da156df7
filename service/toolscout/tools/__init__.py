"""One tool of a request or a file: reading it, its traits, summary, cost and digest."""
