"""Work that takes long for many tools, kept off the event loop."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def beside(
    size: int, at_once: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """What `work` returns, done in a thread where `size` is more than `at_once`.

    For few tools the way into a thread and back would cost more than the work.
    """
    if size <= at_once:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)
