"""What performs the effects of a turn: flows, transports, streams of bytes."""
