"""State beyond a request, behind one protocol: in memory, in a file, or in Redis."""
