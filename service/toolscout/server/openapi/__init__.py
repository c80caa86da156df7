"""The description of the API, and the pages that show it."""
