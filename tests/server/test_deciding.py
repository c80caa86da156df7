"""Questions that wait at the same moment are decided together, each as if it were alone."""

import asyncio
import json
import socket
from collections.abc import Sequence
from functools import partial

import pytest
from msgspec.structs import replace

from tests.support import (
    ENGINE,
    PATIENCE_S,
    TOOLS,
    Process,
    compiled,
    crowd,
    raw_request,
    read_response,
)
from toolscout import Engine
from toolscout.ranking.ask import Ask, Decision, Question
from toolscout.ranking.ladder import Costs, find_bucket
from toolscout.server.deciding import MAX_TOGETHER, TimedDecision, Together
from toolscout.server.observe.log import LineWriter
from toolscout.serving.connections import ServedConnections
from toolscout.settings import Settings

CATALOG = compiled(TOOLS)
PATTERNS = [
    "read a file",
    "send a message to a customer",
    "weather in Oslo tomorrow",
    "read|send",
    "zxqv wvut",
    "Dateien lesen",
    "list the files, then send an email",
]


class Counting(Engine):
    """Notes how many questions it is asked together."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []

    def decide_together(self, questions: Sequence[Question]) -> list[Decision]:
        """Count, then decide."""
        self.asked.append(len(questions))
        return super().decide_together(questions)


def together(engine: Engine, answering: int, costs: Costs | None = None) -> Together:
    """Return a `Together` whose process is answering a number of requests."""
    connections = ServedConnections(Settings(), lambda *_: b"", LineWriter(1))
    connections.answering = range(answering)
    return Together(engine, connections, costs or Costs())


def decided(
    engine: Engine,
    questions: Sequence[Question],
    answering: int = 2,
    costs: Costs | None = None,
) -> list[TimedDecision | BaseException]:
    async def ask() -> list[TimedDecision | BaseException]:
        deciding = together(engine, answering, costs)
        calls = [deciding.decide(len(each[0]), partial(_same, each)) for each in questions]
        return await asyncio.gather(*calls, return_exceptions=True)

    return asyncio.run(ask())


def _same(question: Question) -> Question:
    return question


def names(decision: TimedDecision | BaseException) -> list[str]:
    assert isinstance(decision, tuple), decision
    return decision[0].names


def question(pattern: str) -> Question:
    return CATALOG, Ask(pattern=pattern), {}


def test_each_gets_the_decision_that_it_would_get_alone():
    alone = [ENGINE.decide(CATALOG, Ask(pattern=pattern)).names for pattern in PATTERNS]
    got = decided(ENGINE, [question(pattern) for pattern in PATTERNS])
    assert [names(decision) for decision in got] == alone


@pytest.mark.parametrize(
    ("count", "answering", "calls"),
    [
        (5, 5, [5]),
        (MAX_TOGETHER + 3, 99, [MAX_TOGETHER, 3]),
        (2, 1, [1, 1]),
    ],
)
def test_they_are_decided_at_once_up_to_a_number(count: int, answering: int, calls: list[int]):
    engine = Counting()
    decided(engine, [question(f"read file {number}") for number in range(count)], answering)
    assert engine.asked == calls


def test_the_first_are_answered_before_the_others_are_decided():
    engine, answered_before = Counting(), list[int]()

    async def ask() -> None:
        deciding = together(engine, 99)

        async def caller(number: int) -> None:
            await deciding.decide(len(CATALOG), lambda: question(f"read file {number}"))
            answered_before.append(len(engine.asked))

        await asyncio.gather(*map(caller, range(2 * MAX_TOGETHER)))

    asyncio.run(ask())
    assert answered_before == [1] * MAX_TOGETHER + [2] * MAX_TOGETHER


def test_a_question_is_read_when_its_turn_has_come():
    engine, decided_before = Counting(), list[int]()

    def read_question(number: int) -> Question:
        decided_before.append(len(engine.asked))
        return question(f"read file {number}")

    async def ask() -> None:
        deciding = together(engine, 99)
        reading = [partial(read_question, number) for number in range(2 * MAX_TOGETHER)]
        await asyncio.gather(*(deciding.decide(len(CATALOG), each) for each in reading))

    asyncio.run(ask())
    assert decided_before == [0] * MAX_TOGETHER + [1] * MAX_TOGETHER


def test_each_takes_the_share_of_the_time_that_its_kind_usually_takes():
    costs, large = Costs(), compiled(crowd(40))
    costs.learn(f"auto:{find_bucket(len(large))}", 0.7)
    names_of_costs = [f"auto:{find_bucket(len(catalog))}" for catalog in (CATALOG, large)]
    before = [costs.expected(name) for name in names_of_costs]
    questions: list[Question] = [
        (catalog, Ask(pattern="find a file"), {}) for catalog in (CATALOG, large)
    ]
    small, other = decided(ENGINE, questions, costs=costs)
    assert isinstance(small, tuple)
    assert isinstance(other, tuple)
    assert other[1] / small[1] == pytest.approx(before[1] / before[0])


def test_one_that_fails_fails_alone():
    broken = replace(CATALOG, postings=None)
    got = decided(
        ENGINE, [question("read a file"), (broken, Ask(pattern="read"), {}), question("send")]
    )
    assert isinstance(got[1], AttributeError)
    assert names(got[0]) == ENGINE.decide(CATALOG, Ask(pattern="read a file")).names
    assert names(got[2]) == ENGINE.decide(CATALOG, Ask(pattern="send")).names


def test_one_that_nobody_waits_for_is_not_decided():
    engine = Counting()

    async def ask() -> None:
        deciding = together(engine, 3)

        def begun() -> "asyncio.Task[TimedDecision]":
            return asyncio.create_task(deciding.decide(len(CATALOG), lambda: question("read")))

        calls = [begun() for _ in range(3)]
        await asyncio.sleep(0)
        calls[1].cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        alone = begun()
        await asyncio.sleep(0)
        alone.cancel()
        await asyncio.gather(alone, return_exceptions=True)

    asyncio.run(ask())
    assert engine.asked == [2]


def test_callers_at_the_same_moment_get_their_own_answers(server: Process):
    patterns = [f"{pattern} {number}" for number in range(4) for pattern in PATTERNS]
    connections = [
        socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) for _ in patterns
    ]
    for connection, pattern in zip(connections, patterns, strict=True):
        body = json.dumps({"pattern": pattern, "tools": TOOLS}).encode()
        connection.sendall(raw_request(body))
    for connection, pattern in zip(connections, patterns, strict=True):
        status, _, body = read_response(connection)
        connection.close()
        assert status == 200
        expected = ENGINE.decide(CATALOG, Ask(pattern=pattern)).names
        assert json.loads(body)["selected_names"] == expected
