"""The questions of requests that wait at the same moment, decided together.

Between two decisions the reading of a request and the writing of its answer drive the ranking out
of the processor's caches: one by one, decisions take half as long again as in a row.
"""

import asyncio
from time import perf_counter

from toolscout.engine import Engine
from toolscout.ranking.ask import Decision, Question
from toolscout.server.compiling.work_threads import run_in_thread
from toolscout.serving.connections import Connections

AT_ONCE = 16
"""Maximum number of questions that are decided before the first of them is answered."""

RANKED_AT_ONCE = 20_000
"""Maximum number of tools that are ranked on the event loop (some 2 ms); more are in a thread."""

Decided = tuple[Decision, float]
"""A decision, and its share of the seconds that it took."""


class Together:
    """Decides what is asked within one turn of the event loop."""

    def __init__(self, engine: Engine, connections: Connections) -> None:
        self._engine = engine
        self._connections = connections
        self._waiting: list[tuple[Question, asyncio.Future[Decided]]] = []

    async def decide(self, question: Question) -> Decided:
        """Decide a question with those of other requests, if there are any.

        Raises:
            TooMuchWork: as for `run_in_thread`.
        """
        began = perf_counter()
        if len(question[0]) > RANKED_AT_ONCE:
            (decision,) = await run_in_thread(self._engine.decide_together, [question])
            return decision, perf_counter() - began
        if len(self._connections.answering) <= 1:
            (decision,) = self._engine.decide_together([question])
            return decision, perf_counter() - began
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._decide_waiting)
        answered: asyncio.Future[Decided] = loop.create_future()
        self._waiting.append((question, answered))
        return await answered

    def _decide_waiting(self) -> None:
        asked, self._waiting = self._waiting[:AT_ONCE], self._waiting[AT_ONCE:]
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._decide_waiting)
        self._decide([one for one in asked if not one[1].done()])

    def _decide(self, asked: list[tuple[Question, "asyncio.Future[Decided]"]]) -> None:
        """Decide questions; one that fails fails alone."""
        began = perf_counter()
        try:
            decisions = self._engine.decide_together([question for question, _ in asked])
        except Exception as error:  # whatever it is, its request is told
            if len(asked) == 1:
                asked[0][1].set_exception(error)
            else:
                for one in asked:
                    self._decide([one])
            return
        for (_, answered), decision in zip(asked, decisions, strict=True):
            answered.set_result((decision, (perf_counter() - began) / len(asked)))
