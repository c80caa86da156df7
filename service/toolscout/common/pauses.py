"""What long work calls after each of its small pieces: it may end it by what it raises."""

from collections.abc import Callable

Pause = Callable[[], None]


def at_once() -> None:
    """Go on."""
