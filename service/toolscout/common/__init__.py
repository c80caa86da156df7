"""What any room may use: threads, pauses, spelling, addresses. Knows nothing of tools."""
