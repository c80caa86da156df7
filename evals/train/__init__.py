"""Training of the bundled embedding model: `python -m evals.train --data PATH`."""
