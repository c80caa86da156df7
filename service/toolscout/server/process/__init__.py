"""The process: start, reload, shutdown and TLS."""
