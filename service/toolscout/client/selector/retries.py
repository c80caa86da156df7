"""The retry budget: however bad things are, retries add at most a tenth to the load."""

import threading

SHARE = 0.1
"""Retries per call."""

SAVED = 10.0
"""Retries that quiet times may save up for a burst."""


class RetryBudget:
    """Every call pays in a tenth of a retry; one retry is lent at the start. Thread-safe.

    So retries ≤ max(1, calls / 10), from the first call on.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._balance = 1.0
        self._owed = 1.0

    def deposit(self) -> None:
        """One call begins."""
        with self._lock:
            if self._owed > 1e-9:
                self._owed -= SHARE
            else:
                self._balance = min(self._balance + SHARE, SAVED)

    def withdraw(self) -> bool:
        """Take one retry, if there is one to take."""
        with self._lock:
            if self._balance < 1.0 - 1e-9:
                return False
            self._balance -= 1.0
            return True
