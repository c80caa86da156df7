"""Stores of every kind that can be copied and restored, and callers who count what they are told.

A restored copy is what an operator has who restores a backup: an RDB file of Redis, `pg_dump`, and
`toolscout backup`.
"""

import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Protocol

from tests import postgres_server, redis_server
from tests.contract.learning import FEEDBACK, LEARNING
from tests.support import Process, running, toolscout

SHARED = ["redis", "postgres", "sqlite"]
"""The kinds of stores that several processes share."""


class Kept(Protocol):
    """A store with a copy."""

    url: str

    def save(self) -> None:
        """Make the copy."""

    def restore(self) -> None:
        """Put the copy in place of what is there."""


class KeptRedis:
    """A Redis server of its own."""

    def __init__(self, server: redis_server.RedisServer) -> None:
        self.server = server
        self.url = server.url
        self._file = server.folder / "dump.rdb"
        self._copy = server.folder / "copy.rdb"

    def save(self) -> None:
        assert self.server.command("SAVE").startswith(b"+OK")
        shutil.copy(self._file, self._copy)

    def restore(self) -> None:
        with self.server.killed():
            shutil.copy(self._copy, self._file)


class KeptPostgres:
    """The schema `toolscout` of a PostgreSQL server."""

    def __init__(self, server: postgres_server.PostgresServer, folder: Path) -> None:
        self.server = server
        self.url = server.url
        self._copy = folder / "copy.sql"

    def save(self) -> None:
        flags = ["--schema", "toolscout", "--clean", "--if-exists", "--no-owner"]
        self._run("pg_dump", *flags, "--file", str(self._copy), self.url)

    def restore(self) -> None:
        flags = ["--quiet", "--single-transaction", "--set", "ON_ERROR_STOP=1"]
        self._run("psql", *flags, "--file", str(self._copy), self.url)

    def _run(self, program: str, *flags: str) -> None:
        command = [str(self.server.programs / program), *flags]
        subprocess.run(command, check=True, capture_output=True)


class KeptSqlite:
    """A SQLite file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "state.db"
        self.url = f"sqlite:{self.path}"
        self._copy = folder / "copy.db"

    def save(self) -> None:
        assert toolscout("backup", str(self._copy), "--store", self.url).returncode == 0

    def restore(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            file = self.path.with_name(self.path.name + suffix)
            if file.exists():
                file.rename(file.with_name("old-" + file.name))
        assert toolscout("restore", str(self._copy), "--store", self.url).returncode == 0


@contextmanager
def kept(kind: str, folder: Path) -> Iterator[Kept]:
    """Yield a store of a kind, with nothing in it."""
    place = folder / kind
    place.mkdir()
    if kind == "redis":
        with redis_server.running(place) as redis:
            yield KeptRedis(redis)
    elif kind == "postgres":
        with postgres_server.running(place) as postgres:
            yield KeptPostgres(postgres, folder)
    else:
        yield KeptSqlite(place)


@contextmanager
def replica(folder: Path, name: str, url: str, **settings: str) -> Iterator[Process]:
    """Yield a replica with a folder of its own."""
    place = folder / name
    place.mkdir()
    with running(place, "--log", "off", TOOLSCOUT_STORE=url, **settings) as server:
        yield server


def known(server: Process) -> dict[str, int]:
    """Return how often a replica knows each tool to have worked."""
    learned = server.get(LEARNING).json()
    return {tool["name"]: tool["successes"] for tool in learned["tools"]}


@dataclass
class Reporter:
    """A caller who reports on one tool after the other to a replica, and notes what it says."""

    server: Process
    name: str
    answers: list[tuple[float, str, int]] = field(default_factory=list)
    """When each report began, its tool, and its status."""
    left: float = inf
    """How many more it reports until they are acknowledged."""

    def report(self) -> None:
        """Report on a tool of which nobody else reports."""
        tool = f"{self.name}_{len(self.answers)}"
        began = time.monotonic()
        body = {"pattern": "ship the parcel", "tool": tool, "success": True}
        status = self.server.post(body, FEEDBACK).status_code
        self.answers.append((began, tool, status))
        self.left -= status == 202

    def acknowledged(self, since: float = 0.0) -> set[str]:
        """Return the tools of those that began after a time and were acknowledged."""
        answers = list(self.answers)
        return {tool for began, tool, status in answers if status == 202 and began > since}

    def refused_since(self, since: float) -> int:
        """Return how many of those that began after a time were not acknowledged."""
        answers = list(self.answers)
        return sum(status != 202 for began, _, status in answers if began > since)

    @property
    def refused(self) -> int:
        """How many were not acknowledged."""
        return self.refused_since(0.0)

    @contextmanager
    def reporting(self, pause_s: float = 0.02) -> Iterator["Reporter"]:
        """Report again and again until the end of the block, while some are left."""
        over = threading.Event()

        def repeat() -> None:
            while not over.wait(pause_s):
                if self.left > 0:
                    self.report()

        thread = threading.Thread(target=repeat)
        thread.start()
        try:
            yield self
        finally:
            over.set()
            thread.join()
