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

from evals.speed import callers, large, report, scenarios, traffic
from evals.speed.plan import Plan


def main() -> int:
    """Run all scenarios; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m evals.speed", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with catalogs/ (or TOOLSCOUT_DATA)")
    parser.add_argument("--repeats", type=int, default=5, help="repeats per row")
    parser.add_argument("--quick", action="store_true", help="small sizes, few calls")
    parser.add_argument("--questions", action="store_true", help="new questions and old, only")
    parser.add_argument("--callers", action="store_true", help="what asking costs callers, only")
    parser.add_argument("--large", action="store_true", help="50,000 and 100,000 tools, only")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parsed = parser.parse_args()
    folder = traffic.catalogs(parsed.data)
    if folder is None:
        print("skipped: no catalogs; name their folder with --data or TOOLSCOUT_DATA")
        return 0
    plan = Plan(folder, 2 if parsed.quick else parsed.repeats, parsed.quick)
    if parsed.callers or parsed.large:
        rows = list((callers if parsed.callers else large).measure(plan))
    elif parsed.questions:
        rows = scenarios.of_questions(plan)
    else:
        rows = scenarios.measure(plan)
    print(f"\n{cpu_count()} cores, Python {platform.python_version()}\n")
    print(report.table(rows))
    if parsed.json:
        parsed.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
