"""One call of the service: its transport, retries, and falling open."""
