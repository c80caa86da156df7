"""Sixty requests for thirty tools with bad descriptions, before and after one overlay row each.

The rows were written without the requests, and the requests without the rows. The tools are among
the thousand of `catalogs/1000.json`; `TOOLSCOUT_DATA` names the folder with it.
"""

import argparse
import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from evals.sets import data_folder
from toolscout import Engine
from toolscout.files.reading import read_entries
from toolscout.tools.overlay import parse_overlay

FOLDER = Path(__file__).parent
AMONG = 5
ROWS = 1_000
COMPARED = 300
"""Tools of the comparison of costs."""
PAIRS = 41


def main() -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m evals.overlay", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of the data (or TOOLSCOUT_DATA)")
    data = data_folder(parser.parse_args().data)
    if data is None:
        print("skipped: no data; name its folder with --data or TOOLSCOUT_DATA")
        return 0
    tools = list(read_entries(data / "catalogs" / "1000.json"))
    with (FOLDER / "questions.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    print(f"| {len(rows)} requests | R@{AMONG} | P@1 |\n|---|--:|--:|")
    for title, overlay in (("as they are", None), ("with rows", FOLDER / "overlay.toml")):
        recall, first = measure(Engine(tools, overlay=overlay), rows)
        print(f"| {title} | {recall:.3f} | {first:.3f} |")
    ratio = compare_cost(tools[:COMPARED], [row["query"] for row in rows])
    print(f"\n{ROWS:,} rows, {COMPARED} tools: {ratio:.2f} of the processor time without them")
    return 0


def compare_cost(tools: Sequence[Any], queries: Sequence[str]) -> float:
    """Return the processor time of new questions with many rows as a share of that without."""
    rows = parse_overlay(
        "".join(f'[[tool]]\nname = "{name}"\nsearch_text = "more"\n' for name in name_rows(tools)),
        "rows",
    )
    plain = Engine(tools)
    adjusted = Engine(tools)
    adjusted.compiler.overlay = rows
    ratios = []
    for turn in range(PAIRS):
        asked = [f"{query} {turn}" for query in queries]
        first = spend(adjusted if turn % 2 else plain, asked)
        second = spend(plain if turn % 2 else adjusted, asked)
        ratios.append(first / second if turn % 2 else second / first)
    return median(ratios)


def name_rows(tools: Sequence[Any]) -> list[str]:
    """Return names for rows, of which a tenth are those of tools, and half are patterns."""
    named = [tool["name"] for tool in tools[: ROWS // 10]]
    others = range(len(named), ROWS)
    return [*named, *(f"other_{n}" + "_*" * (n % 2) for n in others)]


def spend(engine: Engine, queries: Sequence[str]) -> float:
    """Return the seconds of processor time that questions take."""
    began = process_time()
    for query in queries:
        engine.search(query)
    return process_time() - began


def measure(engine: Engine, rows: Sequence[dict[str, str]]) -> tuple[float, float]:
    """Return the share of the wanted tools that are among five, and first."""
    found = [engine.search(row["query"], AMONG).names for row in rows]
    pairs = list(zip(rows, found, strict=True))
    among = sum(row["tool"] in names for row, names in pairs)
    first = sum(names[:1] == [row["tool"]] for row, names in pairs)
    return among / len(rows), first / len(rows)


if __name__ == "__main__":
    sys.exit(main())
