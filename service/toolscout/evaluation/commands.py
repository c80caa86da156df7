"""The command `toolscout learn`: report to a running service which tools were called before."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from toolscout.contract.bounds import MAX_EVENTS
from toolscout.errors import ConfigurationError
from toolscout.evaluation.uses import Use, read_uses

PATIENCE_S = 60.0
"""Seconds that one batch of reports may take: without a turn, each is compared with a search."""

AT_ONCE = min(MAX_EVENTS, 200)
"""Reports of one request."""


def add_learn_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `toolscout learn`."""
    add = parser.add_argument
    add("--from", dest="file", type=Path, required=True, metavar="FILE",
        help="decision log (`log = full`), or JSON lines with query, tool and success;"
        " - for stdin")  # fmt: skip
    add("--url", required=True, metavar="URL", help="the service; its key: TOOLSCOUT_API_KEY")
    add("--dry-run", action="store_true", help="only say what is in the file")


def learn(parsed: argparse.Namespace) -> int:
    """Report the uses of a file; returns 0, or 1 if there is none in it.

    Raises:
        ConfigurationError: the service is not there, or refuses.
        OSError: the file cannot be read.
    """
    uses = read_uses(parsed.file)
    _say(f"{parsed.file}: {uses.summary()}")
    if parsed.dry_run or not uses.found:
        return 0 if uses.found else 1
    accepted = report(uses.found, parsed.url, os.environ.get("TOOLSCOUT_API_KEY"))
    rest = len(uses.found) - accepted
    more = f"; {rest:,} repeat what one key has reported of a request and a tool" if rest else ""
    _say(f"{accepted:,} of {len(uses.found):,} counted{more}")
    return 0


def report(uses: Sequence[Use], url: str, key: str | None) -> int:
    """Send uses as feedback; returns how many counted.

    Raises:
        ConfigurationError: the service is not there, or refuses.
    """
    import httpx2

    from toolscout.client.endpoint import is_web_address, without_secrets

    if not is_web_address(url):
        raise ConfigurationError(f"--url: expected an http(s) URL, got {url!r}")
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    accepted = 0
    path = url.rstrip("/") + "/v1/tool-discovery/feedback"
    try:
        with httpx2.Client(headers=headers, timeout=PATIENCE_S) as client:
            for start in range(0, len(uses), AT_ONCE):
                events = [
                    {"pattern": use.query, "tool": use.tool, "success": use.success}
                    for use in uses[start : start + AT_ONCE]
                ]
                response = client.post(path, content=msgspec.json.encode({"events": events}))
                accepted += _accepted(response.status_code, response.content, start)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        what = f"{without_secrets(url)} does not answer ({type(error).__name__})"
        raise ConfigurationError(f"{what}; {accepted:,} reports were counted") from None
    return accepted


def _accepted(status: int, body: bytes, start: int) -> int:
    try:
        answer: Any = msgspec.json.decode(body)
    except msgspec.DecodeError:
        answer = None
    if isinstance(answer, dict) and isinstance(answer.get("accepted"), int):
        return int(answer["accepted"])
    detail = answer.get("detail") if isinstance(answer, dict) else f"status {status}"
    raise ConfigurationError(f"the service refuses uses {start + 1:,} and following: {detail}")


def _say(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201  # a command prints
