"""Run selectors on sets side by side, and print the board or write it as Markdown or JSON.

    python -m evals.board [--data FOLDER] [--set NAME|DIR] [--selector NAME|FILE.py]

Every pair of a selector and a set runs in a process of its own, two at a time.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

from evals import docs
from evals.board import data, selectors, tables
from evals.board.tables import Row
from evals.sets import data_folder

PATIENCE_S = 240
"""Seconds that a selector may take to index a set and to answer it."""

LANES = min(2, os.cpu_count() or 1)
"""Selectors that run at a time, each on a core of its own: the slowest holds up no other."""

ONE_THREAD = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write; returns the exit status."""
    parsed = _parser().parse_args(arguments)
    folder = data_folder(parsed.data)
    sets = parsed.set or (data.NAMES if folder else (data.OWN,))
    if folder is None and not parsed.set:
        print("no tool sets (--data or TOOLSCOUT_DATA): the project's own questions alone")
    earlier = json.loads(parsed.keep.read_text("utf-8"))["rows"] if parsed.keep else []
    began = monotonic()
    rows = measure(parsed.selector or selectors.NAMES, sets, folder, earlier)
    board = {"published": data.published(folder), "rows": rows}
    print(tables.as_text(rows))
    print(f"\n{len(rows)} pairs in {(monotonic() - began) / 60:.0f} minutes")
    if parsed.json:
        lines = ",\n".join(map(json.dumps, rows))  # a row on each
        published = json.dumps(board["published"])
        parsed.json.write_text(f'{{"published": {published},\n"rows": [\n{lines}\n]}}\n', "utf-8")
    if parsed.docs:
        for block, text in tables.blocks(board).items():
            docs.write(parsed.docs, f"board-{block}", text)
    return 0


def measure(
    names: Sequence[str], sets: Sequence[str], folder: Path | None, earlier: Sequence[Row] = ()
) -> list[Row]:
    """Return a row for each selector and set; one that cannot run says why."""
    known = {(row["selector"], row["set"]): row for row in earlier if "values" in row}

    def of_selector(selector: str) -> list[Row]:
        gone: Row = {}
        rows = []
        for name in sets:
            row = known.get((selector, name)) or _measured(selector, name, folder, gone)
            if "missing" in row or ("slow" in row and data.is_crowd(name)):
                gone = {key: row[key] for key in ("missing", "slow") if key in row}
            rows.append(row)
            print(tables.line(row), file=sys.stderr, flush=True)
        return rows

    with ThreadPoolExecutor(LANES) as pool:
        return [row for rows in pool.map(of_selector, names) for row in rows]


def _measured(selector: str, name: str, folder: Path | None, gone: Row) -> Row:
    """Measure in another process, unless it is known that it cannot be done."""
    row: Row = {"selector": selector, "set": name}
    if "missing" in gone or (gone and data.is_crowd(name)):
        return row | gone
    command = [sys.executable, "-W", "ignore", "-m", "evals.board.measure", selector, name]
    command += ["--data", str(folder)] if folder else []
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S,
            env=os.environ | ONE_THREAD, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return row | {"slow": f"not indexed and answered within {PATIENCE_S} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return row | {"failed": last[:200]}
    found: Row = json.loads(
        done.stdout.splitlines()[-1], parse_float=lambda number: round(float(number), 4)
    )
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.board", description=__doc__)
    add = parser.add_argument
    add("--data", type=Path, help="folder with toolsets/ and board/ (or TOOLSCOUT_DATA)")
    add("--set", action="append", metavar="NAME|DIR",
        help="only this set; a folder with tools.json and questions.csv is one, too")  # fmt: skip
    add("--selector", action="append", metavar="NAME|FILE.py", help="only this selector")
    add("--json", type=Path, metavar="FILE", help="also write all figures here")
    add("--docs", type=Path, metavar="FILE", help="also write the tables into this document")
    add("--keep", type=Path, metavar="FILE", help="measure only what these figures lack")
    return parser


if __name__ == "__main__":
    sys.exit(main())
