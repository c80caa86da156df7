"""Observability: metrics, log, usage, spans and the shadow ranker."""
