"""A real Redis (or Valkey) server for tests, started on a free port."""

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests import debian
from tests.support import free_port


@dataclass(slots=True)
class RedisServer:
    """A server on a port of its own that keeps nothing on disk."""

    binary: str
    port: int
    folder: Path
    flags: Sequence[str] = ()
    process: "subprocess.Popen[bytes]" = field(init=False)

    def start(self) -> bool:
        """Start it; return whether it answers, or has ended, as where its port is taken."""
        command = [self.binary, "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        command = [*command, "--dir", str(self.folder), *self.flags]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while self.process.poll() is None:
            try:
                if self.command("PING").startswith(b"+PONG"):
                    return True
            except OSError:
                time.sleep(0.05)
        return False

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self, *words: str) -> bytes:
        """Send one command over a connection of its own."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(" ".join(words).encode() + b"\r\n")
            return connection.recv(4_096)

    def empty(self) -> None:
        """Remove everything."""
        self.command("FLUSHALL")

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Stop the process: connections stay, answers do not come."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    @contextmanager
    def killed(self) -> Iterator[None]:
        """End the process at once; afterwards another one begins, with nothing in it."""
        self.kill()
        try:
            yield
        finally:
            self.start()

    @contextmanager
    def full(self) -> Iterator[None]:
        """Leave no memory for further values."""
        self.command("CONFIG SET maxmemory 1")  # byte: less than any server takes
        try:
            yield
        finally:
            self.command("CONFIG SET maxmemory 0")


@contextmanager
def running(folder: Path) -> Iterator[RedisServer]:
    """Yield a server that keeps what it has in a folder of its own in this one."""
    with nodes(folder, 1) as (server,):
        yield server


@contextmanager
def nodes(folder: Path, count: int, *flags: str) -> Iterator[list[RedisServer]]:
    """Yield servers, each in a folder of its own; installs Debian's package when there is none."""
    binary = shutil.which("redis-server") or shutil.which("valkey-server")
    if binary is None:
        debian.need(redis_server="redis-server")
        binary = "redis-server"
    servers = []
    try:
        for number in range(count):
            place = folder / str(number)
            place.mkdir()
            server = RedisServer(binary, _free_pair(), place, flags)
            while not server.start():  # another program was faster
                server.port = _free_pair()
            servers.append(server)
        yield servers
    finally:
        for server in servers:
            server.kill()


def _free_pair() -> int:
    """Return a free port; in a Cluster a node also listens 10,000 ports higher."""
    while True:
        port = free_port()
        if port < 55_000 and _is_free(port + 10_000):
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
