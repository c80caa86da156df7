"""One HTTP request: its limits, its key, its body, its answer and its errors."""
