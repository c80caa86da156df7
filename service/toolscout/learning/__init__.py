"""Learning from use: which tool worked for which kind of question."""
