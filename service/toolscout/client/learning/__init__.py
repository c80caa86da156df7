"""What the service learns from a flow: which tools were called after which search."""
