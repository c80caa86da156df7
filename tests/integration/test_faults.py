"""What a machine does to a service: its clock jumps, its disk fills, or cannot be written."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support import TOOLS, Process, crowd, problem_of, running, until

pytestmark = pytest.mark.integration

FEEDBACK = "/v1/tool-discovery/feedback"
QUERY = "mail the report to my boss"
DISK = "16m"
DAY_S = 86_400

SHIFTED = """
import os, time
from pathlib import Path
real = time.time
shift = Path(os.environ["CLOCK_SHIFT"])
time.time = lambda: real() + float(shift.read_text() or 0)
"""
"""Gives a process a wall clock that can be set from outside; Python reads it when it starts."""

MOUNTED = 'mount -t tmpfs -o size=$0 tmpfs "$1" && shift && exec "$@"'

READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'

OWN_MOUNTS = ("unshare", "--user", "--map-root-user", "--mount")


def told(server: Process, tool: str) -> int:
    return server.post({"pattern": QUERY, "tool": tool, "success": True}, FEEDBACK).status_code


def register(server: Process, name: str, tools: list[dict[str, Any]]) -> httpx2.Response:
    return server.client.put(f"/v1/catalogs/{name}", json={"tools": tools})


def scores(server: Process) -> dict[str, float]:
    found = server.search(QUERY, TOOLS, explain=True).json()
    return {match["name"]: match["score"] for match in found["matches"]}


def test_a_clock_that_jumps_changes_no_answer_and_loses_nothing(tmp_path: Path):
    shift = tmp_path / "shift"
    shift.write_text("0", "ascii")
    (tmp_path / "sitecustomize.py").write_text(SHIFTED, "utf-8")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    clock = {"PYTHONPATH": path, "CLOCK_SHIFT": str(shift)}
    flags = ["--store", f"sqlite:{tmp_path / 'state.db'}", "--rate-limit", "1000"]
    with running(tmp_path, *flags, **clock) as server:
        assert register(server, "mine", TOOLS).status_code == 201
        untold = scores(server)
        for _ in range(5):
            assert told(server, "send_email") == 202
        before = scores(server)
        assert before["send_email"] >= untold["send_email"]
        for days in (400, -400, 0):
            shift.write_text(str(days * DAY_S), "ascii")
            after = scores(server)
            assert max(after, key=after.__getitem__) == "send_email"
            assert all(0 <= score <= 1 for score in after.values())
            assert told(server, "send_email") == 202
            assert server.get("/readyz").status_code == 200
            assert server.get("/v1/catalogs/mine").status_code == 200
            response = server.search("spin", crowd(20, f"jump{abs(days)}"))
            assert response.status_code == 200, response.text
            assert "degraded=no" in response.headers["x-tool-selection"]
        told_in_all = entries(tmp_path / "state.db")
        shift.write_text(str(400 * DAY_S), "ascii")
        other = tmp_path / "other"
        other.mkdir()
        with running(other, *flags, **clock) as wrong:
            until(lambda: "clock_suspect" in wrong.stdout)
            assert "toolscout_clock_suspect 1.0" in wrong.get("/metrics").text
        shift.write_text("0", "ascii")
    assert entries(tmp_path / "state.db") == told_in_all == 8
    with running(tmp_path, *flags, **clock) as server:
        until(lambda: server.get("/v1/learning").json()["observations"] == told_in_all)


def entries(file: Path) -> int:
    """Return the number of reports in a store."""
    with closing(sqlite3.connect(file)) as db:
        query = "SELECT count(*) FROM entries WHERE log LIKE 'learning/%'"
        found: int = db.execute(query).fetchone()[0]
    return found


def own_mounts() -> tuple[str, ...]:
    """Return what starts a program that may mount what nobody else sees."""
    if subprocess.run([*OWN_MOUNTS, "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs a mount namespace of its own, and may not have one here")
    return OWN_MOUNTS


@contextmanager
def small_disk(folder: Path) -> Iterator[Process]:
    """Yield a service whose state lies on a disk of its own, with little room."""
    disk = folder / "disk"
    disk.mkdir()
    before = [*own_mounts(), "sh", "-c", MOUNTED, DISK, str(disk)]
    with running(folder, "--store", f"sqlite:{disk / 'state.db'}", before=before) as s:
        yield s


def test_a_full_disk_costs_no_search_and_is_told(tmp_path: Path):
    with small_disk(tmp_path) as server:
        kept = 0
        while True:
            answer = register(server, f"list{kept}", crowd(300, f"w{kept}"))
            if answer.status_code != 201:
                break
            kept += 1
        print(f"\n{kept} lists of 300 tools on a disk of {DISK}; then {answer.text}")
        assert kept > 0
        problem_of(answer, 503, "store_unavailable")
        assert server.get("/readyz").status_code == 200
        for number in range(20):
            assert server.names("read a file", TOOLS, top_k=1) == ["read_file"], number
        assert "toolscout_store_failures_total" in server.get("/metrics").text
        assert server.search("spin w0", catalog="list0").status_code == 200
        enlarge = ["nsenter", "-t", str(server.process.pid), "--user", "--mount"]
        enlarge += ["--preserve-credentials", "mount", "-o", "remount,size=64m"]
        assert shutil.which("nsenter")
        subprocess.run([*enlarge, str(tmp_path / "disk")], check=True, capture_output=True)
        until(lambda: told(server, "read_file") == 202)
        assert register(server, "last", TOOLS).status_code == 201
        assert server.get(f"/v1/catalogs/list{kept - 1}").status_code == 200


def test_deletions_make_room_on_a_full_disk(tmp_path: Path):
    with small_disk(tmp_path) as server:
        server.post({"pattern": QUERY, "tool": "send_email", "success": True}, FEEDBACK)
        names = []
        while register(server, f"list{len(names)}", crowd(300, f"w{len(names)}")).is_success:
            names.append(f"list{len(names)}")
        small = 0
        while small < 10_000 and register(server, f"small{small}", TOOLS[:1]).is_success:
            small += 1
        assert small < 10_000
        until(lambda: server.send("DELETE", f"/v1/catalogs/{names[0]}").status_code == 204)
        assert server.send("DELETE", "/v1/learning").is_success
        for name in names[1:]:
            assert server.send("DELETE", f"/v1/catalogs/{name}").status_code == 204, name
        for number in range(len(names) * 2 // 3):
            again = register(server, f"list{number}", crowd(300, f"w{number}"))
            assert again.status_code == 201, number
        assert told(server, "read_file") == 202


def test_a_disk_that_cannot_be_written_is_read(tmp_path: Path):
    disk = tmp_path / "disk"
    disk.mkdir()
    store = ["--store", f"sqlite:{disk / 'state.db'}"]
    with running(tmp_path, *store) as server:
        assert register(server, "mine", TOOLS).status_code == 201
        assert told(server, "send_email") == 202
    before = [*own_mounts(), "sh", "-c", READ_ONLY, str(disk)]
    with running(tmp_path, *store, before=before) as server:
        assert server.search(QUERY, catalog="mine", top_k=1).json()["selected_names"]
        until(lambda: server.get("/v1/learning").json()["observations"] == 1)
        problem_of(register(server, "more", TOOLS), 503, "store_unavailable")
        assert server.get("/v1/catalogs/mine").status_code == 200
