"""Measurements: how fast, how accurate. Not part of the installed package."""
