"""What a conversation called, as the field the service reads."""

from tests.client.upstream import TOOLS
from tests.support import Process
from toolscout.discovery.tracker import SessionTracker


def recent(tracker: SessionTracker) -> list[tuple[str, int, int, int]]:
    field = tracker.fields().get("session", {"recent": []})
    return [
        (use["name"], use["successes"], use["failures"], use["turns_ago"])
        for use in field["recent"]
    ]


def test_calls_are_counted_and_grow_older_by_turns():
    tracker = SessionTracker()
    assert tracker.fields() == {}
    tracker.record("read_file")
    tracker.record("read_file", success=False)
    tracker.advance_turn()
    tracker.record("run_tests")
    tracker.advance_turn()
    assert recent(tracker) == [("run_tests", 1, 0, 1), ("read_file", 1, 1, 2)]
    tracker.reset()
    assert tracker.fields() == {}


def test_the_tools_used_longest_ago_are_forgotten_first():
    tracker = SessionTracker(limit=2)
    for name in ("a", "b", "a", "c"):
        tracker.record(name)
    assert [name for name, *_ in recent(tracker)] == ["c", "a"]


def test_the_service_takes_the_field(make, server: Process):
    tracker = SessionTracker()
    tracker.record("run_tests")
    selector = make(server.url, timeout=10)
    selection = selector.select("run the test suite", TOOLS, fields=tracker.fields())
    assert selection.names[0] == "run_tests"
    assert not selection.fell_open
