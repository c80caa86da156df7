"""The documentation, and what writes its reference pages."""
