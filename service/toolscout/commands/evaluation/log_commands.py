"""The commands on a log of the past: learn from it, and suggest an overlay."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from toolscout.commands.evaluation.commands import check_stdin, read_input, say
from toolscout.commands.evaluation.uses import HASHED, LoggedUse, read_uses
from toolscout.commands.searching import add_overlay, open_service, post, read_max_tools
from toolscout.common.counted import write_count
from toolscout.contract.bounds import MAX_EVENTS
from toolscout.errors import ConfigurationError
from toolscout.tools.overlay import NO_OVERLAY, read_overlay

if TYPE_CHECKING:
    from toolscout.commands.evaluation.suggesting import Suggestion

FEEDBACK = "/v1/tool-discovery/feedback"

REPORTED_AT_ONCE = min(MAX_EVENTS, 200)
"""Reports of one request."""

SHOWN_UNANSWERED = 20
"""Requests after which nothing was called that are shown."""

SHOWN_CHARS = 100
"""Characters of one of them."""


def add_learn_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `toolscout learn`."""
    add = parser.add_argument
    add("--from", dest="file", type=Path, required=True, metavar="FILE",
        help="decision log (`log = full`), or JSON lines with query, tool and success;"
        " - for stdin")  # fmt: skip
    add("--url", required=True, metavar="URL", help="the service; its key: TOOLSCOUT_API_KEY")
    add("--tenant", metavar="NAME", help="the tenant of a log that has several")
    add("--dry-run", action="store_true", help="only say what is in the file")


def learn(parsed: argparse.Namespace) -> int:
    """Report the uses of a file; returns 0, or 1 if there is none in it.

    Raises:
        ConfigurationError: a log has several tenants, or the service is not there, or refuses.
        OSError: the file cannot be read.
    """
    data, shown = read_input(parsed.file)
    uses = read_uses(data.splitlines())
    say(f"{shown}: {uses.summary()}")
    reported = uses.of(parsed.tenant)
    if parsed.dry_run or not reported:
        return 0 if reported else 1
    accepted = report(reported, parsed.url)
    rest = len(reported) - accepted
    more = f"; {rest:,} repeat what one key has reported of a request and a tool" if rest else ""
    say(f"{accepted:,} of {len(reported):,} counted{more}")
    return 0


def report(uses: Sequence[LoggedUse], url: str) -> int:
    """Send uses as feedback; returns how many counted.

    Raises:
        ConfigurationError: the service is not there, or refuses; says how many counted before.
    """
    accepted = 0
    try:
        with open_service(url) as service:
            for start in range(0, len(uses), REPORTED_AT_ONCE):
                events = [
                    {"pattern": use.query, "tool": use.tool, "success": use.success}
                    for use in uses[start : start + REPORTED_AT_ONCE]
                ]
                answer = post(service, FEEDBACK, {"events": events}, "accepted")
                accepted += answer["accepted"]
    except ConfigurationError as error:
        raise ConfigurationError(f"{error}; {accepted:,} reports were counted") from None
    return accepted


def add_suggest_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `toolscout suggest`."""
    add = parser.add_argument
    add("--log", type=Path, required=True, metavar="FILE",
        help="decision log (`log = full`); - for stdin")  # fmt: skip
    add("--tools", type=Path, metavar="FILE",
        help="leave out what is found among these tools today, and other tools")  # fmt: skip
    add_overlay(parser)
    add("--tenant", metavar="NAME", help="requests of this tenant alone")


def suggest(parsed: argparse.Namespace) -> int:
    """Print overlay rows for a person to accept; returns 0, or 1 if there are none.

    Raises:
        ConfigurationError: no search of the log has its request, or log and tools are both
            standard input.
        ToolscoutError: the file of tools has none.
        OSError: a file cannot be read.
    """
    from toolscout.commands.evaluation import suggesting

    check_stdin(parsed.log, parsed.tools)
    data, shown = read_input(parsed.log)
    episodes = suggesting.read_episodes(data.splitlines())
    say(f"{shown}: {episodes.summary()}")
    if not episodes.searches:
        lacking = HASHED if episodes.lacking[HASHED] else "there is no search"
        raise ConfigurationError(f"{shown}: {lacking}")
    found = [
        each
        for each in suggesting.find_suggestions(episodes)
        if parsed.tenant in (None, each.tenant)
    ]
    if parsed.tools:
        found = _leave_out_found(parsed, found)
    rows = suggesting.merge_suggestions(found)
    print("\n".join(row.as_toml() for row in rows), end="")  # noqa: T201  # a command prints
    say(f"{write_count(len(rows), 'row')} proposed")
    unanswered = suggesting.list_unanswered(episodes, parsed.tenant)
    for query, count in unanswered.most_common(SHOWN_UNANSWERED):
        say(f"{write_count(count, 'time')} nothing was called: {query[:SHOWN_CHARS]!r}")
    return 0 if rows else 1


def _leave_out_found(
    parsed: argparse.Namespace, suggestions: "list[Suggestion]"
) -> "list[Suggestion]":
    """Return the suggestions for tools of a file that a search does not find today."""
    from toolscout.engine import Engine
    from toolscout.files.reading import read_file

    tools = read_file(parsed.tools)
    known = {tool.name for tool in tools}
    overlay = read_overlay(parsed.overlay) if parsed.overlay else NO_OVERLAY
    engines: dict[str, Engine] = {}
    kept = []
    for each in suggestions:
        if each.tenant not in engines:
            engines[each.tenant] = Engine(tools, max_tools=read_max_tools())
            engines[each.tenant].compiler.overlay = overlay.narrow(each.tenant)
        result = engines[each.tenant].search(each.query)
        is_found = result.outcome == "match" and each.tool in result.names
        if each.tool in known and not is_found:
            kept.append(each)
    return kept
