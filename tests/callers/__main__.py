"""Run every caller through every case and print the table: `python -m tests.callers [--docs PATH]`.

Exits 1 where a caller does not get through a case.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from evals.docs import write
from tests.callers import frameworks, in_node, sdks, tool_runner
from tests.callers.cases import CASES, FURTHER, SEEN, Caller
from tests.support import running

WELL = ("yes", "–")
CALLERS = (*sdks.CALLERS, *tool_runner.CALLERS, *frameworks.CALLERS, *in_node.CALLERS)


def main() -> int:
    """Print the table, and write it into a page if asked to."""
    parser = argparse.ArgumentParser(prog="python -m tests.callers", description=__doc__)
    parser.add_argument("--docs", type=Path, help="a page with a block `callers`")
    about = "a part of the name of a caller or of a case, of which no others are run"
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help=about)
    parsed = parser.parse_args()
    if parsed.docs and parsed.only:
        parser.error("the page has the table of all callers and cases")
    callers = {caller.name: caller for caller in CALLERS}
    chosen = [callers[name] for name in _choose(callers, parsed.only)]
    titles = _choose(CASES, parsed.only)
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as service:
        rows = [_row(caller, titles, service.url) for caller in chosen]
    heads = ["caller", "lines a user writes", *titles]
    lines = [heads, ["---"] * len(heads), *rows]
    print("\n".join(f"| {' | '.join(line)} |" for line in lines))
    if not parsed.only:
        table = f"{summary(rows)}\n\n{_say_versions()}"
        print(f"\n{table}")
    if parsed.docs:
        write(parsed.docs, "callers", table)
    judged = [cell for row in rows for cell in row[2 : 2 + len({*titles} - {SEEN})]]
    return int(any(cell not in WELL for cell in judged))


def _choose(names: Iterable[str], parts: Sequence[str]) -> list[str]:
    """Return the names with one of the parts, and all of them if there are none."""
    every = list(names)
    return [name for name in every if any(part in name for part in parts)] or every


def _say_versions() -> str:
    versions = {name: version(name) for name in sdks.LIBRARIES}
    versions |= frameworks.versions() | in_node.versions()
    return f"Run with {', '.join(f'{name} {number}' for name, number in versions.items())}."


def summary(rows: Sequence[Sequence[str]]) -> str:
    """Return the table of the documentation: callers that get through the same cases together."""
    titles, groups = list(CASES), dict[tuple[str, str], list[Sequence[str]]]()
    for row in rows:
        results = dict(zip(titles, row[2:-1], strict=False))
        groups.setdefault((row[1], _count(results)), []).append(row)
    cells = [["lines a user writes", "cases", titles[-1], "callers"], ["---"] * 4]
    for (lines, cases), members in groups.items():
        sizes = sorted((row[-1] for row in members), key=lambda size: float(size.split()[0]))
        seen = " to ".join(dict.fromkeys((sizes[0], sizes[-1])))
        cells.append([lines, cases, seen, "; ".join(row[0] for row in members)])
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def _count(results: Mapping[str, str]) -> str:
    """Return how many cases a caller gets through, which it does not, and which beside them."""
    well = [title for title, result in results.items() if result == "yes"]
    further = [title for title in well if title in FURTHER]
    parts = [str(len(well) - len(further))]
    for title, result in results.items():
        if result not in WELL:
            parts.append(f"fails at {title}")
        elif result != "yes" and title not in FURTHER:
            parts.append(f"not {title}")
    return ", ".join(parts + [f"and {title}" for title in further])


def _row(caller: Caller, titles: Sequence[str], service: str) -> list[str]:
    cells = []
    for title in titles:
        if not caller.can_run(title):
            cells.append("–")
            continue
        try:
            cells.append(CASES[title](caller, service))
        except Exception as error:
            cells.append(f"failed: {type(error).__name__}: {error}"[:120])
    print(caller.name, cells, file=sys.stderr, flush=True)
    return [caller.name, caller.lines, *cells]


if __name__ == "__main__":
    sys.exit(main())
