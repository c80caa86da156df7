"""What turns teach: which tools a search wanted, and whether their calls worked.

    search → call of a tool that it wanted → lesson waits → result of the call → observation

A turn ends with calls, and only the caller's next request has their results. A lesson whose result
never comes teaches nothing.
"""

import os
import threading
from collections.abc import Callable, Iterable
from math import inf
from typing import Any

import msgspec

from toolscout.client.call import make_sendable
from toolscout.client.selection import Selection
from toolscout.common.lru import Lru
from toolscout.discovery.providers.results import results_of
from toolscout.discovery.turn import Turn

MAX_QUESTIONS = 10_000
"""Sessions whose latest question is remembered."""

MAX_SEARCHES = 16
"""Latest searches of one question that are remembered."""

MAX_HELD_BYTES = 16 * 1024 * 1024
"""Maximum bytes in memory of the lessons that wait for a result, about."""

MAX_HELD = 64
"""Latest lessons of one session that wait."""

OBSERVATION_BYTES = 500
"""Bytes that one observation takes beside its pattern, about."""

Searched = tuple[int, str, Selection[Any]]
"""The round of a search (0 before the first forward), its query and its result."""


class Observation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One event of the service's feedback."""

    pattern: str
    tool: str
    turn: str
    """Unique to the search, so that a report that is sent twice counts once."""
    success: bool
    catalog: str = ""
    """Digest of the tools that were searched; empty when unknown."""
    session: str = ""
    """The conversation, by which reports may be deleted; empty when unknown."""


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


class Lesson(msgspec.Struct, frozen=True):
    """What the calls of one tool in one response teach once their results are known."""

    tool: str
    calls: frozenset[str]
    """Their ids; empty where the model gives none."""
    observations: tuple[Observation, ...]


class Lessons:
    """Makes observations of turns; remembers the question that a session is at. Thread-safe.

    Args:
        sends: whether the service is told of a tool, by its name and its definition.
    """

    def __init__(self, sends: Callable[[str, Any], bool]) -> None:
        self._sends = sends
        self._questions: Lru[str, Question] = Lru(MAX_QUESTIONS)
        self._held: Lru[str, list[Lesson]] = Lru(MAX_HELD_BYTES)
        self._lock = threading.Lock()

    def observations(self, turn: Turn) -> list[Observation]:
        """Return what the results in a request teach, each once, and hold what its turn may."""
        with self._lock:
            learned = self._learned(turn)
            question = self._question(turn)
            if question is not None:
                late = turn.rounds if turn.was_mixed else inf
                early = [one for one in turn.searched if one[0] < late]
                self._ask(question, turn, early)
                held = self._held.get(turn.session) or ()
                self._keep(turn.session, [*held, *self._credit(question, turn)])
                # Calls beside a search were made before its result.
                self._ask(question, turn, [one for one in turn.searched if one[0] >= late])
                question.rounds += turn.rounds
        return learned

    def _learned(self, turn: Turn) -> list[Observation]:
        """Return the lessons of a session whose results a request has brought."""
        held = self._held.pop(turn.session) or []
        if not held:
            return []
        results = results_of(turn.provider.turns(turn.asked))
        learned: list[Observation] = []
        left: list[Lesson] = []
        for lesson in held:
            failed = [results[call] for call in lesson.calls if call in results]
            if not failed and lesson.tool in results:
                failed = [results[lesson.tool]]
            if failed:
                learned += self._judged(turn.session, lesson, is_success=not all(failed))
            elif lesson.calls:  # by its name alone a later call would answer for it
                left.append(lesson)
        self._keep(turn.session, left)
        return learned

    def _judged(self, session: str, lesson: Lesson, *, is_success: bool) -> list[Observation]:
        question = self._questions.get(session)
        if question is not None and not is_success:  # the next call of the tool may work
            for search in question.searches:
                search.wanted.discard(lesson.tool)
        return [msgspec.structs.replace(o, success=is_success) for o in lesson.observations]

    def _keep(self, session: str, lessons: list[Lesson]) -> None:
        """Keep lessons until their results come; where no session is known, none can."""
        kept = lessons[-MAX_HELD:]
        seen = [observation for lesson in kept for observation in lesson.observations]
        if session and seen:
            size = sum(OBSERVATION_BYTES + len(observation.pattern) for observation in seen)
            self._held.put(session, kept, size)

    def _question(self, turn: Turn) -> Question | None:
        """Return the question of a turn; None if nothing was searched for it."""
        goes_on = turn.session and not turn.provider.ends_with_user(turn.asked)
        question = self._questions.get(turn.session) if goes_on else None
        if question is None and turn.searched:
            question = Question(os.urandom(8).hex())
        if question is not None and turn.session:
            self._questions.put(turn.session, question)
        return question

    def _ask(self, question: Question, turn: Turn, searched: Iterable[Searched]) -> None:
        message = _words(turn.user_query)
        for round_, query, selection in searched:
            question.count += 1
            names = frozenset(() if selection.fell_open else selection.names)
            about = (
                make_sendable(query),
                names,
                selection.catalog,
                f"{question.id}-{question.count}",
            )
            search = Search(*about, question.rounds + round_, _words(query) == message)
            question.searches.append(search)
        del question.searches[:-MAX_SEARCHES]

    def _credit(self, question: Question, turn: Turn) -> list[Lesson]:
        """Credit the calls of a turn to the searches that wanted their tools."""
        chosen = _chosen(turn)
        question.called.update(chosen)
        lessons = []
        for name, calls in chosen.items():
            finders = [one.round for one in question.searches if name in one.found]
            latest = max(finders, default=inf)
            observations = []
            for one in question.searches:
                is_missed = one.round < latest and not one.found & question.called
                if not (name in one.found or is_missed or one.is_whole):
                    continue
                if name not in one.wanted and one.pattern.strip():
                    one.wanted.add(name)
                    about = (one.pattern, name, one.turn, True, one.catalog, turn.session)
                    observations.append(Observation(*about))
            if observations and self._sends(name, turn.offer.by_name[name]):
                lessons.append(Lesson(name, calls, tuple(observations)))
        return lessons


def _chosen(turn: Turn) -> dict[str, frozenset[str]]:
    """Return the tools that the last response calls because the model chose them, and the calls.

    What the request forces or lists was chosen by the caller, and what ends a run fits any.
    """
    choice = turn.choice
    offer = turn.offer
    if choice.names or (choice.must_call and len(offer.names) == 1):
        return {}
    others = offer.by_name.keys() - offer.endings(choice.must_call)
    called = dict.fromkeys(call.name for call in turn.calls if call.name in others)
    return {
        name: frozenset(call.id for call in turn.calls if call.name == name and call.has_own_id)
        for name in called
    }


def _words(text: str) -> list[str]:
    return text.casefold().split()
