"""Documented behaviour of other systems, as queries with an expected answer.

Searches and name resolutions are run; what asks for more than an answer to one query (usage,
filters, aliases by table, budgets, risk) is counted as not run. A case holds only when everything
it expects holds.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evals import report as reporting
from toolscout.engine import Engine
from toolscout.errors import EmptyPattern

FILES = ("chuk", "gatemini", "locus", "issues")
KINDS = ("search", "resolve")
BEYOND = ("filters", "aliases")
"""What a case may bring that a plain search or resolution does not take."""


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


def check(case: dict[str, Any], model: str) -> tuple[str, list[str]]:
    """What came of a case, and the expectations that do not hold."""
    engine = Engine(case["tools"], model=model)
    if case["kind"] == "resolve":
        names, said = engine.resolve(case["query"]), "resolved"
    else:
        names, said = _search(engine, case["query"], case.get("top_k") or 5)
    got = f"{said}: {', '.join(names) or 'nothing'}"
    return got, [wanted for wanted, holds in _expectations(case, names) if not holds]


def _search(engine: Engine, query: str, top_k: int) -> tuple[list[str], str]:
    try:
        result = engine.search(query, top_k)
    except EmptyPattern:
        return [], "refused as empty"
    return result.names, result.outcome


def _expectations(case: dict[str, Any], names: Sequence[str]) -> list[tuple[str, bool]]:
    """Each expectation in words, and whether it holds."""
    first = names[0] if names else None
    found: list[tuple[str, bool]] = []
    if case.get("expect_top1"):
        found.append((f"{case['expect_top1']} first", first == case["expect_top1"]))
    if case.get("expect_in_top_k"):
        wanted = case["expect_in_top_k"]
        shown = f"{', '.join(wanted)} among {case['top_k']}"
        found.append((shown, set(wanted) <= set(names)))
    if case.get("expect_none"):
        found.append(("nothing", not names))
    found += [(f"not {name} first", first != name) for name in case.get("expect_not_top1") or ()]
    found += [(f"not {name}", name not in names) for name in case.get("expect_not_in") or ()]
    if case.get("expect_max_results") is not None:
        most = case["expect_max_results"]
        found.append((f"at most {most}", len(names) <= most))
    return found
