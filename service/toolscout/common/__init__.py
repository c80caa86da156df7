"""What any package may use: threads, maps, spelling, addresses."""
