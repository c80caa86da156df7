"""Checks of arguments of public functions, which say in a sentence what was expected."""

from collections.abc import Iterable
from operator import index
from types import UnionType
from typing import Any

from toolscout.errors import InvalidRequest

Kind = type | UnionType


def check_type(argument: str, value: object, kind: Kind, expected: str) -> None:
    """Refuse an argument of another type.

    Raises:
        InvalidRequest: it has one; the message says what was expected, and what came.
    """
    if not isinstance(value, kind):
        raise InvalidRequest(f"{argument}: expected {expected}, got {type(value).__name__}")


def read_names(argument: str, names: Any) -> tuple[str, ...]:
    """Return a list of names as a tuple.

    Raises:
        InvalidRequest: it is a text or no list, or something in it is no text.
    """
    if isinstance(names, str | bytes):  # each of their characters would be taken for a name
        raise InvalidRequest(f"{argument}: expected a list of names, got {type(names).__name__}")
    check_type(argument, names, Iterable, "a list of names")
    listed = tuple(names)
    for number, name in enumerate(listed):
        check_type(f"{argument}[{number}]", name, str, "a text")
    return listed


def read_number(argument: str, value: Any) -> int:
    """Return a whole number of any kind, also numpy's.

    Raises:
        InvalidRequest: it is not a whole number.
    """
    try:
        return index(value)
    except TypeError:
        raise InvalidRequest(f"{argument} must be a whole number, got {value!r}") from None
