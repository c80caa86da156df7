"""What was reported of tools, and how it scores them: no store, and no clock of its own."""
