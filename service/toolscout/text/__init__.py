"""Text in, text out: words, query analysis, domains, and how relevant words are."""
