"""Reproduce the bundled model: distil, learn from the teacher, learn from tools, export."""

import argparse
from pathlib import Path

DEFAULT_OUT = Path(__file__).parents[2] / "service" / "toolscout" / "model"


def main() -> None:
    """Parse the command line; what trains is loaded after that, for it needs an extra."""
    parser = argparse.ArgumentParser(prog="python -m evals.train", description=__doc__)
    add = parser.add_argument
    add("--data", help="folder of toolsets/ and catalogs/ (or TOOLSCOUT_DATA)")
    add("--out", type=Path, default=DEFAULT_OUT, help="folder of the model")
    add("--threads", type=int, default=2, help="processor threads (2)")
    options = parser.parse_args()
    try:
        from evals.train.reproduce import reproduce

        print(reproduce(options))
    except FileNotFoundError as problem:
        parser.error(str(problem))
    except ImportError as problem:
        parser.error(f"{problem}: pip install -e '.[server,train]'")


if __name__ == "__main__":
    main()
