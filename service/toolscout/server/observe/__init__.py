"""Observability: metrics, log, usage and spans."""
