"""What a conversation has deferred, found and called, for as long as it lasts."""

import pytest

from tests.client.upstream import TOOLS
from tests.support import Clock, Process
from toolscout.turns.session import SessionStore
from toolscout.turns.tracker import SessionTracker


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_finding_adds(clock):
    store = SessionStore(clock=clock)
    store.mark_expanded("s", ["x", "y"])
    store.mark_expanded("s", ["y", "z"])
    assert store.expanded("s") == ("x", "y", "z")
    assert store.expanded("t") == ()


def test_equal_names_of_different_sessions_are_kept_once(clock):
    store = SessionStore(clock=clock)
    for session in "ab":
        store.mark_expanded(session, ["".join(["send", "_", "email"])])
    assert store.expanded("a")[0] is store.expanded("b")[0]


def test_a_session_ends_an_hour_after_its_last_write(clock):
    store = SessionStore(clock=clock)
    store.mark_expanded("s", ["x"])
    clock.now = 3_000
    assert store.expanded("s") == ("x",)
    store.mark_expanded("s", ["y"])
    clock.now = 6_000
    assert store.expanded("s") == ("x", "y")
    clock.now = 6_601
    assert store.expanded("s") == ()
    store.mark_expanded("s", ["z"])
    assert store.expanded("s") == ("z",)


# What a conversation called, as the field the service reads.


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
