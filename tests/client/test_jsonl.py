"""Events as JSON lines: whole, bounded, and never in the way of a request."""

import io
import json
import subprocess
import sys
import threading
from pathlib import Path

from tests.client.upstream import TOOLS, peer
from toolscout.client import Selector
from toolscout.client.events import TurnEvent
from toolscout.client.jsonl import JsonLines


def event(number: int = 0) -> TurnEvent:
    return TurnEvent("filtered", "relevance", "openai", f"s{number}", 30, 5)


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_every_search_is_one_object_on_one_line(tmp_path: Path):
    path = tmp_path / "events.jsonl"
    with (
        peer(lambda exchange: exchange.select("read_file")) as fake,
        JsonLines(path) as written,
        Selector(fake.url, observers=[written]) as selector,
    ):
        selector.select("x", TOOLS)
        selector.select("y", TOOLS)
    first, second = lines(path)
    assert first["event"] == second["event"] == "SearchEvent"
    assert first["selected"] == ["read_file"]
    assert first["deferred_count"] == len(TOOLS)
    assert str(first["at"]).endswith("+00:00")


def test_a_stream_is_written_to_and_left_open():
    stream = io.StringIO()
    with JsonLines(stream) as written:
        written(event())
    text = stream.getvalue()
    assert json.loads(text)["shown"] == 5
    assert not stream.closed


def test_the_end_of_the_process_loses_no_line(tmp_path: Path):
    path = tmp_path / "events.jsonl"
    script = f"""
from toolscout.client.events import TurnEvent
from toolscout.client.jsonl import JsonLines
written = JsonLines({str(path)!r})
for number in range(200):
    written(TurnEvent("filtered", "relevance", "openai", f"s{{number}}", 30, 5))
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    assert [line["session"] for line in lines(path)] == [f"s{number}" for number in range(200)]


def test_a_forked_process_writes_its_own_lines(tmp_path: Path):
    path = tmp_path / "events.jsonl"
    script = f"""
import os
from toolscout.client.events import TurnEvent
from toolscout.client.jsonl import JsonLines
written = JsonLines({str(path)!r})
def write(session):
    written(TurnEvent("filtered", "relevance", "openai", session, 30, 5))
write("before")
child = os.fork()
write("parent" if child else "child")
written.close()
if child:
    os.waitpid(child, 0)
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    assert sorted(str(line["session"]) for line in lines(path)) == ["before", "child", "parent"]


def test_a_file_that_is_full_is_renamed_once(tmp_path: Path):
    path = tmp_path / "events.jsonl"
    with JsonLines(path, max_file_bytes=1_000) as written:
        for number in range(50):
            written(event(number))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["events.jsonl", "events.jsonl.1"]
    assert all(file.stat().st_size <= 1_000 for file in tmp_path.iterdir())
    assert lines(path)[-1]["session"] == "s49"


class Stuck(io.StringIO):
    """A stream that takes nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go = threading.Event(), threading.Event()

    def write(self, data: str) -> int:
        self.asked.set()
        self.go.wait(30)
        return super().write(data)


def test_a_stream_that_blocks_costs_events_and_no_time():
    stream = Stuck()
    written = JsonLines(stream, max_waiting=10)
    written(event())
    assert stream.asked.wait(30)
    for number in range(100):
        written(event(number))
    assert written.dropped == 90
    stream.go.set()
    written.close()
    assert len(stream.getvalue().splitlines()) == 11


def test_a_file_that_cannot_be_written_is_said_once_and_harms_no_search(tmp_path: Path, caplog):
    missing = tmp_path / "nowhere" / "events.jsonl"
    with (
        peer(lambda exchange: exchange.select("read_file")) as fake,
        JsonLines(missing) as written,
        Selector(fake.url, observers=[written]) as selector,
    ):
        for _ in range(3):
            assert selector.select("x", TOOLS).names == ["read_file"]
    assert [record.message for record in caplog.records] == [
        "events cannot be written (FileNotFoundError)"
    ]


def test_a_full_disk_costs_lines_and_no_call_fails(caplog):
    with JsonLines("/dev/full") as written:
        for number in range(3):
            written(event(number))
    written.close()
    assert [record.message for record in caplog.records] == ["events cannot be written (OSError)"]
