"""Where long work may pause: it calls a function after each of its small pieces."""

from collections.abc import Callable

Breathe = Callable[[], None]


def at_once() -> None:
    """Do not pause."""
