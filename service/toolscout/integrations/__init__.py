"""Toolscout inside other programs: a module for each, which imports that program and the client."""
