"""What a conversation has deferred and found, for as long as it lasts."""

import pytest

from tests.support import Clock
from toolscout.discovery.session import SessionStore


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
