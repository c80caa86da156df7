"""Fixtures: makers of selectors, blocking and asynchronous."""

import functools
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import pytest

from tests.client.both import Awaited, Blocking, Either
from tests.support import PATIENCE_S
from toolscout.client.settings import DEFAULT_TIMEOUT_S, SelectorBase


@pytest.fixture(autouse=True, scope="session")
def patient() -> Iterator[None]:
    """Give calls as long as a busy machine may need, but for those whose time is to end."""
    settle = SelectorBase.__init__

    @functools.wraps(settle)
    def init(self: SelectorBase, *args: Any, **options: Any) -> None:
        settle(self, *args, **options)
        if self.timeout >= DEFAULT_TIMEOUT_S:
            self.timeout = max(self.timeout, PATIENCE_S)

    with patch.object(SelectorBase, "__init__", init):
        yield


Make = Callable[..., Either]


@pytest.fixture(params=[Blocking, Awaited], ids=["sync", "async"])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Yield a function that makes selectors of one kind, which are closed at the end."""
    made: list[Either] = []

    def maker(*args: Any, **options: Any) -> Either:
        made.append(request.param(*args, **options))
        return made[-1]

    yield maker
    for selector in made:
        selector.close()
