"""Starts the servers here at once: each is forked from a process that has imported their library.

`python forked.py SOCKET SCRIPT` is what a gateway runs. It hands its pipes, variables and folder to
that process, ends as the server does, and the server with it: .2 s instead of the 1.5 of an import.
"""

import asyncio
import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

MOST = 1 << 16
"""Bytes of what a server is started with."""


def command(script: Path) -> list[str]:
    """Return the arguments with which Python starts a server."""
    return ["-IS", __file__, _prepared(), str(script)]


@cache
def _prepared() -> str:
    """Start the process that has imported the library, and return where it listens."""
    folder = tempfile.TemporaryDirectory(prefix="servers-")
    path = str(Path(folder.name) / "socket")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(64)
    process = subprocess.Popen(
        [sys.executable, __file__, str(listening.fileno())], pass_fds=[listening.fileno()]
    )
    listening.close()

    def end() -> None:
        process.kill()
        process.wait()
        folder.cleanup()

    atexit.register(end)
    return path


async def use_library() -> None:
    """Have a session with a server, so that everything is imported and made that one needs."""
    import fastmcp.server.mixins.transport  # noqa: F401
    import mcp.server.stdio  # noqa: F401
    from fastmcp import Client, FastMCP

    server = FastMCP("first")

    @server.tool
    def double(number: int) -> int:
        return 2 * number

    async with Client(server) as client:
        await client.list_tools()


def prepare(listening: socket.socket) -> None:
    """Import what servers need, then fork one keeper for each."""
    asyncio.run(use_library())
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for keepers
    while True:
        connection, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            keep(connection)
        connection.close()


def keep(connection: socket.socket) -> None:
    """Run one server, tell its starter how it ended, and end it where its starter is gone."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    sent, pipes, _, _ = socket.recv_fds(connection, MOST, 3)
    process = os.fork()
    if process == 0:
        connection.close()
        for number, pipe in enumerate(pipes):
            os.dup2(pipe, number)
            os.close(pipe)
        serve(**json.loads(sent))
    for pipe in (0, 1, *pipes):  # or whoever reads would wait for this process, too
        os.close(pipe)
    ended = os.pidfd_open(process)
    ready, _, _ = select.select([connection, ended], [], [])
    if ended not in ready:
        os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    code = os.waitstatus_to_exitcode(status)
    if ended in ready:
        connection.send(bytes([code & 0xFF]))
    os._exit(0)


def serve(script: str, environment: dict[str, str], folder: str) -> None:
    """Become a server."""
    import runpy

    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = [script]
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
    code = 1
    try:
        runpy.run_path(script, run_name="__main__")
        code = 0
    finally:
        sys.stderr.flush()
        os._exit(code)


def start(path: str, script: str) -> int:
    """Have a server run with the pipes of this process, and return its exit status."""
    told = {"script": script, "environment": dict(os.environ), "folder": str(Path.cwd())}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        socket.send_fds(connection, [json.dumps(told).encode()], [0, 1, 2])
        for pipe in (0, 1):  # the server's own from here on
            os.close(pipe)
        return int.from_bytes(connection.recv(1) or b"\1", "big")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(start(*sys.argv[1:]))
    prepare(socket.socket(fileno=int(sys.argv[1])))
