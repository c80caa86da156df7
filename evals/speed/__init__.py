"""The speed benchmark: Toolscout over HTTP against a floor and against peers, in one run."""
