"""Answer a search from a list of tools: score, judge and choose."""
