"""`python -m toolscout`."""

import sys

from toolscout.cli import main

if __name__ == "__main__":
    sys.exit(main())
