"""On a terminal the log is text for a person; anywhere else it is JSON."""

import json
import os
import subprocess
import sys
from contextlib import suppress

import httpx2
import pytest

from tests.support import TOOLS, answers, environment, free_port, until
from toolscout.server.observe.log import readable

TIME = "2026-01-31T12:30:05.123456Z"


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
    assert readable(json.dumps({"time": TIME, **fields}).encode()) == text.encode()


@pytest.mark.parametrize("line", [b"no json", b"[]", b"{}", b'{"time": 5}'])
def test_what_is_no_line_of_the_log_stays_as_it_is(line: bytes):
    assert readable(line) == line
