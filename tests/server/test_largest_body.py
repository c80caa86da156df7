"""A body that no process could ever hold is refused for good, and not for now."""

from pathlib import Path

from tests.support import SEARCH, exchange, running
from toolscout.server.http.admission import LARGEST_BODY, MAX_HELD_BYTES, Admission


def test_a_body_that_never_finds_room_is_413_whatever_may_be_sent(tmp_path: Path):
    head = f"POST {SEARCH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    announced = f"{head}Content-Length: {LARGEST_BODY + 1}\r\n\r\n".encode()
    with running(tmp_path, "--max-body-bytes", str(MAX_HELD_BYTES)) as server:
        status, headers, body = exchange(server, announced)
    assert status == 413
    assert "retry-after" not in headers
    assert b"a process takes no more at once" in body


def test_the_largest_body_finds_room_beside_other_tenants():
    admission = Admission(max_in_flight=8, max_lag_ms=400)
    admission.serve(5)
    slot = admission.enter("acme")
    slot.hold(LARGEST_BODY)
    assert slot.held == LARGEST_BODY
