"""The commands on questions: evaluate and lint."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import msgspec

from toolscout.commands.evaluation.questions import JudgedQuestion
from toolscout.commands.evaluation.uses import is_log, read_uses
from toolscout.commands.searching import (
    add_overlay,
    apply_overlay,
    ask_service,
    read_max_tools,
    read_settings,
    refuse_beside,
    refuse_settings,
)
from toolscout.commands.terminal import as_json, read_positive
from toolscout.contract.fields import MAX_LATENCY_BUDGET_MS
from toolscout.contract.tools import Tool
from toolscout.errors import ConfigurationError
from toolscout.files.reading import STDIN
from toolscout.settings import RANKERS

if TYPE_CHECKING:
    from toolscout.commands.evaluation.lint import Finding


PROGRESS_S = 1.0
"""Seconds between two lines of progress on a terminal."""


def _add_asking(parser: argparse.ArgumentParser, *, counted: bool = True) -> None:
    """Add the flags of who answers; with `counted` those of the tools and how many are shown."""
    add = parser.add_argument
    if counted:
        add("--tools", type=Path, required=True, metavar="FILE",
            help="tools in any provider's shape, OpenAPI, or a folder of skills")  # fmt: skip
    add("--url", metavar="URL", help="ask the service there, so another build or other settings;"
        " its key is in TOOLSCOUT_API_KEY")  # fmt: skip
    add("--ranker", choices=RANKERS, default="auto", help="which ranker answers the questions")
    if counted:
        add("--top-k", type=read_positive, metavar="COUNT", default=5, help="tools to show at most")
        add("--price", type=float, metavar="DOLLARS", help="price of a million prompt tokens")
    add_overlay(parser)
    add("--json", action="store_true", help="everything as JSON")


def add_evaluate_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `toolscout evaluate`."""
    add = parser.add_argument
    _add_questions(parser, is_required=True)
    _add_asking(parser)
    add("--html", type=Path, metavar="FILE", help="also write a page with pictures and all misses")
    add("--tune", type=Path, metavar="FOLDER", help="try settings and overlay rows on half of the"
        " questions, judge them on the others, and write what gains there")  # fmt: skip
    add("--min-recall", type=float, metavar="SHARE", default=0.0,
        help="exit with 1 if the share of wanted tools that are shown is lower")  # fmt: skip


def evaluate(parsed: argparse.Namespace) -> int:
    """Judge answers to questions; returns 0, or 1 if the recall is too low.

    Raises:
        ConfigurationError: the service is not there, or refuses.
        ToolscoutError: a file has no tools or no questions, or a log has several tenants.
        OSError: a file cannot be read or written.
    """
    from toolscout.commands.evaluation import report
    from toolscout.commands.evaluation.judging import judge
    from toolscout.files.reading import read_file

    if not 0 <= parsed.min_recall <= 1:
        raise ConfigurationError(f"--min-recall: expected 0 to 1, got {parsed.min_recall:g}")
    check_stdin(parsed.tools, parsed.questions)
    tools = read_file(parsed.tools)
    questions, tenant = _read_questions(parsed, tools)
    if parsed.tune:
        return _tune(parsed, tools, questions, tenant)
    progress = show_progress(len(questions))
    ask = choose_asking(parsed, tools, tenant)
    verdict = judge(tools, questions, ask, parsed.top_k, progress)
    text = as_json(verdict) if parsed.json else report.as_text(verdict, parsed.price)
    print(text)  # noqa: T201  # a command prints
    if parsed.html:
        title = f"Which tools are shown: {parsed.questions.name}"
        parsed.html.write_text(report.as_page(verdict, parsed.price, title), "utf-8")
    recall = verdict.recall[parsed.top_k]
    if verdict.impossible < verdict.questions and recall < parsed.min_recall:
        say(f"R@{parsed.top_k} is {recall:.3f}, below {parsed.min_recall}")
        return 1
    return 0


