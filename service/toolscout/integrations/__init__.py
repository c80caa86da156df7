"""Toolscout inside other programs: one module for each."""
