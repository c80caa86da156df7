"""Meta-tools for agents, and the tracker of a session."""
