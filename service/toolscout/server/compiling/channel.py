"""Whole objects over a socket, between two processes of one service that trust each other."""

import pickle
import socket
import struct
from contextlib import suppress
from threading import Lock
from typing import Any

import numpy as np

_COUNT = struct.Struct("!I")


class Channel:
    """One end of a connected pair. Any thread may send; one receives.

    Pickled by protocol 5, with arrays beside it: they are written from where they lie, and used
    where they are read to.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._sending = Lock()

    def send(self, message: Any) -> None:
        """Write a message.

        Raises:
            OSError: the other end is gone.
        """
        beside: list[pickle.PickleBuffer] = []
        body = pickle.dumps(message, protocol=5, buffer_callback=beside.append)
        parts = [memoryview(body), *(buffer.raw() for buffer in beside)]
        sizes = struct.pack(f"!{len(parts)}Q", *(part.nbytes for part in parts))
        with self._sending:
            self._connection.sendall(_COUNT.pack(len(parts)) + sizes)
            for part in parts:
                self._connection.sendall(part)

    def receive(self) -> Any:
        """Wait for the next message.

        Raises:
            EOFError: the other end is gone.
        """
        count = _COUNT.unpack(self._read(_COUNT.size))[0]
        sizes = struct.unpack(f"!{count}Q", self._read(8 * count))
        body, *beside = map(self._read, sizes)
        return pickle.loads(body, buffers=beside)  # noqa: S301 - from a process of this service

    def close(self) -> None:
        """End the connection for both, whoever waits for it."""
        with suppress(OSError):  # the other end is gone
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def _read(self, size: int) -> memoryview:
        found = np.empty(size, np.uint8).data
        have = 0
        while have < size:
            try:
                read = self._connection.recv_into(found[have:])
            except OSError:
                read = 0
            if not read:
                raise EOFError
            have += read
        return found
