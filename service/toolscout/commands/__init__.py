"""What people do at a terminal: search, register, begin, evaluate and lint."""
