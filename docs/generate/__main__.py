"""Write every reference page into docs/."""

import argparse
from pathlib import Path

from docs.generate import capabilities
from docs.generate.pages import PAGES

FOLDER = Path(__file__).parents[1]


def main() -> None:
    """Write them all."""
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), "utf-8")
    # Its figures change with every change of code, so it is compared with nothing.
    (FOLDER / "capabilities.md").write_text(capabilities.page(), "utf-8")


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m docs.generate", description=__doc__).parse_args()
    main()
