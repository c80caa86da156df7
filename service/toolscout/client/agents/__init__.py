"""Meta tools for agents that search for themselves."""
