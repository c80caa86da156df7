"""New questions of all lengths, asked of the service and of another commit of it in turn.

Throughput swings by two from run to run, so what counts is the processor time of the serving
process, as a share of the other commit's in the same round. Both get the same questions.
"""

import io
import json
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import count, cycle
from operator import attrgetter
from pathlib import Path
from statistics import median

from evals.speed import servers, traffic
from evals.speed.client import Timings
from evals.speed.plan import BUSY, Asked, Plan, in_turn, learn, row
from evals.speed.report import Row
from evals.speed.servers import Running
from evals.speed.traffic import Anew

TOOLS = 300

ASKED_BEFORE = 120
"""Questions that come in turn where all of them were asked before."""

BEFORE, NOW = "before", "now"


def measure(plan: Plan) -> Iterator[Row]:
    """Yield the floor, the other commit if one is named, and the service, at every concurrency."""
    tools = json.dumps(traffic.load(plan.folder, TOOLS))
    inline = traffic.inline(tools, [traffic.MARK])
    with ExitStack() as stack:
        floor = stack.enter_context(servers.floor())
        services = _start(plan, stack)
        digests = {name: learn(ours, tools, TOOLS) for name, ours in services.items()}
        for what, begin in (
            ("all lengths", partial(ask_once, plan.sentences)),
            ("asked before", partial(cycle, traffic.PROSE[:ASKED_BEFORE])),
        ):
            asked: dict[str, Asked] = {"floor": (floor, Anew(inline, begin()))}
            for name, ours in services.items():
                texts = begin()
                by_digest = traffic.by_digest(digests[name], [traffic.MARK])
                asked[f"inline, {name}"] = (ours, Anew(inline, texts))
                asked[f"by digest, {name}"] = (ours, Anew(by_digest, texts))
            yield from _in_turn(plan, asked, what)


def ask_once(sentences: Sequence[str]) -> Iterator[str]:
    """Yield sentences as they were written, each once; after the last one, each with a number."""
    yield from sentences
    for number in count(2):
        yield from (f"{sentence} {number}" for sentence in sentences)


def unpack(commit: str, folder: Path) -> None:
    """Put the service's code of a commit into a folder, as it lies in the repository.

    Raises:
        subprocess.CalledProcessError: there is no such commit.
    """
    command = ["git", "archive", "--format=zip", commit, "service"]
    packed = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(folder)


def _start(plan: Plan, stack: ExitStack) -> dict[str, Running]:
    """Start the service, and the other commit's before it."""
    services = {}
    if plan.against:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        unpack(plan.against, folder)
        services[BEFORE] = stack.enter_context(servers.toolscout(source=folder / "service"))
    services[NOW] = stack.enter_context(servers.toolscout())
    return services


def _in_turn(plan: Plan, asked: dict[str, Asked], what: str) -> Iterator[Row]:
    """Yield a row for each way of asking, at up to 16 connections."""
    rate = attrgetter("rate")
    cpu_ms = attrgetter("cpu_ms")
    for connections in (1, 4, BUSY):
        found = in_turn(plan, list(asked.values()), connections, plan.calls(TOOLS))
        runs = dict(zip(asked, found, strict=True))
        for name, own in runs.items():
            before = runs.get(name.replace(NOW, BEFORE), own)
            notes = [f"{_compare(own, runs['floor'], rate):.2f} of the floor's requests"]
            if before is not own:
                notes += [f"× {_compare(own, before, cpu_ms):.2f} of the processor time before"]
            yield row(f"{name}, 300, {what}, {connections} at once", own, "; ".join(notes))


def _compare(
    runs: Sequence[Timings], others: Sequence[Timings], pick: Callable[[Timings], float]
) -> float:
    """Return the median of what a figure is, as a share of another's of the same round."""
    return median(pick(run) / pick(other) for run, other in zip(runs, others, strict=True))
