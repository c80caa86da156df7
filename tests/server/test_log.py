"""The decision log: a JSON line per request, text on a terminal, lost lines counted."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest

from tests.support import TOOLS, Process, answers, environment, free_port, running, until
from toolscout.server.observe.log import write_readable


def line_of(server: Process, request_id: str) -> dict:
    """Return the line of one request, once it has been written."""

    def lines() -> list[dict]:
        found = [json.loads(line) for line in server.stdout.splitlines() if request_id in line]
        return [line for line in found if line.get("request_id") == request_id]

    until(lambda: bool(lines()))
    assert len(lines()) == 1
    return lines()[0]


def test_a_search_writes_one_line(server: Process):
    response = server.search(
        "read a text file", TOOLS + TOOLS, top_k=2, headers={"x-request-id": "log-1"}
    )
    line = line_of(server, "log-1")
    assert line["level"] == "info"
    assert line["time"]
    assert line["status"] == 200
    assert line["outcome"] == "match"
    assert line["ranker"] == "hybrid"
    assert (line["offered"], line["unique"], line["selected"]) == (16, 8, 2)
    assert line["degraded"] == "no"
    assert response.headers["x-catalog-digest"].startswith(line["catalog"])
    assert line["total_ms"] > 0


def test_equal_patterns_are_recognised_but_not_read(server: Process):
    for number, pattern in enumerate(["plugh please", "plugh please", "plugh now"]):
        server.search(pattern, headers={"x-request-id": f"hash-{number}"})
    hashes = [line_of(server, f"hash-{number}")["pattern_hash"] for number in range(3)]
    assert hashes[0] == hashes[1] != hashes[2]
    assert "plugh" not in server.stdout + server.stderr


def test_a_full_log_says_what_was_asked_and_chosen(small: Process):
    small.search("read a file", TOOLS[:3], top_k=1, headers={"x-request-id": "full-1"})
    line = line_of(small, "full-1")
    assert line["pattern"] == "read a file"
    assert line["selected_names"] == ["read_file"]
    assert "Read a text file" not in small.stdout


# On a terminal the log is text for a person; anywhere else it is JSON.


TIME = datetime(2026, 1, 31, 12, 30, 5, tzinfo=UTC)


def test_a_terminal_shows_text():
    end, terminal = os.openpty()
    port = free_port()
    flags = ["--port", str(port), "--drain-s", "0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "toolscout", "serve", *flags],
        stdout=terminal,
        stderr=subprocess.DEVNULL,
        env=environment(),
    )
    os.close(terminal)
    os.set_blocking(end, False)
    shown = b""

    def has(text: bytes) -> bool:
        nonlocal shown
        with suppress(BlockingIOError):
            shown += os.read(end, 65_536)
        return text in shown

    try:
        until(lambda: has(b" ready ") and answers(port))
        body = {"pattern": "read a text file", "top_k": 1, "tools": TOOLS}
        headers = {"X-Request-Id": "shown-1"}
        url = f"http://127.0.0.1:{port}/v1/tool-discovery/search"
        httpx2.post(url, json=body, headers=headers).raise_for_status()
        until(lambda: has(b"shown-1"))
    finally:
        process.terminate()
        process.wait()
        os.close(end)
    line = next(one for one in shown.decode().splitlines() if "shown-1" in one)
    assert " search 200 match (hybrid, 1 of 8 tools, " in line
    assert "{" not in shown.decode()


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"level": "info", "event": "start", "pid": 7}, "12:30:05 start pid=7"),
        (
            {
                "level": "info",
                "event": "search",
                "request_id": "r",
                "status": 200,
                "outcome": "match",
                "ranker": "bm25",
                "degraded": "semantic_skipped",
                "offered": 3,
                "selected": 2,
                "selected_names": ["a", "b"],
                "total_ms": 1.26,
                "pattern": "read\nit",
            },
            "12:30:05 search 200 match: a, b (bm25, 2 of 3 tools, 1.3 ms, degraded: "
            r'semantic_skipped) "read\nit" r',
        ),
        (
            {"level": "warning", "event": "keys_kept", "reason": "a\x1b[2Jb\x9bc"},
            r"12:30:05 WARNING keys_kept reason=a\x1b[2Jb\x9bc",
        ),
        (
            {"level": "error", "event": "failed", "exception": "Traceback:\n  one\n"},
            "12:30:05 ERROR failed\nTraceback:\n  one",
        ),
    ],
)
def test_a_line_has_no_control_characters(fields: dict[str, object], text: str):
    level, event, *_ = map(str, fields.values())
    rest = {name: value for name, value in fields.items() if name not in ("level", "event")}
    assert write_readable(TIME, level, event, rest) == text.encode()


# Whoever reads the log can stop reading: lines are lost and counted, requests are not.


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
