"""Does it find the right tool? Rankers, ours and others', on sets with judged answers.

    python -m evals --data FOLDER                 every ranker on every development set
    python -m evals --rankers hybrid,minilm --sets dev/nestful --limit 100
    python -m evals --rankers hybrid --against BEFORE.json     what a change changes
    python -m evals --stages                      each stage of the ranking switched off
    python -m evals --outcomes                    good queries against hopeless ones
    python -m evals --learning                    before and after feedback
    python -m evals --languages                   our own questions in other languages
    python -m evals --hard                        hard requests of ten kinds, and conversations

FOLDER (or TOOLSCOUT_DATA) holds `toolsets/` and `catalogs/`. Baselines whose package is not
installed are skipped with a message.
"""

import argparse
import json
import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

from evals import docs, learning, outcomes, registry, report, run, stages
from evals.hard import report as hard
from evals.languages import report as languages
from evals.sets import GROUPS, data_folder, load_requests, load_set
from toolscout.index.static_model import BUNDLED_MODEL

MORE_SETS = ("asked-mcp", "requests-bfcl", "requests-bfcl-irrelevance", "pooled-dev")
"""Sets that are reported and decide nothing, the slowest last."""


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    found = argparse.ArgumentParser(
        prog="python -m evals",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("--data", type=Path, help="folder with toolsets/ (or TOOLSCOUT_DATA)")
    found.add_argument("--sets", nargs="+", help="sets as ROLE/NAME; default: the role dev")
    found.add_argument("--rankers", help=f"comma separated, of: {', '.join(registry.NAMES)}")
    found.add_argument("--model", default=str(BUNDLED_MODEL), help="model2vec folder")
    found.add_argument("--limit", type=int, help="questions per set at most")
    found.add_argument("--json", type=Path, help="also write everything here")
    found.add_argument("--markdown", action="store_true", help="print Markdown tables")
    found.add_argument(
        "--known", type=Path, help="earlier --json; rankers not run now keep its figures"
    )
    found.add_argument(
        "--against",
        type=Path,
        help="earlier --json; also print each difference with twice its paired standard error",
    )
    found.add_argument("--docs", type=Path, help="also write the tables into their block here")
    kind = found.add_mutually_exclusive_group()
    kind.add_argument("--stages", action="store_true", help="each stage switched off")
    kind.add_argument("--outcomes", action="store_true", help="match, weak, no_match")
    kind.add_argument("--languages", action="store_true", help="questions in other languages")
    kind.add_argument("--hard", action="store_true", help="hard requests and conversations")
    kind.add_argument("--learning", action="store_true", help="before and after feedback")
    return found


def main() -> int:
    """Run what was asked for; returns the exit status."""
    parsed = parser().parse_args()
    folder = data_folder(parsed.data)
    if folder is None:
        print("skipped: no tool sets; name their folder with --data or TOOLSCOUT_DATA")
        return 0
    kind, text, data, block = _report(folder, parsed)
    print(text)
    if parsed.docs:
        docs.write(parsed.docs, kind, block)
    if parsed.json:
        parsed.json.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 0


def _report(folder: Path, parsed: argparse.Namespace) -> tuple[str, str, Any, str]:
    """Return the kind of what was asked for, its text, its figures, and what a page has of it."""
    reports: dict[str, Callable[[], tuple[str, Any]]] = {
        "stages": lambda: stages.report_of(folder, parsed.model, parsed.limit),
        "outcomes": lambda: outcomes.report(folder, parsed.model, parsed.limit),
        "learning": lambda: learning.report(folder, parsed.model, parsed.limit),
        "languages": lambda: languages.report(folder, parsed.model),
        "hard": lambda: hard.report(folder, parsed.model),
    }
    for kind, report_of in reports.items():
        if getattr(parsed, kind):
            text, data = report_of()
            return kind, text, data, text
    figures = _ranked(folder, parsed)
    if parsed.known:
        figures = run.joined(figures, json.loads(parsed.known.read_text("utf-8")))
    text = report.tables(figures, markdown=parsed.markdown)
    if parsed.against:
        earlier = [run.Figures(**each) for each in json.loads(parsed.against.read_text("utf-8"))]
        text += "\n\n" + report.changes(earlier, figures, markdown=parsed.markdown)
    return "rankers", text, [f.as_dict() for f in figures], report.overview(figures)


def _ranked(folder: Path, parsed: argparse.Namespace) -> list[run.Figures]:
    names = parsed.rankers.split(",") if parsed.rankers else list(registry.NAMES)
    unknown = [n for n in names if n not in registry.NAMES]
    if unknown:
        sys.exit(f"no such ranker: {', '.join(unknown)}; there are {', '.join(registry.NAMES)}")
    rankers, skipped = registry.find_many(names, parsed.model)
    print(*skipped, sep="\n", end="\n" if skipped else "", file=sys.stderr)
    figures = []
    for wanted in parsed.sets or [f"dev/{name}" for name in (*chain(*GROUPS.values()), *MORE_SETS)]:
        path = folder / "toolsets" / wanted
        if (path / "requests.jsonl").exists():
            requests = load_requests(path)
            figures += [
                run.evaluate_requests(name, ranker, requests, parsed.limit)
                for name, ranker in rankers.items()
            ]
        elif (path / "corpus.jsonl").exists():
            asked = load_set(path)
            figures += [
                run.evaluate(name, ranker, asked, parsed.limit) for name, ranker in rankers.items()
            ]
        else:
            print(f"{wanted}: skipped, there is no such set", file=sys.stderr)
    return figures


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ModuleNotFoundError as problem:
        sys.exit(f"{problem}: pip install -e '.[server,evals]'")
