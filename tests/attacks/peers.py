"""Peers of a service that misbehave: readers that do not read, stores that are none."""

import json
import socket
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from tests.support import Process, crowd, raw_request

SMALL_BUFFER = 4_096
"""Bytes that the kernel takes for a reader that does not read."""


WORDY = [tool | {"definition": {"note": "spin " * 4_000}} for tool in crowd(100)]
"""Tools whose definitions make an answer of 2 MB."""


def deaf(server: Process, digest: str, headers: Sequence[str] = ()) -> socket.socket:
    """Ask 8 times for all of `WORDY` over one connection, and read none of it."""
    fields = {"include_definitions": True, "top_k": len(WORDY), "min_score": 0}
    body = json.dumps({"pattern": "spin a gadget", "catalog": digest, **fields}).encode()
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
    reader.connect(("127.0.0.1", server.port))
    reader.sendall(raw_request(body, headers=headers) * 8)
    return reader


def _silent(peer: socket.socket) -> None:
    while peer.recv(65_536):
        pass


def _saying(answer: bytes) -> Callable[[socket.socket], None]:
    def say(peer: socket.socket) -> None:
        while peer.recv(65_536):
            peer.sendall(answer)

    return say


def _slow(peer: socket.socket) -> None:
    """Send a byte a tenth of a second, of a value that has many."""
    peer.recv(65_536)
    for byte in b"$1000000\r\n" + b"a" * 1_000:
        peer.sendall(bytes([byte]))
        peer.settimeout(0.1)
        with suppress(TimeoutError):
            while peer.recv(65_536):
                pass


STORES: dict[str, Callable[[socket.socket], None]] = {
    "silent": _silent,
    "slow": _slow,
    "rubbish": _saying(b"\x00\xff rubbish " * 10_000),
    "no number": _saying(b"$many\r\n"),
    "other types": _saying(b":7\r\n"),
    "nested": _saying(b"*1\r\n" * 5_000),
    "errors": _saying(b"-LOADING\r\n"),
}
"""What a peer in place of Redis does with a connection, once it was asked something."""


@contextmanager
def store(behave: Callable[[socket.socket], None]) -> Iterator[str]:
    """Yield a peer that listens where a Redis is expected; yields the URL of the store."""
    with ExitStack() as open_peers, closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def serve(peer: socket.socket) -> None:
            with suppress(OSError):
                behave(peer)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    peer, _ = listener.accept()
                    open_peers.callback(_hang_up, peer)
                    threading.Thread(target=serve, args=(peer,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"


def _hang_up(peer: socket.socket) -> None:
    with suppress(OSError):
        peer.shutdown(socket.SHUT_RDWR)
    peer.close()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock that every writer of a SQLite file waits for."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
