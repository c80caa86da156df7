"""How much is measured, and what all rows share."""

import asyncio
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from time import perf_counter

from evals.speed import client, questions, servers, traffic
from evals.speed.client import Timings
from evals.speed.questions import Questions
from evals.speed.report import Row
from evals.speed.traffic import Anew

BUSY = 16
"""Connections of the throughput rows."""

CROWDS = (64, 256)
"""Callers who connect simultaneously, as a proxy's pool does after a restart."""

Asked = tuple[servers.Running, Sequence[bytes]]
"""A service, and the requests that it gets."""


@dataclass(frozen=True)
class Plan:
    """How much to measure."""

    folder: Path
    repeats: int
    quick: bool
    against: str | None = None
    """Another commit, which is asked the same."""
    seeds: list[int] = field(default_factory=list)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Catalog sizes."""
        return traffic.SIZES[:3] if self.quick else traffic.SIZES

    @cached_property
    def sentences(self) -> list[str]:
        """What questions are made of."""
        found, whose = questions.sentences(self.folder.parent)
        sys.stderr.write(f"questions from {whose}\n")
        return found

    @property
    def connections(self) -> tuple[int, ...]:
        """Connections at once."""
        return (1, 4) if self.quick else (1, 4, BUSY, 64)

    def never_asked(self, payloads: Sequence[bytes], words: int = 15) -> Anew:
        """Return requests with a question in place of `MARK` that was never asked before."""
        self.seeds.append(words)
        return Anew(payloads, Questions(self.sentences, words, len(self.seeds)))

    def calls(self, size: int) -> int:
        """Return the calls per repeat, fewer for larger bodies."""
        return max(20, (30_000 if self.quick else 120_000) // max(size, 60))


def timed(
    ours: servers.Running, payloads: Sequence[bytes], connections: int, calls: int
) -> Timings:
    """Send requests as `client.run` does, and read the service's processor time."""
    began = ours.cpu_s()
    timings = client.run(ours.port, payloads, connections, calls)
    timings.cpu_s = ours.cpu_s() - began
    return timings


def in_turn(
    plan: Plan, asked: Sequence[Asked], connections: int, calls: int
) -> list[list[Timings]]:
    """Send each service its requests, one service after the other, and all of it again."""
    rounds = [[timed(*each, connections, calls) for each in asked] for _ in range(plan.repeats)]
    return [list(runs) for runs in zip(*rounds, strict=True)]


def beside(
    ours: servers.Running,
    payloads: Sequence[bytes],
    others: Sequence[bytes],
    calls: int,
    clock: Callable[[], float] = perf_counter,
) -> Timings:
    """Send requests one after the other while `calls` of others are answered."""

    async def both() -> Timings:
        answering = asyncio.create_task(client.arun(ours.port, others, 1, calls))
        timings = Timings()
        while not answering.done():
            part = await client.arun(ours.port, payloads, 1, 10, clock)
            timings.latencies += part.latencies
            timings.wall += part.wall
        await answering
        return timings

    return asyncio.run(both())


def alone(ours: servers.Running, payloads: Sequence[bytes]) -> Timings:
    """One call while nothing else goes on."""
    settle(ours)
    return client.run(ours.port, payloads, 1, 1)


def learn(ours: servers.Running, tools: str, size: int) -> str:
    """Make sure a catalog is known, and that a report about it has come; return its digest.

    Whoever uses the client reports, so nothing is measured of a service that has learned nothing.
    """
    digest = client.call(ours.port, traffic.patient(tools, "warm up"))[1]["x-catalog-digest"]
    tool = json.loads(tools)[0]["name"]
    event = {"pattern": "warm up", "tool": tool, "success": True, "catalog": digest}
    client.call(ours.port, client.request(traffic.FEEDBACK, json.dumps(event).encode()))
    client.run(ours.port, traffic.inline(tools, traffic.PROSE[:20]), 1, 20 if size < 3_000 else 3)
    return digest


def row(what: str, runs: Sequence[Timings], note: str = "") -> Row:
    """Medians over repeats."""

    def over(pick: Callable[[Timings], float]) -> float:
        return median(pick(run) for run in runs)

    return Row(
        what,
        over(lambda run: run.quantile(0.5)),
        over(lambda run: run.quantile(0.95)),
        over(lambda run: run.quantile(0.99)),
        over(lambda run: run.rate),
        over(lambda run: run.cpu_ms) if all(run.cpu_s for run in runs) else None,
        note,
    )


def settle(ours: servers.Running) -> None:
    """Wait until nothing is compiled any more, so that no row pays for another."""
    while servers.metric(ours, "toolscout_compiles_in_progress"):
        time.sleep(0.05)


def pooled(what: str, runs: Sequence[Timings], note: str = "") -> Row:
    """Quantiles over all calls of runs of one call each."""
    calls = pool(runs)
    return Row(what, calls.quantile(0.5), calls.quantile(0.95), note=note)


def pool(runs: Sequence[Timings]) -> Timings:
    """All calls of some runs as one."""
    return Timings([latency for run in runs for latency in run.latencies])
