"""The table of a turn's phases and events, on the page of the turns."""

import inspect
import re

from docs.generate.house import PACKAGE
from toolscout.turns.events import End
from toolscout.turns.table import ROWS, Outcome, TableRow

README = PACKAGE / "turns" / "README.md"

_TABLE = re.compile(r"(?<=<!-- table -->\n).*?(?=<!-- end of table -->)", re.DOTALL)
"""What stands between the marks on the page; all else is by hand."""


def page() -> str:
    """Write the page of the turns with the table as the code has it."""
    return _TABLE.sub(lambda _: table(), README.read_text("utf-8"))


def table() -> str:
    """Write what becomes of each event in each phase."""
    lines = [
        "| phase | event | what the turn does | effect → phase after it |",
        "|---|---|---|---|",
    ]
    lines += [_written(row, row.phase.value) for row in ROWS if row.event is not End]
    # A turn can end in every phase, in the same way, so that is said once.
    ends = {row.handle: row for row in ROWS if row.event is End}
    lines += [_written(row, "any, once, by the driver") for row in [*ends.values()][:1]]
    return "\n".join([*lines, ""])


def _written(row: TableRow, phase: str) -> str:
    does = (inspect.getdoc(row.handle) or "").partition("\n")[0].rstrip(".")
    after = "; ".join(map(_outcome, row.outcomes))
    return f"| {phase} | `{row.event.__name__}` | {does} | {after} |"


def _outcome(outcome: Outcome) -> str:
    phase, effect = outcome
    return phase.value if effect is None else f"`{effect.__name__}` → {phase.value}"
