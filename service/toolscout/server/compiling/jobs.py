"""A compile on its way, and waiting for as much of it as a question needs."""

import asyncio
from time import perf_counter

from toolscout.errors import Overloaded, TooLargeToKeep
from toolscout.index.catalog import Catalog
from toolscout.server.compiling import worker


class CompileJob:
    """A compile on its way; each future is set as soon as its stage is done.

    Where too much waits to be compiled, only the tools are read, and the later stages fail with
    `Overloaded`.
    """

    def __init__(self, sent: worker.SentList, workers_lost: int) -> None:
        loop = asyncio.get_running_loop()
        self.sent = sent
        self.workers_lost = workers_lost
        """Workers that had ended before."""
        self.task: asyncio.Task[None] | None = None
        self.listing: asyncio.Future[worker.CompiledList] = loop.create_future()
        self.lexical: asyncio.Future[Catalog] = loop.create_future()
        """The catalog as far as its words go."""
        self.complete: asyncio.Future[Catalog] = loop.create_future()
        self.is_hurried = False
        self.was_awaited = False
        """Whether a search that the former tools could answer has waited for these."""

    def fail(self, error: Exception) -> None:
        """Fail all stages that are not done."""
        for stage in (self.listing, self.lexical, self.complete):
            if not stage.done():
                stage.set_exception(error)
                stage.exception()  # where nobody waits any more, it is no unhandled error


def find_stage(job: CompileJob, ranker: str) -> "asyncio.Future[Catalog]":
    """Return the first stage of a compile that has all that a ranker needs."""
    return job.lexical if ranker in ("bm25", "regex") else job.complete


async def wait_for_best(
    job: CompileJob, stage: "asyncio.Future[Catalog]", deadline: float
) -> Catalog | None:
    """Wait for a stage until a time of `perf_counter`; return it, else the words if they are done.

    Raises:
        Exception: that of the stage, unless it is not queued or cannot be kept.
    """
    await asyncio.wait([stage], timeout=max(deadline - perf_counter(), 0.0))
    return get_finished(stage) or get_finished(job.lexical)


def get_finished(stage: "asyncio.Future[Catalog]") -> Catalog | None:
    """Return the result of a stage; None if it is not done, not queued, or cannot be kept."""
    if not stage.done() or isinstance(stage.exception(), Overloaded | TooLargeToKeep):
        return None
    return stage.result()
