"""What is read of a request before its key: limits on heads and trailers, and on waiting."""

import json
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.attacks.peers import WORDY, deaf
from tests.server.test_log import line_of
from tests.support import (
    SEARCH,
    TOOLS,
    Process,
    crowd,
    exchange,
    raw_request,
    read_response,
    running,
    until,
)

BODY = json.dumps({"pattern": "read a file", "top_k": 1, "tools": TOOLS[:3]}).encode()
CHUNKED = ["Transfer-Encoding: chunked"]
REFUSED = "toolscout_connections_refused_total"


@pytest.fixture(scope="module")
def edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """Yield a service with short patience."""
    flags = ["--caller-timeout-s", "0.9"]
    with running(tmp_path_factory.mktemp("edge"), *flags) as started:
        yield started


def refused(server: Process, request: bytes) -> tuple[int, str]:
    """Status and code of a problem that ends the connection."""
    with server.connect() as connection:
        connection.sendall(request)
        status, headers, body = read_response(connection)
        assert headers["content-type"] == "application/problem+json"
        assert headers["connection"] == "close"
        assert connection.recv(1) == b""
    problem = json.loads(body)
    assert problem["status"] == status
    assert problem["request_id"] == headers["x-request-id"]
    return status, problem["code"]


def chunk(*trailers: str) -> bytes:
    end = "".join(f"{trailer}\r\n" for trailer in trailers)
    return b"%x\r\n%s\r\n0\r\n%s\r\n" % (len(BODY), BODY, end.encode())


def test_https_on_a_port_without_tls_is_counted_by_its_own_reason(server: Process):
    hello = bytes.fromhex("16030100050100000100")
    assert exchange(server, hello)[0] == 400
    until(lambda: 'reason="https_on_http_port"} 1.0' in server.get("/metrics").text)


@pytest.mark.parametrize(
    "headers",
    [
        [f"X-{n}: b" for n in range(200)],
        [f"X-{n}: {'b' * 1_000}" for n in range(100)],
        [f"X-One: {'b' * 20_000}"],
        [f"X-{'a' * 20_000}: b"],
        ["X-API-Key: " + "k" * 40] * 1_000,
    ],
)
def test_heads_that_are_too_large_are_refused(server: Process, headers: list[str]):
    assert refused(server, raw_request(BODY, headers=headers)) == (431, "headers_too_large")


@pytest.mark.parametrize("start", [b"GET /", b"GET / HTTP/1.1\r\nX-A: ", b"GET / HTTP/1.1\r\nX"])
def test_a_head_that_goes_on_and_on_is_refused(server: Process, start: bytes):
    assert refused(server, start + b"a" * 90_000) == (431, "headers_too_large")


def test_a_head_in_small_pieces_is_limited_as_well(server: Process):
    with server.connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX-A: ")
        for _ in range(90):
            connection.sendall(b"a" * 1_000)
        assert read_response(connection)[0] == 431


@pytest.mark.parametrize(
    "trailers",
    [
        [f"X-{n}: b" for n in range(200)],
        [f"X-{n}: {'b' * 1_000}" for n in range(100)],
        [f"X-One: {'b' * 90_000}"],
    ],
)
def test_trailers_count_as_headers(server: Process, trailers: list[str]):
    request = raw_request(chunk(*trailers), headers=CHUNKED)
    assert refused(server, request) == (431, "headers_too_large")


def test_a_few_trailers_say_nothing(keyed: Process):
    key = "X-API-Key: zenith-0123456789abcdef0123456789abcdef"
    with_key = raw_request(chunk("X-Note: b"), headers=[*CHUNKED, key])
    assert exchange(keyed, with_key)[0] == 200
    assert exchange(keyed, raw_request(chunk(key), headers=CHUNKED))[0] == 401


def test_a_long_query_in_another_script_fits(server: Process):
    path = "/v1/tool-discovery/insights?pattern=" + quote("検" * 4_096)
    status, _, body = exchange(server, raw_request(b"", path, "GET"))
    assert (status, json.loads(body)["chain"]) == (200, [])


