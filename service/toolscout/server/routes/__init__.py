"""The paths of the service, and what describes them."""
