"""What an operator sees: metrics, log, usage, spans and the shadow ranker."""
