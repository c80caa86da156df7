"""A compiled tool list: what is looked up when a question comes."""
