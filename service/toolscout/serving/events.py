"""Events that servers log: in the service's own log, or through `logging`."""

import logging
from typing import Protocol


class Events(Protocol):
    """A log of named events with fields."""

    def info(self, event: str, **fields: object) -> None:
        """Log something that was done."""

    def warning(self, event: str, **fields: object) -> None:
        """Log something that an operator may want to change."""

    def error(self, event: str, **fields: object) -> None:
        """Log a failure."""


class LoggedEvents:
    """Events as lines of a logger."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger

    def info(self, event: str, **fields: object) -> None:
        """Log something that was done."""
        self._log(logging.INFO, event, fields)

    def warning(self, event: str, **fields: object) -> None:
        """Log something that an operator may want to change."""
        self._log(logging.WARNING, event, fields)

    def error(self, event: str, **fields: object) -> None:
        """Log a failure."""
        self._log(logging.ERROR, event, fields)

    def _log(self, level: int, event: str, fields: dict[str, object]) -> None:
        shown = " ".join(f"{name}={value}" for name, value in fields.items())
        self._logger.log(level, "%s %s", event, shown)
