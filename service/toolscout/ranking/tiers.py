"""The tools of an agent's next turn: a few whole, some in brief, the rest on demand.

Tier 0 is named by the caller and shown whole, or in brief if only that fits. Tier 1 fits the
message and is shown in brief. Both are filled in order; a tool that does not fit is skipped, and
the next is tried.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from toolscout.tools.risk import LEVELS
from toolscout.tools.traits import Traits

TOKEN_BUDGET = 3_800
TIER0_SHARE, TIER1_SHARE = 1_200 / 3_800, 1_800 / 3_800
"""Shares of the budget; the rest is for the instructions that go with the tools."""

TIER1_TOOLS = 10
"""Maximum number of tools in tier 1; for more, the agent searches."""


def fill(
    rows: Iterable[int], budget: int, *costs: Callable[[int], int], most: int | None = None
) -> tuple[list[tuple[int, int]], int]:
    """Take rows in order if they fit, each at the first of its costs that does.

    Returns:
        Each row with the index of its cost, and the total cost.
    """
    taken: list[tuple[int, int]] = []
    spent = 0
    for row in rows:
        if most is not None and len(taken) == most:
            break
        for number, cost in enumerate(costs):
            price = cost(row)
            if spent + price <= budget:
                taken.append((row, number))
                spent += price
                break
    return taken, spent


def core_tools(
    names: Sequence[str], traits: Sequence[Traits], successes: Mapping[str, int]
) -> list[int]:
    """Return all rows in the order in which to show them for an unknown task.

    First the tools that worked most often, then the agent's own (those without a namespace, the
    harmless ones first), then one of each namespace in turn. Ties break by name.
    """
    turn: Counter[str] = Counter()

    def place(row: int) -> tuple[int, int, int, str]:
        name, found = names[row], traits[row]
        turn[found.namespace] += 1
        nth = turn[found.namespace] if found.namespace else 0
        return -successes.get(name, 0), nth, LEVELS.index(found.risk), name

    places = {row: place(row) for row in sorted(range(len(names)), key=names.__getitem__)}
    return sorted(places, key=places.__getitem__)
