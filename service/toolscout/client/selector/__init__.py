"""Asking the service: one call, its transport, its retries and what falls open."""
