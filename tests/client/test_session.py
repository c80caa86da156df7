"""What a conversation has deferred and found, for as long as it lasts."""

import pytest

from toolscout.discovery.session import SessionStore, session_id


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_deferring_overwrites_and_finding_adds(clock):
    store = SessionStore(clock=clock)
    store.store_deferred("s", ["a", "b"])
    store.store_deferred("s", ["c"])
    store.mark_expanded("s", ["x", "y"])
    store.mark_expanded("s", ["y", "z"])
    assert store.deferred("s") == ("c",)
    assert store.expanded("s") == ("x", "y", "z")
    assert store.expanded("t") == ()


def test_equal_names_of_different_sessions_are_kept_once(clock):
    store = SessionStore(clock=clock)
    for session in "ab":
        store.store_deferred(session, ["".join(["read", "_", "file"])])
        store.mark_expanded(session, ["".join(["send", "_", "email"])])
    assert store.deferred("a")[0] is store.deferred("b")[0]
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


def test_a_scope_keeps_equal_first_messages_apart():
    request = {"messages": [{"role": "user", "content": "hello"}]}
    assert session_id(request, "alice") != session_id(request, "bob")
    assert session_id(request, "alice") == session_id(dict(request), "alice")


@pytest.mark.parametrize(
    "request_", [{}, {"messages": None}, {"messages": [3, {"role": "system"}]}]
)
def test_a_request_without_a_user_message_has_no_session(request_):
    assert session_id(request_, "alice") == ""
