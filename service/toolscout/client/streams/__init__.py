"""Streaming: watching a provider's events for searches while the rest flows on."""

from toolscout.client.streams.stream import STREAMS, Stream

__all__ = ["STREAMS", "Stream"]
