"""State beyond a request, behind one protocol: in memory, in a file, in Redis or in PostgreSQL."""
