"""Cases after failures that users reported, in the shared data: each room replays its own kinds."""

import json
from pathlib import Path
from typing import Any

FIRST = "field.json"
SECOND = "field-2.json"


def reported_cases(data: Path, file: str, kind: str) -> list[dict[str, Any]]:
    """Return the cases of a kind; there is at least one."""
    every: list[dict[str, Any]] = json.loads((data / "cases" / file).read_bytes())["cases"]
    cases = [case for case in every if case["kind"] == kind]
    assert cases, f"{file} has no cases of kind {kind}"
    return cases
