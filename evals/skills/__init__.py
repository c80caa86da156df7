"""Sixty requests over forty skills and subagents, and those skills."""
