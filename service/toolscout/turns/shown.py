"""Which tools of a turn the model sees."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from toolscout.client.log import logger
from toolscout.client.offer import MARKER, Offer
from toolscout.client.selection import Reason, Selection
from toolscout.tools.shapes import read_texts
from toolscout.tools.summary import cut_first_sentence, sum_up
from toolscout.turns import local
from toolscout.turns.providers.calls import Call
from toolscout.turns.providers.fields import Json
from toolscout.turns.providers.provider import Tools

Found = tuple[Call, Selection[Any]]
"""A search of the model, and its result."""


class Shown:
    """The tools that are visible from the first request on, and those found later.

    Args:
        offer: all tools of the turn.
        limit: maximum number of tools in a request beside those of the flow; None without one.
    """

    def __init__(self, offer: Offer, limit: int | None) -> None:
        self._offer = offer
        self._room: int | None = None
        """Tools with a name that one request has room for; None without a limit."""
        if limit is not None:
            left = limit - len(offer.unnamed)
            self._room = max(0, left)
        self._visible: dict[str, bool] = {}
        """Tools that are visible from the first request on, and whether they are pinned."""
        self._known: dict[str, None] = {}
        self._found: dict[str, bool] = {}
        """Tools found in this turn, and whether they answered a search."""
        self._near: dict[str, None] = {}
        self._nearest: tuple[str, Sequence[str]] = "", ()
        """A query, and the names nearest to it."""
        # A tool that ends the part of the prompt that is cached stays where it is.
        marked = offer.once(MARKER, lambda: _find_marked(offer))
        self.keep(marked)

    def keep(self, names: Iterable[str], is_pinned: bool = True) -> None:
        """Make tools visible from the first request on; what fits the first message is no pin."""
        own = self._offer.by_name
        for name in names:
            if name in own:
                self._visible.setdefault(name, is_pinned)

    def drop(self, names: Collection[str], left: Offer) -> None:
        """Show these tools no more, because the provider refuses them; others are left."""
        self._offer = left
        for shown in (self._visible, self._known, self._found, self._near):
            for name in names:
                shown.pop(name, None)
        self._nearest = "", ()

    def set_known(self, names: Iterable[str]) -> None:
        """Take tools as found before the turn, instead of those taken so before."""
        hidden = self._offer.by_name.keys() - self._visible.keys()
        self._known = dict.fromkeys(name for name in names if name in hidden)

    def guess(self, query: str) -> None:
        """Show what is near to a query where there is room, until something is found."""
        self._near = dict.fromkeys(self.every(query))

    def take_guess(self, other: "Shown") -> None:
        """Show what another one has guessed, as far as it is there."""
        own = self._offer.by_name
        self._near = {name: None for name in other._near if name in own}

    def find(self, names: Iterable[str], is_answer: bool = True) -> tuple[list[str], list[str]]:
        """Show found tools; return those that can be shown, and those that were not shown before.

        Args:
            names: those found; raw definitions that are no objects are left out.
            is_answer: whether they answer a search, so that they stay in the conversation.
        """
        shown = []
        new = dict[str, bool]()
        for name in names:
            if not isinstance(self._offer.by_name.get(name), dict):
                logger.warning("skipping a found tool without a valid definition")
                continue
            shown.append(name)
            if not (name in self._visible or name in self._known or name in self._found):
                new[name] = is_answer
        self._found |= new
        return shown, [*new]

    def places(self, called: Sequence[str], seen: Collection[str]) -> tuple[int, int, int]:
        """Count calls of tools visible without a search, of found ones, and of others.

        `seen` are the names in the latest request, which after a failure are all.
        """
        later = {*self._known, *self._found}
        later -= self._visible.keys()
        later |= {*self._answers}
        at_hand = {*self._visible, *self._find_built_in(), *seen}
        at_hand -= later
        of_searches = sum(name in later for name in called)
        visible = sum(name in at_hand for name in called)
        return visible, of_searches, len(called) - visible - of_searches

    def _find_built_in(self) -> Iterator[str]:
        for tool in self._offer.unnamed:
            name = tool.get("name") if isinstance(tool, dict) else None
            if isinstance(name, str):
                yield name

    def load(self, names: Iterable[str]) -> list[Any]:
        """Take tools as found; return those that are not visible from the first request on."""
        own = self._offer.by_name
        hidden = [name for name in names if name in own and name not in self._visible]
        shown, _ = self.find(dict.fromkeys(hidden))
        return [own[name] for name in shown]

    def lasting(self, with_all: bool) -> list[str]:
        """Return the names to show in the next turn of the conversation too, oldest first.

        Args:
            with_all: whether those belong to it that answered no search.
        """
        return [*self._known, *(self._found if with_all else self._answers)]

    @property
    def _answers(self) -> list[str]:
        return [name for name, is_answer in self._found.items() if is_answer]

    @property
    def searched(self) -> Offer:
        """The tools to search: pins, which the model sees anyway, only where no other tool fits."""
        pins = [name for name, is_pinned in self._visible.items() if is_pinned]
        if not pins:
            return self._offer
        pins.sort()
        known = self._offer.equal or self._offer  # nobody changes the tools of these
        return known.once(("beside", *pins), lambda: known.beside(pins))

    @property
    def has_room_for_all(self) -> bool:
        """Whether one request can hold every tool."""
        return self._room is None or len(self._offer.names) <= self._room

    def every(self, query: str) -> list[str]:
        """Return all names, or of too many those already shown and those nearest to a query."""
        names = self._offer.names
        if self.has_room_for_all:
            return list(names)
        nearest = self._find_nearest(query)
        kept = self._choose_fitting(nearest)
        return [name for name in names if name in kept]

    def _find_nearest(self, query: str) -> Sequence[str]:
        """Return the names nearest to a query, as many as there is room for."""
        latest, nearest = self._nearest
        if latest != query or not nearest:  # 10,000 tools take 0.2 s
            limits = {"min_tools": self._room, "max_tools": self._room, "target_ratio": 1.0}
            nearest, _ = local.filter_tools(query, self._offer, **limits)
            self._nearest = (query, nearest)
        return nearest

    def tools(self) -> Tools:
        """Return the tools in the order in which they are to be declared."""
        offer = self._offer
        own = offer.by_name
        shown = self._choose_fitting(self._near)
        first = shown & self._visible.keys()
        visible = offer.pick(name for name in offer.names if name in first)
        later = shown - first
        found = [own[name] for name in self._found if name in later]
        later -= self._found.keys()
        known = [own[name] for name in self._known | self._near if name in later]
        return Tools(offer.everything, visible, known, found)

    @property
    def names(self) -> set[str]:
        """The tools that one request shows."""
        return self._choose_fitting(self._near)

    def _choose_fitting(self, others: Iterable[str]) -> set[str]:
        """Return the names that one request has room for: of too many, the latest finds."""
        latest = reversed(self._found)
        before = reversed(self._known)
        names = dict.fromkeys([*self._visible, *latest, *before, *others])
        return set(islice(names, self._room))


def _find_marked(offer: Offer) -> list[str]:
    tools = offer.by_name.items()
    return [name for name, tool in tools if isinstance(tool, dict) and MARKER in tool]


DESCRIPTION = (
    "Search for tools that can do what is needed. Most tools are not listed until they are found "
    "here: describe the action in a few words, then call the tools that appear."
)
_QUERY = {"type": "string", "description": "What the tool should do, in a few words, or its name"}
QUERY_SCHEMA: Json = {"type": "object", "properties": {"query": _QUERY}, "required": ["query"]}
"""The input of the search tool."""
NO_MORE = (
    "That was the last search of this turn. Call a tool that was found, or answer without one."
)
"""What a model is told whose further searches of a turn are not answered."""
ASKED_BEFORE = (
    "You have made this search before, and its result is the same. Call a tool that was found, "
    "search in other words, or answer without a tool."
)
"""What a model is told that repeats a search within a turn."""
MAX_LISTED = 25
"""Maximum number of found tools in the result text; the model gets the definitions of all."""


def describe_search(names: Sequence[str]) -> str:
    """Describe the search tool, and what it searches; the same for the same tools in any order."""
    return f"{DESCRIPTION} It searches {sum_up(names)}."


def write_result(selection: Selection[Any], shown: Sequence[str], new: int, offer: Offer) -> str:
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
            f"No tool fits this search. There are {sum_up(offer.names)}. Try other words; if "
            "there is still nothing, go on without a tool."
        )
    is_empty = selection.reason is Reason.EMPTY_SELECTION
    why = "Nothing fits this query" if is_empty else "The search gave no answer"
    if selection.fell_open and len(shown) == len(offer.names):
        return f"{why}; all {len(shown):,} tools are available now."
    lines = [f"{why}; these tools are available instead:"]
    if not selection.fell_open:
        lines = ["These tools are available now:"]
    for name in shown[:MAX_LISTED]:
        summary = cut_first_sentence(read_texts(offer.by_name[name])[1])
        lines.append(f"- {name}: {summary}" if summary else f"- {name}")
    if not new:
        lines.append("(They were available before.)")
    return "\n".join(lines)


def choose_free_name(name: str, taken: Sequence[str]) -> str:
    """Return the name of the search tool, numbered when a real tool has it already."""
    if name not in taken:
        return name
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    logger.warning("a tool named %s exists; the search tool is %s_%d", name, name, number)
    return f"{name}_{number}"
