"""Learn from use which tool worked for which queries."""
