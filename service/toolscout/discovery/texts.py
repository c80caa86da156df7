"""What the model reads of the flow: the search tool's description, and the results of searches."""

import logging
from collections.abc import Sequence
from typing import Any

from toolscout.client.offer import Offer
from toolscout.client.selection import Reason, Selection
from toolscout.tools.shapes import texts
from toolscout.tools.summary import first_sentence, overview

DESCRIPTION = (
    "Search for tools that can do what is needed. Most tools are not listed until they are found "
    "here: describe the action in a few words, then call the tools that appear."
)
MAX_LISTED = 25
"""Maximum number of found tools in the result text; the model gets the definitions of all."""

logger = logging.getLogger("toolscout.client")


def description(names: Sequence[str]) -> str:
    """Describe the search tool, and what it searches; the same for the same tools in any order."""
    return f"{DESCRIPTION} It searches {overview(names)}."


def result_text(selection: Selection[Any], shown: Sequence[str], new: int, offer: Offer) -> str:
    """Return the result of a search as text for the model.

    Args:
        selection: the result.
        shown: names of the tools that the model sees from now on because of it.
        new: how many of them it did not see before.
        offer: all tools.
    """
    if selection.reason is Reason.EMPTY_QUERY:
        return "The search had no query. Search again, with `query` in a few words."
    if not shown:
        return (
            f"No tool fits this search. There are {overview(offer.names)}. Try other words; if "
            "there is still nothing, go on without a tool."
        )
    if selection.fell_open and len(shown) == len(offer.names):
        return "The search gave no answer, so all tools are available now."
    lines = ["These tools are available now:"]
    if selection.fell_open:
        lines = ["The search gave no answer. These tools are available instead:"]
    for name in shown[:MAX_LISTED]:
        summary = first_sentence(texts(offer.by_name[name])[1])
        lines.append(f"- {name}: {summary}" if summary else f"- {name}")
    if not new:
        lines.append("(They were available before.)")
    return "\n".join(lines)


def free_name(wanted: str, taken: Sequence[str]) -> str:
    """Return the name of the search tool, numbered when a real tool has it already."""
    if wanted not in taken:
        return wanted
    number = 2
    while f"{wanted}_{number}" in taken:
        number += 1
    logger.warning("a tool named %s exists; the search tool is %s_%d", wanted, wanted, number)
    return f"{wanted}_{number}"
