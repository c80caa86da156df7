"""Documented behaviour of other systems, as queries with an expected answer.

What asks for memory (learned chains of tools) or for a table of aliases is counted as not run. A
case holds only when everything it expects holds.
"""

import json
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evals import report as reporting
from evals.kinds import KINDS, check

FILES = ("chuk", "gatemini", "locus", "issues")
BEYOND = ("aliases",)
"""What a case may bring that the service does not take."""


@dataclass(frozen=True, slots=True)
class Miss:
    """A case that does not hold: what was wanted and what came."""

    file: str
    id: str
    query: str
    expected: str
    got: str
    note: str


def report(folder: Path, model: str) -> tuple[str, Any]:
    """How many cases hold per file, the misses, and both as data."""
    counts: dict[str, Counter[str]] = {}
    misses: list[Miss] = []
    for name in FILES:
        path = folder / f"{name}.json"
        if not path.exists():
            continue
        count = counts.setdefault(name, Counter())
        for case in json.loads(path.read_text("utf-8"))["cases"]:
            if case["kind"] not in KINDS or any(case.get(key) for key in BEYOND):
                count["not run"] += 1
                continue
            got, failures = check(case, model)
            count["missed" if failures else "held"] += 1
            if failures:
                wanted = "; ".join(failures)
                note = case.get("note") or ""
                misses.append(Miss(name, case["id"], case["query"], wanted, got, note))
    header = ["cases", "held", "missed", "not run"]
    rows = [[name, *(str(count[key]) for key in header[1:])] for name, count in counts.items()]
    text = reporting.table(header, rows, markdown=True)
    if misses:
        columns = ["case", "query", "expected", "got"]
        cells = [[m.id, f"`{m.query}`", m.expected, m.got] for m in misses]
        text += "\n\n" + reporting.table(columns, cells, markdown=True)
    data = {"counts": counts, "misses": [asdict(miss) for miss in misses]}
    return text, data
