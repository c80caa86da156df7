"""Text in, scores out: how a tool is found. No web framework, no clock, no network."""
