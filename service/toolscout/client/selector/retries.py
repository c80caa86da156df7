"""The retry budget: retries add at most a tenth to the load, in every outage."""

import threading

SHARE = 0.1
"""Retries per call."""

SAVED = 10.0
"""Maximum number of retries saved up for a burst."""


class RetryBudget:
    """Every call adds a tenth of a retry; the budget starts with one. Thread-safe.

    So retries ≤ max(1, calls / 10), from the first call on.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._balance = 1.0
        self._owed = 1.0

    def deposit(self) -> None:
        """Add the share of one call."""
        with self._lock:
            if self._owed > 1e-9:
                self._owed -= SHARE
            else:
                self._balance = min(self._balance + SHARE, SAVED)

    def withdraw(self) -> bool:
        """Take one retry, if there is one."""
        with self._lock:
            if self._balance < 1.0 - 1e-9:
                return False
            self._balance -= 1.0
            return True
