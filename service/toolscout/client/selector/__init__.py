"""One call of the service: its connections, retries, and falling open."""
