"""`make bench`: prints the speed table and writes it as JSON.

Every figure of one row comes from the same run; the floor is measured right beside what it is
compared with. Latencies are medians over repeats; one connection unless it says otherwise.
"""

import argparse
import json
import platform
import sys
from dataclasses import asdict
from os import cpu_count
from pathlib import Path

from evals.speed import against, callers, report, scale, scenarios, traffic
from evals.speed.plan import Plan


def main() -> int:
    """Run all scenarios; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m evals.speed", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with catalogs/ (or TOOLSCOUT_DATA)")
    parser.add_argument("--repeats", type=int, default=5, help="repeats per row")
    parser.add_argument("--quick", action="store_true", help="small sizes, few calls")
    for flag, measure, about in (
        ("--lengths", against.measure, "new questions of all lengths and old, only"),
        ("--questions", scenarios.of_questions, "new questions of some lengths and old, only"),
        ("--callers", callers.measure, "what asking costs callers, only"),
        ("--large", scale.large, "50,000 and 100,000 tools, only"),
        ("--many", scale.many, "what a tool takes in memory, only"),
    ):
        parser.add_argument(flag, dest="measure", action="store_const", const=measure, help=about)
    parser.add_argument("--against", metavar="COMMIT", help="a commit that is asked the same")
    parser.add_argument("--database", metavar="URL", help="held and in this PostgreSQL, only")
    parser.add_argument("--tools", type=int, nargs="+", default=[10_000, 100_000], help="how many")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parsed = parser.parse_args()
    folder = traffic.catalogs(parsed.data)
    if folder is None:
        print("skipped: no catalogs; name their folder with --data or TOOLSCOUT_DATA")
        return 0
    plan = Plan(folder, 2 if parsed.quick else parsed.repeats, parsed.quick, parsed.against)
    if parsed.database:
        measured = scale.external(plan, parsed.database, parsed.tools)
    else:
        measured = (parsed.measure or scenarios.measure)(plan)
    rows = []
    for row in measured:
        rows.append(row)
        print(f"{row.what}: p50 {row.p50 or 0:.2f} ms {row.note}", file=sys.stderr)
    print(f"\n{cpu_count()} cores, Python {platform.python_version()}\n")
    print(report.table(rows))
    if parsed.json:
        parsed.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