def _tune(
    parsed: argparse.Namespace,
    tools: list[Tool],
    questions: Sequence[JudgedQuestion],
    tenant: str,
) -> int:
    """Try changes, and write those that gain; returns 0, or 1 if none does."""
    from toolscout.commands.evaluation.tuning import Tuning, prepare_folder, tune, write_files

    refuse_beside(parsed, "tune", "url", "html", "overlay", "json", "min_recall", "price")
    prepare_folder(parsed.tune)
    settings = read_settings()
    below = settings.no_match_below
    top_k = parsed.top_k
    most = settings.max_tools
    tuned = tune(Tuning(tools, questions, top_k, parsed.ranker, below, most, tenant))
    print("\n".join(tuned.lines))  # noqa: T201  # a command prints
    written = write_files(parsed.tune, tuned)
    for path in written:
        say(f"wrote {path}")
    return 0 if written else 1


def _add_questions(parser: argparse.ArgumentParser, *, is_required: bool = False) -> None:
    add = parser.add_argument
    add("--questions", type=Path, required=is_required, metavar="FILE",
        help="CSV or JSON lines with query and tools, or a decision log (`log = full`);"
        " - for stdin")  # fmt: skip
    about = "the tenant of a log that has several, and of overlay rows"
    add("--tenant", metavar="NAME", help=about)


def _read_questions(
    parsed: argparse.Namespace, tools: Sequence[Tool]
) -> tuple[list[JudgedQuestion], str]:
    """Return the questions of a file, or of a log: what was asked, and what was called for it.

    Beside them is the tenant whose they are: `--tenant`, else that of the log, else "".

    Raises:
        ToolscoutError: there are none, or a log has several tenants.
        OSError: the file cannot be read.
    """
    from toolscout.commands.evaluation.questions import merge_questions, read_questions

    names = {tool.name for tool in tools}
    data, shown = read_input(parsed.questions)
    if not is_log(data):
        return read_questions(data, shown, names), parsed.tenant or ""
    uses = read_uses(data.splitlines())
    say(f"{shown}: {uses.summary()}")
    called = [use for use in uses.of(parsed.tenant) if use.success]
    known = [use for use in called if use.tool in names]
    if left := len(called) - len(known):
        say(f"  {left:,} are left out: their tools are not in the file")
    questions = merge_questions(((use.query, [use.tool]) for use in known), shown)
    return questions, known[0].tenant


def check_stdin(*paths: Path | None) -> None:
    """Check that at most one file is standard input.

    Raises:
        ConfigurationError: several are.
    """
    if paths.count(STDIN) > 1:
        raise ConfigurationError("only one file can be - (standard input)")


def read_input(path: Path) -> tuple[bytes, str]:
    """Return the content of a file, and how it is called in messages; `-` is standard input.

    Raises:
        OSError: it cannot be read.
    """
    if path == STDIN:
        return sys.stdin.buffer.read(), "standard input"
    return path.read_bytes(), str(path)


def choose_asking(
    parsed: argparse.Namespace, tools: list[Tool], tenant: str
) -> Callable[[str, int], dict[str, Any]]:
    """Return how a question of a tenant is asked: of an engine here, or of a running service."""
    if parsed.url:
        refuse_settings(parsed, "overlay")
        asked = {"tools": tools, "ranker": parsed.ranker, "explain": True}
        asked["latency_budget_ms"] = MAX_LATENCY_BUDGET_MS  # or a cheaper ranker would be judged
        return lambda query, top_k: ask_service(
            parsed.url, {"pattern": query, "top_k": top_k, **asked}
        )
    from toolscout.engine import Engine

    engine = Engine(tools, ranker=parsed.ranker, max_tools=read_max_tools())
    apply_overlay(engine, parsed.overlay, tenant)

    def ask(query: str, top_k: int) -> dict[str, Any]:
        result = engine.search(query, top_k, explain=True)
        return {"selected_names": result.names, "matches": msgspec.to_builtins(result.matches)}

    return ask


