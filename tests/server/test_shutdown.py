"""Stopping: SIGTERM loses no request, Ctrl-C stops at once."""

import asyncio
import json
import signal
from contextlib import suppress
from pathlib import Path
from time import monotonic

import pytest

from tests.in_process import serving
from tests.support import TOOLS, Process, raw_request, read_response, running, until
from toolscout import __version__
from toolscout.learning.learner import Learner
from toolscout.server.serve import SAME_SIGNAL_S

BODY = json.dumps({"pattern": "read a file", "top_k": 1, "tools": TOOLS}).encode()


def not_ready(server: Process) -> bool:
    return server.get("/readyz").status_code == 503


def test_sigterm_is_not_ready_at_once_but_serves_on(tmp_path: Path):
    with running(tmp_path, "--drain-s", "1.5", "--log", "off") as server:
        until(lambda: '"ready"' in server.stdout)
        server.signal(signal.SIGTERM)
        until(lambda: not_ready(server))
        body = server.get("/readyz").json()
        assert body["components"]["accepting"] is False
        assert server.get("/healthz").status_code == 200
        response = server.post(BODY)
        assert response.status_code == 200
        assert response.headers["connection"] == "close"
        assert server.wait() == 0
        lines = [json.loads(line) for line in server.stdout.splitlines()]
        assert [line["event"] for line in lines] == ["start", "ready", "draining", "stop"]
        assert {line["level"] for line in lines} == {"info"}
        assert lines[0]["version"] == __version__
        assert (lines[1]["port"], lines[2]["seconds"]) == (server.port, 1.5)


def test_open_requests_are_finished(tmp_path: Path):
    with running(tmp_path, "--drain-s", "0") as server, server.connect() as connection:
        connection.sendall(raw_request(BODY)[: -len(BODY)])
        until(lambda: server.metric("toolscout_inflight_requests") == 1)
        server.signal(signal.SIGTERM)
        until(lambda: refuses_connections(server))
        connection.sendall(BODY)
        status, _, answer = read_response(connection)
        assert (status, json.loads(answer)) == (200, {"selected_names": ["read_file"]})
        assert server.wait() == 0


def refuses_connections(server: Process) -> bool:
    try:
        server.connect().close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:
        return False  # it was still queued when the listener closed: ask again
    return False


def test_a_second_sigterm_skips_the_wait_and_an_echo_of_the_first_does_not(tmp_path: Path):
    with running(tmp_path, "--drain-s", "600") as server:
        began = monotonic()
        server.signal(signal.SIGTERM)
        until(lambda: not_ready(server))
        server.signal(signal.SIGTERM)
        if monotonic() < began + SAME_SIGNAL_S:  # else it may have been no echo
            assert server.post(BODY).status_code == 200

        def stops() -> bool:
            if refuses_connections(server):
                return True  # a signal during the end of the process would end it at once
            server.signal(signal.SIGTERM)
            return False

        until(stops)
        assert server.wait() == 0


def test_ctrl_c_stops_at_once(tmp_path: Path):
    with running(tmp_path, "--drain-s", "600") as server, server.connect() as connection:
        connection.sendall(raw_request(BODY)[: -len(BODY)])
        until(lambda: server.metric("toolscout_inflight_requests") == 1)
        server.signal(signal.SIGINT)
        status, headers, answer = read_response(connection)
        assert (status, json.loads(answer)["code"]) == (503, "draining")
        assert headers["connection"] == "close"
        server.wait()
        assert "Traceback" not in server.stderr


def test_ctrl_c_of_an_idle_server_is_quiet(tmp_path: Path):
    with running(tmp_path, "--drain-s", "600") as server:
        server.signal(signal.SIGINT)
        server.wait()
        assert "Traceback" not in server.stderr


def test_a_task_that_loses_a_cancellation_is_ended_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    lost = []

    async def follow(*_: object) -> None:
        while len(lost) < 2:
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            lost.append("a cancellation")
        await asyncio.Event().wait()

    monkeypatch.setattr(Learner, "follow", follow)
    with serving(tmp_path):
        pass
    assert len(lost) == 2
