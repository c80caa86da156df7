"""Whether experience may order a catalog's tools: only where it has raised what worked.

With every report of a success the ranks of its tool with and without experience are compared; a
catalog's gate opens when these comparisons show a gain, and shuts when they show harm.
"""

from toolscout.contract.learning import Ordering
from toolscout.learning.experience import Key, ToolExperience
from toolscout.ranking.scorers import NEARLY_SAME

EARNED, SLACK = 0.3, 0.2
"""Reciprocal ranks that experience must have gained over all reports of a catalog's tools before it
orders them, and what it may have lost where a past query is nearly this one. Both are less than a
second place made a first one. Compared turn by turn with -.2, 0, .6 and 1 for both, and with one
and 1.5 standard errors.
"""

TRUSTED = EARNED + SLACK
"""Reciprocal ranks that examples have gained beforehand: their authors know, unless asking shows
harm.
"""

USUAL_USES = 20.0
"""Reports after which half of the failures count as everybody's, if all have failed."""

NOTHING = 0.0, 0, 0
"""What the reports of a tool say that has none."""


class Gate:
    """What the reports of a catalog's tools say of experience itself.

    Args:
        by_examples: reciprocal ranks that examples have gained; None where there are none.
    """

    def __init__(self, by_examples: float | None) -> None:
        self.gained = 0.0 if by_examples is None else TRUSTED + by_examples
        """By how much experience raised 1/rank of what worked."""
        self._reports = self._failures = 0
        self._reports_by_tool: dict[int, dict[Key, tuple[float, int, int]]] = {}
        """What the reports of each tool say, by its row in the catalog."""

    def count(self, key: Key, row: int, tool: ToolExperience | None) -> None:
        """Count what a tool's reports say now, in place of what they said before."""
        of_tool = self._reports_by_tool.setdefault(row, {})
        before = of_tool.pop(key, NOTHING)
        totals = NOTHING if tool is None else tool.totals
        self.gained += totals[0] - before[0]
        self._reports += totals[1] - before[1]
        self._failures += totals[2] - before[2]
        if tool is not None:
            of_tool[key] = totals
        elif not of_tool:
            del self._reports_by_tool[row]

    def is_open(self, row: int, likeness: float = 0.0) -> bool:
        """Whether reports of the other tools show that experience improves the order of one.

        What a tool itself has gained does not count: false reports raise it for one another, and
        would prove themselves. Where the nearest past query is nearly this one, it is enough that
        they show no harm.
        """
        own = sum(gain for gain, _, _ in self._reports_by_tool.get(row, {}).values())
        of_others = self.gained - max(own, 0.0)
        return of_others > (EARNED if likeness < NEARLY_SAME else -SLACK)

    @property
    def orders(self) -> Ordering:
        """What it is open for, for any tool with reports."""
        return "matches" if self.ordered else "same" if self.gained > -SLACK else "none"

    @property
    def why(self) -> str:
        """Why, in a sentence."""
        needed = f"{EARNED} by other tools orders a tool's matches, -{SLACK} the same requests"
        return f"experience changed 1/rank of what worked by {self.gained:.2f} in all; {needed}"

    @property
    def ordered(self) -> int:
        """Number of tools with reports that it is open for, whatever is asked."""
        return sum(map(self.is_open, self._reports_by_tool))

    @property
    def reported(self) -> int:
        """Number of tools with reports."""
        return len(self._reports_by_tool)

    @property
    def blamed(self) -> float:
        """What a failure counts, 0 to 1: where everything fails, it says nothing of its tool."""
        return 1 - self._failures / (self._reports + USUAL_USES)