def show_progress(total: int) -> Callable[[int], None]:
    """Return what shows on a terminal how many questions were asked, where it takes longer."""
    shown = monotonic()
    is_terminal = sys.stderr.isatty()

    def progress(number: int) -> None:
        nonlocal shown
        if is_terminal and monotonic() - shown > PROGRESS_S:
            shown = monotonic()
            say(f"{number:,} of {total:,} questions")

    return progress


def add_lint_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `toolscout lint`."""
    add = parser.add_argument
    add("--tools", type=Path, required=True, nargs="+", metavar="FILE",
        help="as of search; several are judged each")  # fmt: skip
    _add_asking(parser, counted=False)
    add("--annotate", action="store_true", help="print what GitHub shows beside the lines")
    add("--sarif", action="store_true", help="print a log of static analysis, SARIF 2.1.0")
    _add_questions(parser)
    add("--ignore", action="append", metavar="KIND", default=[],
        help="leave out a kind of finding; may be given several times")  # fmt: skip


def lint(parsed: argparse.Namespace) -> int:
    """Print what is wrong with files of tools; returns 0, or 1 if there is anything.

    Raises:
        ConfigurationError: there is no such kind to ignore, or the service refuses.
        ToolscoutError: a file has no tools or no questions.
        OSError: a file cannot be read.
    """
    from toolscout.commands.evaluation.beside_lines import as_sarif
    from toolscout.commands.evaluation.lint import KINDS
    from toolscout.files.reading import read_file
    from toolscout.tools.overlay import NO_OVERLAY, read_overlay

    if unknown := set(parsed.ignore) - set(KINDS):
        kinds = ", ".join(KINDS)
        raise ConfigurationError(f"--ignore: no such kind {unknown.pop()!r}; there are {kinds}")
    if parsed.annotate + parsed.json + parsed.sarif > 1:
        raise ConfigurationError("expected one of --annotate, --json and --sarif")
    paths = list(dict.fromkeys(parsed.tools))
    if parsed.questions and len(paths) > 1:
        raise ConfigurationError("--questions: expected one file of --tools")
    check_stdin(*paths, parsed.questions)
    by_file: dict[str, list[Finding]] = {}
    names: set[str] = set()
    for path in paths:
        tools = read_file(path)
        names.update(tool.name for tool in tools)
        by_file[str(path)] = _lint(parsed, path, tools)
    if parsed.json:
        print(as_json(by_file if len(paths) > 1 else by_file[str(paths[0])]))  # noqa: T201
    elif parsed.sarif:
        print(as_json(as_sarif(by_file)))  # noqa: T201
    overlay = read_overlay(parsed.overlay) if parsed.overlay else NO_OVERLAY
    unused = overlay.explain_unused(names)
    for line in unused:
        say(f"{parsed.overlay}: {line}")
    return 1 if any(by_file.values()) or unused else 0


def _lint(parsed: argparse.Namespace, path: Path, tools: list[Tool]) -> "list[Finding]":
    """Return what is wrong with a file, and print it unless all of it is to be JSON."""
    from toolscout.commands.evaluation.beside_lines import as_annotations
    from toolscout.commands.evaluation.lint import as_text, find_all

    questions, tenant = _read_questions(parsed, tools) if parsed.questions else ([], "")
    ask = choose_asking(parsed, tools, tenant) if questions else None
    shown = [each for each in find_all(tools, questions, ask) if each.kind not in parsed.ignore]
    if parsed.annotate and shown:
        print(as_annotations(shown, path))  # noqa: T201
    elif not (parsed.annotate or parsed.json or parsed.sarif):
        print(f"{path}: {as_text(shown, tools)}")  # noqa: T201
    return shown


def say(text: str) -> None:
    """Print a note for people, apart from what a command answers."""
    print(text, file=sys.stderr)  # noqa: T201  # a command prints
