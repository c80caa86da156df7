"""Agents of real frameworks, between a scripted model and the service."""
