"""Between callers and providers: the reverse proxy."""
