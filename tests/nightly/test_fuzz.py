"""The fuzz sees what is wrong with an answer, and one seed makes one sequence of requests."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import pytest

from tests.nightly.fuzz import fault, field_names, make, operations
from tests.support import PATIENCE_S


class Peer:
    """What the fuzz asks of a server: a connection."""

    def __init__(self, port: int) -> None:
        self.port = port

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)


@contextmanager
def answering(answer: bytes) -> Iterator[Peer]:
    """Yield a server that gives one answer, whatever it is asked."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield Peer(listening.getsockname()[1])
        thread.join()


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", ""),
        (b"HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\n{}", "an internal error"),
        (b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\n{}", "no problem document"),
        (b"", "no answer"),
    ],
)
def test_a_bad_answer_is_a_fault(answer: bytes, wrong: str):
    with answering(answer) as peer:
        _, said = fault(peer, b"GET / HTTP/1.1\r\n\r\n")  # type: ignore[arg-type]
    assert said.startswith(wrong)
    assert bool(said) == bool(wrong)


def test_one_seed_makes_one_sequence_and_another_one_another():
    every, names = operations(), field_names()

    def requests(seed: str) -> list[bytes]:
        random = Random(seed)
        return [make(random, random.choice(every), names) for _ in range(200)]

    assert requests("1") == requests("1")
    assert requests("1") != requests("2")
    methods = {request.split(b" ", 1)[0] for request in requests("1")}
    assert methods == {b"GET", b"POST", b"PUT", b"PATCH", b"DELETE"}
