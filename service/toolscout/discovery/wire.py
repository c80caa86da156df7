"""JSON and events of providers, read as leniently as the SDKs read them.

What an SDK can read has to be read here too: else a call of the search tool would reach a caller
that has no such tool.
"""

import json
import logging
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

import msgspec

UNREADABLE = (ValueError, RecursionError)
"""What decoding raises for bytes that are no JSON."""

logger = logging.getLogger("toolscout.client")


class Event(Protocol):
    """One event of a stream of any provider."""

    @property
    def raw(self) -> bytes:
        """Its bytes as they came."""


E = TypeVar("E", bound=Event)


def decode(content: bytes | str) -> Any:
    r"""Decode JSON, with lone surrogates (`"\ud83d"`) too, which msgspec refuses.

    Raises:
        ValueError: it is no JSON, or no UTF-8.
        RecursionError: it is nested too deeply.
    """
    try:
        return msgspec.json.decode(content)
    except ValueError:
        return json.loads(content)


def encode(value: Any) -> bytes:
    """Encode as JSON; with lone surrogates, in ASCII alone."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def handled(events: Iterable[E], handle: Callable[[E], bytes]) -> bytes:
    """Return what a stream makes of events; one of an unknown form passes as it came."""
    out = b""
    for event in events:
        try:
            out += handle(event)
        except Exception:
            logger.exception("an event of the model could not be read and is passed on as it came")
            out += event.raw
    return out
