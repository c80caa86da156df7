"""Overlay rows for tools with bad descriptions."""
