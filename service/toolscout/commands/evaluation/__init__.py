"""What was asked and called, read from files: to learn from it, and to judge answers by it."""
