"""The calls of one conversation, sent with each search; see `toolscout.turns.tracker`."""

from toolscout.turns.tracker import SessionTracker

__all__ = ["SessionTracker"]
