"""What turns teach: which tools a search wanted, and whether their calls worked.

    search → call of a tool that it wanted → lesson waits → result of the call → observation

A turn ends with calls, and only the caller's next request has their results. A lesson whose result
never comes teaches nothing.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Any

import msgspec

from toolscout.client.call import make_sendable
from toolscout.common.lru import Lru
from toolscout.turns.providers.results import read_results
from toolscout.turns.state import SearchMade, TurnState

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


class ToolObservation(msgspec.Struct, frozen=True, omit_defaults=True):
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


class PastSearch(msgspec.Struct):
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


class HeldQuestion(msgspec.Struct):
    """What happened since the user's last message."""

    id: str
    searches: list[PastSearch] = msgspec.field(default_factory=list)
    called: set[str] = msgspec.field(default_factory=set)
    rounds: int = 0
    count: int = 0
    """Number of searches so far."""


class Lesson(msgspec.Struct, frozen=True):
    """What the calls of one tool in one response teach once their results are known."""

    tool: str
    calls: frozenset[str]
    """Their ids; empty where the model gives none."""
    observations: tuple[ToolObservation, ...]


class Lessons:
    """Makes observations of turns; remembers the question that a session is at. Thread-safe.

    Args:
        sends: whether the service is told of a tool, by its name and its definition.
    """

    def __init__(self, sends: Callable[[str, Any], bool]) -> None:
        self._sends = sends
        self._questions: Lru[str, HeldQuestion] = Lru(MAX_QUESTIONS)
        self._held: Lru[str, list[Lesson]] = Lru(MAX_HELD_BYTES)
        self._lock = threading.Lock()

    def observations(self, turn: TurnState) -> list[ToolObservation]:
        """Return what the results in a request teach, each once, and hold what its turn may."""
        with self._lock:
            learned = self._learn(turn)
            question = self._find_question(turn)
            if question is not None:
                self._follow(question, turn)
        return learned

    def _follow(self, question: HeldQuestion, turn: TurnState) -> None:
        """Add the searches of a turn to its question, and hold what its calls may teach."""
        late = turn.rounds if turn.was_mixed else inf
        before = [made for made in turn.searched if made.round < late]
        beside = [made for made in turn.searched if made.round >= late]
        self._add_searches(question, turn, before)
        held = self._held.get(turn.session) or []
        credited = self._credit(question, turn)
        self._keep(turn.session, [*held, *credited])
        # Calls beside a search were made before its result.
        self._add_searches(question, turn, beside)
        question.rounds += turn.rounds

    def _learn(self, turn: TurnState) -> list[ToolObservation]:
        """Return the lessons of a session whose results a request has brought."""
        held = self._held.pop(turn.session) or []
        if not held:
            return []
        messages = turn.provider.turns(turn.asked)
        results = read_results(messages)
        learned: list[ToolObservation] = []
        left: list[Lesson] = []
        for lesson in held:
            failed = [results[call] for call in lesson.calls if call in results]
            if not failed and lesson.tool in results:
                failed = [results[lesson.tool]]
            if failed:
                is_success = not all(failed)
                learned += self._judge(turn.session, lesson, is_success=is_success)
            elif lesson.calls:  # by its name alone a later call would answer for it
                left.append(lesson)
        self._keep(turn.session, left)
        return learned

    def _judge(self, session: str, lesson: Lesson, *, is_success: bool) -> list[ToolObservation]:
        question = self._questions.get(session)
        if question is not None and not is_success:  # the next call of the tool may work
            for search in question.searches:
                search.wanted.discard(lesson.tool)
        replace = msgspec.structs.replace
        return [replace(seen, success=is_success) for seen in lesson.observations]

    def _keep(self, session: str, lessons: list[Lesson]) -> None:
        """Keep lessons until their results come; where no session is known, none can."""
        kept = lessons[-MAX_HELD:]
        seen = [observation for lesson in kept for observation in lesson.observations]
        if session and seen:
            size = sum(OBSERVATION_BYTES + len(observation.pattern) for observation in seen)
            self._held.put(session, kept, size)

    def _find_question(self, turn: TurnState) -> HeldQuestion | None:
        """Return the question of a turn; None if nothing was searched for it."""
        question = None
        if turn.session and not turn.provider.is_ending_with_user(turn.asked):
            question = self._questions.get(turn.session)
        if question is None and turn.searched:
            question = HeldQuestion(os.urandom(8).hex())
        if question is not None and turn.session:
            self._questions.put(turn.session, question)
        return question

    def _add_searches(
        self, question: HeldQuestion, turn: TurnState, searched: Iterable[SearchMade]
    ) -> None:
        message = _split_words(turn.user_query)
        for made in searched:
            question.count += 1
            selection = made.selection
            found = () if selection.fell_open else selection.names
            search = PastSearch(
                pattern=make_sendable(made.query),
                found=frozenset(found),
                catalog=selection.catalog,
                turn=f"{question.id}-{question.count}",
                round=question.rounds + made.round,
                is_whole=_split_words(made.query) == message,
            )
            question.searches.append(search)
        del question.searches[:-MAX_SEARCHES]

    def _credit(self, question: HeldQuestion, turn: TurnState) -> list[Lesson]:
        """Credit the calls of a turn to the searches that wanted their tools."""
        chosen = _find_chosen(turn)
        question.called.update(chosen)
        lessons = []
        for name, calls in chosen.items():
            observations = []
            for search in _find_wanting(question, name):
                search.wanted.add(name)
                seen = ToolObservation(
                    pattern=search.pattern,
                    tool=name,
                    turn=search.turn,
                    success=True,
                    catalog=search.catalog,
                    session=turn.session,
                )
                observations.append(seen)
            tool = turn.offer.by_name[name]
            if observations and self._sends(name, tool):
                lesson = Lesson(name, calls, tuple(observations))
                lessons.append(lesson)
        return lessons


def _find_wanting(question: HeldQuestion, name: str) -> Iterator[PastSearch]:
    """Yield the searches that wanted a tool which is called now, and are not credited with it."""
    finders = [search.round for search in question.searches if name in search.found]
    latest = max(finders, default=inf)
    for search in question.searches:
        is_missed = search.round < latest and not search.found & question.called
        has_wanted = name in search.found or is_missed or search.is_whole
        if has_wanted and name not in search.wanted and search.pattern.strip():
            yield search


def _find_chosen(turn: TurnState) -> dict[str, frozenset[str]]:
    """Return the tools that the last response calls because the model chose them, and the calls.

    What the request forces or lists was chosen by the caller, and what ends a run fits any.
    """
    choice = turn.choice
    offer = turn.offer
    if choice.names or (choice.must_call and len(offer.names) == 1):
        return {}
    others = offer.by_name.keys() - offer.endings(choice.must_call)
    chosen: dict[str, set[str]] = {}
    for call in turn.calls:
        if call.name in others:
            ids = chosen.setdefault(call.name, set())
            if call.has_own_id:
                ids.add(call.id)
    return {name: frozenset(ids) for name, ids in chosen.items()}


def _split_words(text: str) -> list[str]:
    return text.casefold().split()
