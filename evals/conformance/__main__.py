"""Ask a selector of tools what users elsewhere have found selectors to get wrong.

    python -m evals.conformance --engine --serve
    python -m evals.conformance --url http://127.0.0.1:8080
    python -m evals.conformance --mcp "toolscout mcp --config {config}"
    python -m evals.conformance --peer ratel --peer my_selector.py

What speaks HTTP, a URL or the service that `--serve` starts, is also asked whether it keeps the
contract with a proxy, rule by rule. The exit status is 1 if a case is missed or a rule broken. A
case that a selector has no way to be asked, such as one of filters, is not run.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import httpx2

from evals import docs, report
from evals.conformance import answers, requests
from evals.conformance.backend import Backend
from evals.conformance.contract import GROUPS, find_broken
from evals.conformance.selectors import Gateway, engine, peer, service
from evals.conformance.suite import Selector, Suite, Verdict, badge, load, run
from evals.rankers import MissingPackage
from evals.speed import servers

OURS = "toolscout"
RULES = [*answers.rule, *requests.rule]


def main() -> int:
    """Print what holds and what is missed; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m evals.conformance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--engine", action="store_true", help="this engine, in process")
    add("--serve", action="store_true", help="this service, started for it, over HTTP")
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
    if not (selectors or parsed.serve):
        parser.error("say what to ask: --engine, --serve, --url, --mcp or --peer")
    suite, key = load(), os.environ.get("TOOLSCOUT_API_KEY", "")
    try:
        broken = {parsed.url: broken_at(parsed.url, key)} if parsed.url else {}
        if parsed.serve:
            with servers.toolscout() as ours:
                broken[OURS] = broken_at(f"http://127.0.0.1:{ours.port}")
        if broken:
            print(f"{kept(broken)}\n\n{breaches(broken)}\n")
        verdicts = {name: list(run(suite, selector)) for name, selector in selectors.items()}
    except httpx2.HTTPError as error:
        parser.error(f"{error.request.url}: {error}")
    finally:
        for selector in selectors.values():
            if isinstance(selector, Gateway):
                selector.close()
    if verdicts:
        print(f"{by_group(suite, verdicts, markdown=False)}\n\n{misses(verdicts, markdown=False)}")
    if parsed.badge:
        parsed.badge.write_text(badge(next(iter(verdicts.values()))) + "\n", "utf-8")
    if parsed.docs:
        text = f"{by_group(suite, verdicts, markdown=True)}\n\n{misses(verdicts, markdown=True)}"
        docs.write(parsed.docs, "conformance", text)
    is_missed = any(one.holds is False for each in verdicts.values() for one in each)
    return 1 if is_missed or any(broken.values()) else 0


def broken_at(url: str, key: str = "") -> dict[str, str]:
    """Return the rules that a backend breaks, with what it does instead."""
    backend = Backend(url, key)
    try:
        return find_broken(backend, RULES)
    finally:
        backend.close()


def kept(broken: dict[str, dict[str, str]]) -> str:
    """Return how many rules of each group are kept, a column for each backend."""
    rows = []
    for group, about in GROUPS.items():
        texts = [rule.text for rule in RULES if rule.group == group]
        held = [len([text for text in texts if text not in each]) for each in broken.values()]
        rows.append([f"{group}: {about}", *(f"{count} of {len(texts)}" for count in held)])
    return report.table(["rules", *broken], rows, markdown=False)


def breaches(broken: dict[str, dict[str, str]]) -> str:
    """Return the rules that are broken, with what happened instead."""
    rows = [[who, rule, did] for who, each in broken.items() for rule, did in each.items()]
    if not rows:
        return "No rule is broken."
    return report.table(["backend", "rule", "instead"], rows, markdown=False)


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
