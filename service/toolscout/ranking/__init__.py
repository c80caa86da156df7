"""One question to a compiled list: scores, judgement and choice. No web framework, no network."""
