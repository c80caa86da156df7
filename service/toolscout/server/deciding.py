"""The questions of requests that wait at the same moment, decided together.

Between two decisions the reading of a request and the writing of its answer drive the ranking out
of the processor's caches: one by one, decisions take half as long again as in a row.
"""

import asyncio
from collections.abc import Callable, Sequence
from time import perf_counter

from toolscout.engine import Engine
from toolscout.ranking.ask import Decision, Question
from toolscout.ranking.ladder import Costs, find_bucket
from toolscout.server.compiling.work_threads import run_in_thread
from toolscout.serving.connections import ServedConnections

MAX_TOGETHER = 16
"""Maximum number of questions that are decided before the first of them is answered."""

MAX_INLINE_TOOLS = 20_000
"""Maximum number of tools that are ranked on the event loop (some 2 ms); more are in a thread."""

TimedDecision = tuple[Decision, float]
"""A decision and its seconds; of several made together, the share that each usually takes."""

ReadQuestion = Callable[[], Question]
"""Returns a question when its turn has come, for what it may cost depends on the time left."""

Waiting = tuple[ReadQuestion, asyncio.Future[TimedDecision]]


class Together:
    """Decides what is asked within one turn of the event loop."""

    def __init__(self, engine: Engine, connections: ServedConnections, costs: Costs) -> None:
        self._engine = engine
        self._connections = connections
        self._costs = costs
        self._waiting: list[Waiting] = []

    async def decide(self, tools: int, read_question: ReadQuestion) -> TimedDecision:
        """Decide a question about a number of tools, together with the questions that wait.

        Raises:
            TooMuchWork: as for `run_in_thread`.
        """
        if tools > MAX_INLINE_TOOLS:
            return await run_in_thread(self._decide_alone, read_question())
        if len(self._connections.answering) <= 1:
            return self._decide_alone(read_question())
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._decide_waiting)
        result: asyncio.Future[TimedDecision] = loop.create_future()
        self._waiting.append((read_question, result))
        return await result

    def _decide_waiting(self) -> None:
        """Decide the first that wait; the others follow when these are answered."""
        first = self._waiting[:MAX_TOGETHER]
        self._waiting = self._waiting[MAX_TOGETHER:]
        if waited_for := [waiting for waiting in first if not waiting[1].done()]:
            self._settle(waited_for)
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._decide_waiting)

    def _settle(self, waiting: list[Waiting]) -> None:
        """Give each its decision; one that fails fails alone."""
        try:
            decisions = self._decide([read_question() for read_question, _ in waiting])
        except Exception as error:  # whatever it is, its request is told
            if len(waiting) == 1:
                waiting[0][1].set_exception(error)
            else:
                for single in waiting:
                    self._settle([single])
            return
        for (_, result), decision in zip(waiting, decisions, strict=True):
            result.set_result(decision)

    def _decide_alone(self, question: Question) -> TimedDecision:
        began = perf_counter()
        catalog, ask, options = question
        decision = self._engine.decide(catalog, ask, **options)
        spent = perf_counter() - began
        self._costs.learn(_name_cost(question, decision), spent * 1_000)
        return decision, spent

    def _decide(self, questions: Sequence[Question]) -> list[TimedDecision]:
        if len(questions) == 1:
            return [self._decide_alone(questions[0])]
        began = perf_counter()
        decisions = self._engine.decide_together(questions)
        spent_ms = (perf_counter() - began) * 1_000
        rankers = [*map(_name_cost, questions, decisions)]
        usual = [*map(self._costs.expected, rankers)]
        scale = spent_ms / sum(usual)
        shares = [scale * each for each in usual]
        for ranker, share in zip(rankers, shares, strict=True):
            self._costs.learn(ranker, share)
        return [(each, share / 1_000) for each, share in zip(decisions, shares, strict=True)]


def _name_cost(question: Question, decision: Decision) -> str:
    """Return the name by which `Costs` knows what a decision took."""
    catalog, ask, _ = question
    return f"{decision.degraded or ask.ranker}:{find_bucket(len(catalog))}"
