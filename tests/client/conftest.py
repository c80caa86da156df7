"""Fixtures: a maker of selectors, once blocking and once asynchronous."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.client.both import Awaited, Blocking, Either

Make = Callable[..., Either]


@pytest.fixture(params=[Blocking, Awaited], ids=["sync", "async"])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Makes selectors of one kind and closes them at the end."""
    made: list[Either] = []

    def maker(*args: Any, **options: Any) -> Either:
        made.append(request.param(*args, **options))
        return made[-1]

    yield maker
    for selector in made:
        selector.close()
