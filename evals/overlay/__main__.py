"""Sixty requests for thirty tools with bad descriptions, before and after one overlay row each.

The rows were written without the requests, and the requests without the rows. The tools are among
the thousand of `catalogs/1000.json`; `TOOLSCOUT_DATA` names the folder with it.
"""

import argparse
import csv
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from toolscout import Engine
from toolscout.files.reading import read_entries

FOLDER = Path(__file__).parent
AMONG = 5


def main() -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m evals.overlay", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of the data (or TOOLSCOUT_DATA)")
    data = parser.parse_args().data or os.environ.get("TOOLSCOUT_DATA")
    if not data:
        print("skipped: no data; name its folder with --data or TOOLSCOUT_DATA")
        return 0
    tools = list(read_entries(Path(data) / "catalogs" / "1000.json"))
    with (FOLDER / "questions.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    print(f"| {len(rows)} requests | R@{AMONG} | P@1 |\n|---|--:|--:|")
    for title, overlay in (("as they are", None), ("with rows", FOLDER / "overlay.toml")):
        recall, first = measure(Engine(tools, overlay=overlay), rows)
        print(f"| {title} | {recall:.3f} | {first:.3f} |")
    return 0


def measure(engine: Engine, rows: Sequence[dict[str, str]]) -> tuple[float, float]:
    """Return the share of the wanted tools that are among five, and first."""
    found = [engine.search(row["query"], AMONG).names for row in rows]
    pairs = list(zip(rows, found, strict=True))
    among = sum(row["tool"] in names for row, names in pairs)
    first = sum(names[:1] == [row["tool"]] for row, names in pairs)
    return among / len(rows), first / len(rows)


if __name__ == "__main__":
    sys.exit(main())
