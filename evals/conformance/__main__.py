"""Ask a selector of tools what users elsewhere have found selectors to get wrong.

    python -m evals.conformance --engine
    python -m evals.conformance --url http://127.0.0.1:8080
    python -m evals.conformance --mcp "toolscout mcp --config {config}"
    python -m evals.conformance --peer ratel --peer my_selector.py

The exit status is 1 if a case is missed. A case that a selector has no way to be asked, such as one
of filters, is not run.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import httpx2

from evals import docs, report
from evals.conformance.selectors import Gateway, engine, peer, service
from evals.conformance.suite import Selector, Suite, Verdict, badge, load, run
from evals.rankers import MissingPackage

OURS = "toolscout"


def main() -> int:
    """Print what holds and what is missed; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m evals.conformance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--engine", action="store_true", help="this engine, in process")
    add("--url", metavar="URL", help="a service that speaks the contract; key: TOOLSCOUT_API_KEY")
    add("--mcp", metavar="COMMAND", help="a gateway with a tool that searches; {config}: mcp.json")
    add("--search-tool", metavar="NAME", default="search_tools", help="that tool (search_tools)")
    add(
        "--peer",
        action="append",
        default=[],
        metavar="NAME",
        help="one of the board, or FILE.py",
    )
    add("--badge", type=Path, metavar="FILE", help="write JSON for a badge of the first selector")
    add("--docs", type=Path, metavar="FILE", help="write the table into a page")
    parsed = parser.parse_args()
    try:
        selectors = _selectors(parsed)
    except MissingPackage as missing:
        parser.error(f"the package {missing} is not installed")
    if not selectors:
        parser.error("say what to ask: --engine, --url, --mcp or --peer")
    suite = load()
    try:
        verdicts = {name: list(run(suite, selector)) for name, selector in selectors.items()}
    except httpx2.HTTPError as error:
        parser.error(str(error))
    finally:
        for selector in selectors.values():
            if isinstance(selector, Gateway):
                selector.close()
    print(f"{by_group(suite, verdicts, markdown=False)}\n\n{misses(verdicts, markdown=False)}")
    if parsed.badge:
        parsed.badge.write_text(badge(next(iter(verdicts.values()))) + "\n", "utf-8")
    if parsed.docs:
        text = f"{by_group(suite, verdicts, markdown=True)}\n\n{misses(verdicts, markdown=True)}"
        docs.write(parsed.docs, "conformance", text)
    return 1 if any(one.holds is False for each in verdicts.values() for one in each) else 0


def _selectors(parsed: argparse.Namespace) -> dict[str, Selector]:
    made: dict[str, Selector] = {OURS: engine} if parsed.engine else {}
    if parsed.url:
        made[parsed.url] = service(parsed.url, os.environ.get("TOOLSCOUT_API_KEY", ""))
    if parsed.mcp:
        made[parsed.mcp.split()[0]] = Gateway(parsed.mcp, parsed.search_tool)
    return made | {name: peer(name) for name in parsed.peer}


def by_group(suite: Suite, verdicts: dict[str, list[Verdict]], *, markdown: bool) -> str:
    """Return how many cases of each group hold, a column for each selector."""
    rows = []
    for group, about in suite.groups.items():
        rows.append([f"{group}: {about}", *(_held(each, group) for each in verdicts.values())])
    rows.append(["all", *(_held(each) for each in verdicts.values())])
    return report.table(["cases", *verdicts], rows, markdown=markdown)


def _held(verdicts: Sequence[Verdict], group: str = "") -> str:
    of = [one for one in verdicts if one.holds is not None and group in ("", one.case.group)]
    return f"{sum(bool(one.holds) for one in of)} of {len(of)}" if of else "–"


def misses(verdicts: dict[str, list[Verdict]], *, markdown: bool) -> str:
    """Return the cases that the first selector misses, with what came instead."""
    missed = [one for one in next(iter(verdicts.values())) if one.holds is False]
    rows = [[one.case.id, one.case.thread, f"{one.case.query:.60}", one.outcome] for one in missed]
    if not rows:
        return "No case is missed."
    return report.table(["missed", "thread", "query", "instead"], rows, markdown=markdown)


if __name__ == "__main__":
    sys.exit(main())
