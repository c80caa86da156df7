"""Serve HTTP by uvicorn with limits on whatever is read before authentication."""
