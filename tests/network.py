"""What can be wrong with the way to a store: packets are lost, answers and names come late."""

import asyncio
import socketserver
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import IPv4Address
from os import getpid
from pathlib import Path

import pytest

from tests import debian
from tests.support import ran, until

FIRST = IPv4Address("198.18.0.0")
"""Of the addresses that RFC 2544 keeps for measurements of networks; each process takes four."""

_HOLD = """
set -e
ip link set lo up
for file in resolv.conf nsswitch.conf; do mount --bind "$1/$file" "/etc/$file"; done
echo
exec cat
"""

_LOST = "table inet lost {{ chain lost {{ type filter hook {hook} priority 0; {rule} drop; }}; }}"


@dataclass
class Apart:
    """A network namespace that one link joins to this one, with files of a resolver of its own."""

    here: str
    """The address of this end."""
    there: str
    """The address of the other end."""
    before: list[str]
    """What stands before a command that is to run there."""

    @contextmanager
    def lost(self, port: int, way: str) -> Iterator[None]:
        """Lose what is sent from there to a port here (`out`), or what it answers (`back`)."""
        rules = {
            "out": {"hook": "output", "rule": f"tcp dport {port}"},
            "back": {"hook": "input", "rule": f"tcp sport {port}"},
        }
        ran([*self.before, "nft", _LOST.format(**rules[way])])
        try:
            yield
        finally:
            ran([*self.before, "nft", "delete table inet lost"])


@contextmanager
def apart(folder: Path) -> Iterator[Apart]:
    """Yield a namespace, which ends with the process that holds it, even if that is killed."""
    debian.need(ip="iproute2", nft="nftables", unshare="util-linux")
    if ran(["unshare", "--net", "--mount", "true"], status=None).returncode:
        pytest.skip("needs network and mount namespaces of its own, and may not have them here")
    here, there = (str(FIRST + getpid() % 2**15 * 4 + end) for end in (1, 2))
    (folder / "resolv.conf").write_text(f"nameserver {here}\n", "ascii")
    (folder / "nsswitch.conf").write_text("hosts: files dns\n", "ascii")
    link = f"apart{getpid()}"
    command = ["unshare", "--net", "--mount", "sh", "-c", _HOLD, "sh", str(folder)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as holder:
        assert holder.stdout is not None
        try:
            assert holder.stdout.readline() == b"\n"
            before = ["nsenter", "--target", str(holder.pid), "--net", "--mount"]
            ran(f"ip link add {link} type veth peer name outside netns {holder.pid}".split())
            for enter, name, address in (([], link, here), (before, "outside", there)):
                ran([*enter, *f"ip address add {address}/30 dev {name}".split()])
                ran([*enter, *f"ip link set {name} up".split()])
            yield Apart(here, there, before)
        finally:
            holder.kill()
            # At once: connections that still wait for an answer keep the namespace for minutes.
            ran(["ip", "link", "delete", link], status=None)


class Names(socketserver.ThreadingUDPServer):
    """A name server that gives every name one address, at once, late, or never."""

    daemon_threads = True

    def __init__(self, address: str) -> None:
        self.late_s: float | None = 0.0
        """How late it answers; None: never."""
        self._found = IPv4Address(address).packed
        super().__init__((address, 53), socketserver.BaseRequestHandler)

    def finish_request(self, request: object, client_address: object) -> None:
        """Answer one question: with the address, or with nothing where it is for another kind."""
        asked, sock = request  # type: ignore[misc]
        late_s = self.late_s
        if late_s is None:
            return
        time.sleep(late_s)
        question = asked[12 : asked.index(b"\0", 12) + 5]
        found = b""
        if question[-4:-2] == b"\0\1":
            found = b"\xc0\x0c\0\1\0\1" + bytes(4) + b"\0\4" + self._found
        counts = b"\0\1\0" + bytes([bool(found)]) + bytes(4)
        with suppress(OSError):  # it is closed by now
            sock.sendto(asked[:2] + b"\x81\x80" + counts + question + found, client_address)

    @contextmanager
    def serving(self) -> "Iterator[Names]":
        """Serve in a thread."""
        with self:
            threading.Thread(target=self.serve_forever, daemon=True).start()
            try:
                yield self
            finally:
                self.shutdown()


class Relay:
    """Passes on what comes to a port, and the answers as late as it is told."""

    def __init__(self) -> None:
        self.late_s = 0.0
        self.port = 0
        self.target = 0
        """The port of this machine that everything is passed on to."""
        self._tasks: set[asyncio.Task[None] | None] = set()
        """Streams refer only weakly to those that read them."""

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, asked = await asyncio.open_connection("127.0.0.1", self.target)
        task = asyncio.current_task()
        self._tasks.add(task)
        try:
            await asyncio.gather(
                self._pass(reader, asked), self._pass(answers, writer, is_answer=True)
            )
        finally:
            self._tasks.discard(task)
            for each in (asked, writer):
                each.close()

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool = False
    ) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        with suppress(OSError):
            while piece := await reader.read(65_536):
                due = max(due, loop.time() + (self.late_s if is_answer else 0))
                loop.call_at(due, writer.write, piece)
                due += 1e-6  # of two that are due at once the second is not to come first
        loop.call_at(due, writer.close)

    @contextmanager
    def serving(self) -> "Iterator[Relay]":
        """Serve in a thread."""
        thread = threading.Thread(target=asyncio.run, args=(self._serve(),))
        thread.start()
        until(lambda: self.port > 0)
        try:
            yield self
        finally:
            self._loop.call_soon_threadsafe(self._over.set)
            thread.join()

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        async with await asyncio.start_server(self._take, "127.0.0.1", 0) as server:
            self.port = server.sockets[0].getsockname()[1]
            await self._over.wait()
