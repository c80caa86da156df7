"""Findings as programs take them that show them beside the lines of a file: GitHub, SARIF."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toolscout import __version__
from toolscout.commands.evaluation.lint import KINDS, Finding, list_names
from toolscout.files.reading import STDIN

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_annotations(every: Sequence[Finding], path: Path) -> str:
    """Return the findings as commands by which GitHub shows them beside the lines of a file.

    A finding stands where its first tool is named; a refused or poisoned tool is an error.
    """
    lines = _read_lines(path)
    written = []
    for each in every:
        where = f"file={_escape(str(path))},line={_find_line(each.tools[0], lines)}"
        text = _describe(each)
        written.append(f"::{_judge(each)} {where},title={each.kind}::{_escape(text, in_text=True)}")
    return "\n".join(written)


def as_sarif(by_file: Mapping[str, Sequence[Finding]]) -> dict[str, Any]:
    """Return the findings of files as a log of static analysis (SARIF 2.1.0, OASIS)."""
    rules = [{"id": kind, "shortDescription": {"text": what}} for kind, what in KINDS.items()]
    results = []
    for file, every in by_file.items():
        lines = _read_lines(Path(file))
        for each in every:
            region = {"startLine": _find_line(each.tools[0], lines)}
            place = {"artifactLocation": {"uri": Path(file).as_posix()}, "region": region}
            results.append(
                {
                    "ruleId": each.kind,
                    "level": _judge(each),
                    "message": {"text": _describe(each)},
                    "locations": [{"physicalLocation": place}],
                }
            )
    driver = {"name": "toolscout lint", "version": __version__, "rules": rules}
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _judge(finding: Finding) -> str:
    return "error" if finding.kind in ("refused", "poisoned") else "warning"


def _describe(finding: Finding) -> str:
    return f"{list_names(finding.tools)}: {finding.detail}; {finding.suggestion}"


def _read_lines(path: Path) -> list[str]:
    return [] if path == STDIN else path.read_text("utf-8", "replace").split("\n")


def _find_line(name: str, lines: Sequence[str]) -> int:
    """Return the number of the line that names a tool; 1 where none does."""
    named = re.compile(rf"""(?:name|operationId)["']?\s*:\s*["']?{re.escape(name)}(?![\w.-])""")
    return next((number for number, line in enumerate(lines, 1) if named.search(line)), 1)


def _escape(text: str, *, in_text: bool = False) -> str:
    for character in "%\r\n" if in_text else "%\r\n:,":
        text = text.replace(character, f"%{ord(character):02X}")
    return text
