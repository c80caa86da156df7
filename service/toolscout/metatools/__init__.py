"""The tools with which an agent finds tools, in one table for all that offer them."""
