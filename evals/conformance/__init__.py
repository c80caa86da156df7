"""Cases that any selector of tools should get right."""
