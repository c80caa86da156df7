"""Which search led to which call, turn by turn.

    search "ship it"         → found: create_invoice
    search "hand to courier" → found: create_delivery
    call create_delivery     → both searches wanted create_delivery

A call is a lesson for the searches that found its tool, and for those before them that found
nothing the model could use: it searched again with other words for the same wish. The searches of
one response run side by side, each for a wish of its own, and teach each other nothing. A search
with the user's own words wanted every tool that is called for them.
"""

import os
import threading
from collections.abc import Iterable
from math import inf

import msgspec

from toolscout.common.lru import Lru
from toolscout.discovery.turn import Searched, Turn

MAX_QUESTIONS = 10_000
"""Sessions whose latest question is remembered."""

MAX_SEARCHES = 16
"""Latest searches of one question that are remembered."""


class Observation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One event of the service's feedback."""

    pattern: str
    tool: str
    turn: str
    """Unique to the search, so that a report that is sent twice counts once."""
    success: bool
    catalog: str = ""
    """Digest of the tools that were searched; empty when unknown."""


class Search(msgspec.Struct):
    """A search of the model, and the tools that it turned out to want."""

    pattern: str
    found: frozenset[str]
    catalog: str
    turn: str
    round: int
    """Searches of one response share it."""
    is_whole: bool
    """Whether it repeats the user's message."""
    wanted: set[str] = msgspec.field(default_factory=set)


class Question(msgspec.Struct):
    """What happened since the user's last message."""

    id: str
    searches: list[Search] = msgspec.field(default_factory=list)
    called: set[str] = msgspec.field(default_factory=set)
    rounds: int = 0
    count: int = 0
    """Number of searches so far."""


class Lessons:
    """Makes observations of turns; remembers the question that a session is at. Thread-safe."""

    def __init__(self) -> None:
        self._questions: Lru[str, Question] = Lru(MAX_QUESTIONS)
        self._lock = threading.Lock()

    def observations(self, turn: Turn) -> list[Observation]:
        """Return what a turn that is over teaches, each lesson once."""
        with self._lock:
            question = self._question(turn)
            if question is None:
                return []
            late = turn.rounds if turn.was_mixed else inf
            early = [one for one in turn.searched if one[0] < late]
            self._ask(question, turn, early)
            found = self._credit(question, turn)
            # Calls beside a search were made before its result.
            self._ask(question, turn, [one for one in turn.searched if one[0] >= late])
            question.rounds += turn.rounds
        return found

    def _question(self, turn: Turn) -> Question | None:
        """Return the question of a turn; None if nothing was searched for it."""
        known = None
        if turn.session and not turn.provider.ends_with_user(turn.original):
            known = self._questions.get(turn.session)
        if known is None and not turn.searched:
            return None
        if known is None:
            known = Question(os.urandom(8).hex())
        if turn.session:
            self._questions.put(turn.session, known)
        return known

    def _ask(self, question: Question, turn: Turn, searched: Iterable[Searched]) -> None:
        message = _words(turn.user_query)
        for round_, query, selection in searched:
            question.count += 1
            found = frozenset(() if selection.fell_open else selection.names)
            name = f"{question.id}-{question.count}"
            at = question.rounds + round_
            is_whole = _words(query) == message
            question.searches.append(Search(query, found, selection.catalog, name, at, is_whole))
        del question.searches[:-MAX_SEARCHES]

    def _credit(self, question: Question, turn: Turn) -> list[Observation]:
        """Credit the calls of a turn to the searches that wanted their tools."""
        names = turn.chosen
        question.called.update(names)
        lessons = []
        for name in names:
            finders = [one.round for one in question.searches if name in one.found]
            latest = max(finders, default=inf)
            for one in question.searches:
                is_missed = one.round < latest and not one.found & question.called
                if not (name in one.found or is_missed or one.is_whole):
                    continue
                if name not in one.wanted:
                    one.wanted.add(name)
                    lessons.append(Observation(one.pattern, name, one.turn, True, one.catalog))
        return lessons


def _words(text: str) -> list[str]:
    return text.casefold().split()
