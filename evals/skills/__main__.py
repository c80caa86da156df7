"""Sixty requests over forty skills and subagents, written before any search: which is found."""

import argparse
import csv
import sys
from pathlib import Path

from toolscout import Engine

FOLDER = Path(__file__).parent


def main() -> int:
    """Print how many entries there are, R@5 and P@1; returns the exit status."""
    argparse.ArgumentParser(prog="python -m evals.skills", description=__doc__).parse_args()
    engine = Engine(FOLDER)
    with (FOLDER / "requests.csv").open(encoding="utf-8", newline="") as file:
        asked = [(row["request"], row["wanted"].split(";")) for row in csv.DictReader(file)]
    recalled = []
    firsts = []
    for request, wanted in asked:
        names = engine.search(request).names
        recalled.append(len({*wanted} & {*names}) / len(wanted))
        firsts.append(names[:1] != [] and names[0] in wanted)
        if not recalled[-1]:
            print(f"missed: {request} ({', '.join(wanted)}), found: {', '.join(names)}")
    print(f"{len(engine.catalog)} entries, {len(asked)} requests")
    print(f"R@5 {sum(recalled) / len(asked):.3f}, P@1 {sum(firsts) / len(asked):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