@pytest.mark.parametrize(
    "wrong",
    [
        raw_request(BODY, headers=[f"X-{n}: b" for n in range(200)]),
        b"POST http://a HTTP/1.1\r\nHost: a\r\n\r\n",
        b"CONNECT /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
    ],
)
def test_requests_before_a_refused_head_are_answered(server: Process, wrong: bytes):
    with server.connect() as connection:
        connection.sendall(raw_request(BODY) * 3 + wrong)
        received = b""
        while part := connection.recv(65_536):
            received += part
    assert received.count(b"HTTP/1.1 200") == 3
    assert b"connection: close" in received


def test_many_requests_at_once_are_answered_in_order(server: Process):
    bodies = [BODY.replace(b'"top_k": 1', b'"top_k": %d' % (n % 3 + 1)) for n in range(60)]
    with server.connect() as connection:
        connection.sendall(b"".join(map(raw_request, bodies)))
        counts = []
        received = connection.makefile("rb")
        while len(counts) < len(bodies):
            assert received.readline().startswith(b"HTTP/1.1 200")
            length = 0
            while line := received.readline().strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            counts.append(len(json.loads(received.read(length))["selected_names"]))
    assert counts[0] == 1
    assert counts[:3] * 20 == counts


@pytest.mark.parametrize(
    ("closing", "answers"), [("Upgrade, HTTP2-Settings", 2), ("Upgrade, close", 1)]
)
def test_an_offer_of_http_2_is_ignored(server: Process, closing: str, answers: int):
    headers = [f"Connection: {closing}", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"]
    in_chunks = raw_request(chunk(), headers=[*headers, *CHUNKED])
    last = raw_request(BODY, headers=["Connection: close"])
    for request in (raw_request(BODY, headers=headers), in_chunks):
        with server.connect() as connection:
            connection.sendall(request[:-9])  # its end arrives later
            connection.sendall(request[-9:] + last * (answers - 1))
            received = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        assert received.count(b"HTTP/1.1 200 OK") == answers
        assert received.count(b'{"selected_names":["read_file"]}') == answers


@pytest.mark.parametrize("host", ["", "Host: localhost\r\nHost: localhost\r\n"])
def test_http_needs_one_host(server: Process, host: str):
    request = f"GET /healthz HTTP/1.1\r\n{host}\r\n".encode()
    assert refused(server, request) == (400, "bad_request")


def test_the_older_http_needs_no_host(server: Process):
    assert exchange(server, b"GET /healthz HTTP/1.0\r\n\r\n")[0] == 200


def test_what_is_no_http_is_refused_and_cannot_fill_the_log(tmp_path: Path):
    with running(tmp_path) as server:
        for _ in range(100):
            assert refused(server, b"\x16 hello\r\n\r\n") == (400, "bad_request")
            upgrade = (
                b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"
            )
            assert exchange(server, upgrade)[0] == 200
        assert server.metric(f'{REFUSED}{{reason="bad_request"}}') == 100
        server.process.terminate()
        server.wait()
        events = [json.loads(line) for line in server.stdout.splitlines()]
        counted = [event["bad_request"] for event in events if "bad_request" in event]
        assert sum(counted) == 100
        assert len(counted) < 10
        assert "request" not in server.stderr.partition("try ")[2].partition("\n")[2]


@pytest.mark.parametrize("start", [b"G", b"GET /healthz HTTP/1.1\r\n", b"\r\n"])
def test_a_head_that_does_not_arrive_is_not_waited_for(edge: Process, start: bytes):
    assert refused(edge, start) == (408, "body_timeout")


def test_a_second_head_that_does_not_arrive_is_not_waited_for(edge: Process):
    with edge.connect() as connection:
        connection.sendall(raw_request(b"", "/healthz", "GET") + b"GET /he")
        assert read_response(connection)[0] == 200
        assert read_response(connection)[0] == 408


@pytest.mark.parametrize(
    "path", [SEARCH, "/api/compress/tool-discovery/", "/v1/tool-discovery/resolve"]
)
@pytest.mark.parametrize("begun", [b"", BODY[:9]])
def test_a_body_that_is_late_is_refused_by_its_id(edge: Process, path: str, begun: bytes):
    identity = f"late{path.replace('/', '-')}-{len(begun)}"
    headers = [f"X-Request-Id: {identity}", f"Content-Length: {len(BODY)}"]
    with edge.connect() as connection:
        connection.sendall(raw_request(b"", path, headers=headers) + begun)
        status, answered, body = read_response(connection)
        assert (status, answered["connection"]) == (408, "close")
        assert connection.recv(1) == b""
    problem = json.loads(body)
    assert problem["code"] == "body_timeout"
    assert problem["request_id"] == answered["x-request-id"] == identity
    line = line_of(edge, identity)
    assert (line["status"], line["outcome"]) == (408, "body_timeout")


def test_a_target_without_a_path_stops_no_deadline(tmp_path: Path):
    with running(tmp_path, "--caller-timeout-s", "0.5") as server, ExitStack() as held:
        for _ in range(3):
            connection = held.enter_context(server.connect())
            connection.sendall(b"POST http://a HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n")
            assert read_response(connection)[0] == 400
        # Its deadline is after those of the others, whose connections are still open.
        assert refused(server, b"GET /he") == (408, "body_timeout")
        assert server.metric(f'{REFUSED}{{reason="head_timeout"}}') == 1
        assert "step_failed" not in server.stdout


def test_an_answer_that_nobody_reads_is_dropped(edge: Process):
    digest = edge.search(tools=WORDY).headers["x-catalog-digest"]
    readers = [deaf(edge, digest) for _ in range(5)]
    until(lambda: edge.metric(f'{REFUSED}{{reason="unread_answer"}}') == len(readers))
    for reader in readers:
        reader.close()
    until(lambda: edge.metric("toolscout_inflight_requests") == 0)
    assert edge.names("read a file", top_k=1) == ["read_file"]


def test_callers_who_close_their_sending_half_get_their_answers(tmp_path: Path):
    body = json.dumps({"pattern": "read a file", "tools": crowd(300)}).encode()  # takes a while
    twice = raw_request(body) + raw_request(BODY, headers=["Connection: keep-alive"])
    with running(tmp_path) as server, ExitStack() as held:
        callers = [held.enter_context(server.connect()) for _ in range(20)]
        for caller in callers:
            caller.sendall(twice)
            caller.shutdown(socket.SHUT_WR)
        for caller in callers:
            assert caller.makefile("rb").read().count(b"HTTP/1.1 200 OK") == 2
        with server.connect() as half:
            half.sendall(twice[: len(twice) // 2])
            half.shutdown(socket.SHUT_WR)
            assert half.recv(1) == b""


def test_idle_callers_make_room_where_no_descriptors_are_left(tmp_path: Path):
    with running(tmp_path) as server, ExitStack() as held:
        oldest = held.enter_context(server.connect())
        oldest.sendall(raw_request(b"", "/healthz", "GET"))
        assert read_response(oldest)[0] == 200
        used = len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (used + 2, used + 2))
        for _ in range(4):
            held.enter_context(server.connect())
        assert exchange(server, raw_request(BODY))[0] == 200
        assert oldest.recv(1) == b""
        until(lambda: "descriptors_exhausted" in server.stdout)
        assert server.metric(f'{REFUSED}{{reason="descriptors"}}') > 0


def test_who_still_sends_a_body_can_read_why_it_is_not_wanted(keyed: Process):
    with keyed.connect() as connection:
        connection.sendall(raw_request(b"x" * 4_000_000))
        status, headers, _ = read_response(connection)
        assert (status, headers["connection"]) == (401, "close")


@pytest.mark.parametrize("path", [SEARCH, "/v1/catalogs/office", "/v1/stats"])
def test_two_different_keys_are_none(keyed: Process, path: str):
    keys = ("acme-old-0123456789abcdef0123456789abcdef", "zenith-0123456789abcdef0123456789abcdef")
    for first, second in (keys, keys[::-1], (keys[0], "k" * 40), ("k" * 40, keys[0])):
        headers = [f"X-API-Key: {first}", f"Authorization: Bearer {second}"]
        method = "POST" if path == SEARCH else "GET"
        assert exchange(keyed, raw_request(BODY, path, method, headers))[0] == 401
    twice = [f"X-API-Key: {keys[0]}", f"Authorization: Bearer {keys[0]}"]
    assert exchange(keyed, raw_request(BODY, headers=twice))[0] == 200
