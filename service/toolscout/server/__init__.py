"""HTTP, requests, keys, metrics and processes: the only room that serves."""
