"""Text processing: words, query analysis, domains, patterns."""
