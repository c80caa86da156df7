"""What a conversation's prompts cost with all tools and with each way of deferring them."""
