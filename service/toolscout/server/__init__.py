"""HTTP: everything that knows about requests, keys, metrics and processes."""
