"""Every fact about a selector holds for both twins: a fixture runs each test with each."""

import asyncio
from typing import Any

from toolscout.client import AsyncSelector, Selection, Selector


class Blocking:
    """The blocking selector, as it is."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.selector = Selector(*args, **options)

    def select(self, *args: Any, **options: Any) -> Selection:
        return self.selector.select(*args, **options)

    def close(self) -> None:
        self.selector.close()


class Awaited:
    """The asynchronous selector on an event loop of its own, called from outside."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.selector = AsyncSelector(*args, **options)
        self.loop = asyncio.new_event_loop()

    def select(self, *args: Any, **options: Any) -> Selection:
        return self.loop.run_until_complete(self.selector.select(*args, **options))

    def close(self) -> None:
        self.loop.run_until_complete(self.selector.aclose())
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()


Either = Blocking | Awaited
