"""Whoever reads the log can stop reading: lines are lost and counted, requests are not."""

import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support import TOOLS, Process, running, until

DROPPED = "toolscout_log_lines_dropped_total"


@contextmanager
def piped(folder: Path, **settings: str) -> Iterator[tuple[Process, io.FileIO]]:
    """Yield a service whose log goes to a pipe, and the end to read it from."""
    end, writer = os.pipe()
    flags = ["--log", "full", "--max-lag-ms", "60000"]  # other tests may keep the cores busy
    with (
        io.FileIO(end) as reader,
        running(folder, *flags, log=writer, **settings) as server,
    ):
        yield server, reader


def lines_of(received: bytes) -> list[dict]:
    return [json.loads(line) for line in received.splitlines()]


def test_a_reader_that_stops_loses_lines_and_no_request(tmp_path: Path):
    with piped(tmp_path) as (server, reader):
        pattern = "read a file " * 8_000  # a line of 96 KB
        digest = server.search(tools=TOOLS).headers["x-catalog-digest"]
        asked = 0
        while not server.metric(DROPPED):
            assert server.search(pattern, catalog=digest).status_code == 200
            asked += 1
            assert asked < 1_000
        assert server.get("/healthz").status_code == 200
        received = b""
        while b"log_lines_dropped" not in received:
            received += reader.read(65_536)
            if received.endswith(b"\n"):
                server.search("read a file")
        received += reader.read(65_536) if not received.endswith(b"\n") else b""
        lost = [line for line in lines_of(received) if line["event"] == "log_lines_dropped"]
        assert lost[0]["lines"] >= 1


def test_a_reader_that_went_away_costs_no_request(tmp_path: Path):
    with piped(tmp_path) as (server, reader):
        reader.close()
        until(lambda: server.search().status_code == 200 and server.metric(DROPPED) > 0)
        server.process.terminate()
        assert server.wait() == 0


def test_the_end_waits_for_a_stuck_reader_only_shortly(tmp_path: Path):
    with piped(tmp_path) as (server, _):
        digest = server.search(tools=TOOLS).headers["x-catalog-digest"]
        for _ in range(4):  # more than a pipe holds
            server.search("read a file " * 8_000, catalog=digest)
        server.process.terminate()
        assert server.wait() == 0


def test_the_last_lines_are_written(tmp_path: Path):
    with running(tmp_path) as server:
        for _ in range(200):
            server.search()
        server.process.terminate()
        assert server.wait() == 0
        assert server.stdout.count('"event":"search"') == 200
