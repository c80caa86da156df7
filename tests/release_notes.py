"""Print the notes of a release, from CHANGELOG.md: `python -m tests.release_notes --tag v0.1.0`.

Without a tag, those of the version that the package has. The status is 1 where the tag is not that
version, or has no notes.
"""

import argparse
import re
import sys
from pathlib import Path

from toolscout import __version__

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"


def notes_of(version: str, changelog: str) -> str:
    """Return what a changelog says of a version; empty if it does not name it."""
    heading = rf"^## {re.escape(version)}(?: \([^)]*\))?$"
    found = re.search(rf"{heading}\n(.*?)(?=^## |\Z)", changelog, re.M | re.S)
    return found[1].strip() if found else ""


def main() -> int:
    """Print the notes; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.release_notes", description=__doc__)
    parser.add_argument("--tag", default="", help="tag of the release, such as v0.1.0")
    tag = parser.parse_args().tag or f"v{__version__}"
    if tag != f"v{__version__}":
        sys.stderr.write(f"the tag is {tag}, the package {__version__}\n")
        return 1
    notes = notes_of(__version__, CHANGELOG.read_text("utf-8"))
    sys.stdout.write(f"{notes}\n")
    return 0 if notes else 1


if __name__ == "__main__":
    sys.exit(main())
