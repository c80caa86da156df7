"""What is kept of each conversation; see `toolscout.turns.session`."""

from toolscout.turns.session import SessionStore

__all__ = ["SessionStore"]
