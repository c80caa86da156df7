"""Reference pages written from the code: `make docs` writes them, a test compares them."""
