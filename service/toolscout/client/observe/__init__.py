"""Events and metrics of the client."""
