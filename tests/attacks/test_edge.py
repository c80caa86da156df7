"""Floods of heads, of callers without a key, and of one tenant beside another."""

import json
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path

import pytest

from tests.support import SEARCH, TOOLS, Process, crowd, raw_request, running, until

ACME = "acme-0123456789abcdef0123456789abcdef"
ZENITH = "zenith-0123456789abcdef0123456789abcdef"
KEYS = f"acme={ACME},zenith={ZENITH}"
BODY = {"pattern": "read a file", "top_k": 1, "tools": TOOLS}
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """Yield a service of two tenants with few slots, which does not wait long to be read."""
    folder = tmp_path_factory.mktemp("shared")
    impatient = ("--max-in-flight", "32", "--caller-timeout-s", "3")
    with running(folder, *impatient, TOOLSCOUT_API_KEYS=KEYS) as server:
        yield server


def resident_peak(server: Process) -> int:
    """Return the most memory that the process has had, in bytes."""
    status = Path(f"/proc/{server.process.pid}/status").read_text("utf-8")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def pour(server: Process, start: bytes, part: bytes, total: int) -> int:
    """Send a start and then the same part again and again, until the service has enough."""
    sent = 0
    with server.connect() as connection, suppress(OSError):
        connection.sendall(start)
        while sent < total:
            connection.sendall(part)
            sent += len(part)
    return sent


HEAD = b"POST /v1/tool-discovery/search HTTP/1.1\r\nHost: localhost\r\n"
FLOODS = {
    "small headers": (HEAD, b"X-Abcdefgh: b\r\n" * 4_096, 200 * MIB),
    "keys": (HEAD, b"X-API-Key: b\r\n" * 4_096, 3 * MIB),
    "one header": (HEAD + b"X-A: ", b"a" * 65_536, 100 * MIB),
    "request line": (b"GET /", b"a" * 65_536, 100 * MIB),
    "trailers": (
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n",
        b"X-Abcdefgh: b\r\n" * 4_096,
        60 * MIB,
    ),
    "one trailer": (
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-A: ",
        b"a" * 65_536,
        60 * MIB,
    ),
    "small chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n" * 8_192, 20 * MIB),
    "pipeline": (b"", b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n" * 4_096, 40 * MIB),
    "pipeline with bodies": (b"", (HEAD + b"Content-Length: 2\r\n\r\n{}") * 2_048, 40 * MIB),
}


@pytest.mark.parametrize("flood", FLOODS)
def test_heads_of_any_size_take_no_memory(shared: Process, flood: str):
    start, part, total = FLOODS[flood]
    before = resident_peak(shared)
    threads = [
        threading.Thread(target=pour, args=(shared, start, part, total), daemon=True)
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    assert shared.get("/healthz").status_code == 200
    for thread in threads:
        thread.join(30)
    assert resident_peak(shared) - before < 32 * MIB
    assert shared.search(headers={"x-api-key": ACME}).status_code == 200


def test_many_small_chunks_are_refused(shared: Process):
    head = HEAD + b"X-API-Key: " + ACME.encode() + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
    with shared.connect() as caller:
        caller.sendall(head + b"1\r\n \r\n" * 2_000)
        assert caller.recv(65_536).startswith(b"HTTP/1.1 400")
    text = json.dumps(BODY).encode()
    pieces = (text[at : at + 1] for at in range(len(text)))
    chunks = b"".join(b"1\r\n%b\r\n" % piece for piece in pieces)
    with shared.connect() as caller:
        caller.sendall(head + chunks + b"0\r\n\r\n")
        assert caller.recv(65_536).startswith(b"HTTP/1.1 200")


def test_a_body_that_nobody_reads_is_not_waited_for(shared: Process):
    with shared.connect() as caller, suppress(OSError):
        caller.sendall(
            HEAD.replace(SEARCH.encode(), b"/healthz") + b"Content-Length: 999999\r\n\r\n"
        )
        answer = caller.recv(65_536)
        assert answer.startswith(b"HTTP/1.1 405")
        caller.sendall(b"x" * 200_000)
        assert caller.recv(65_536) == b""


@pytest.mark.integration
@pytest.mark.alone
def test_a_pod_of_512_mib_survives_every_flood_at_once(tmp_path: Path):
    with running(tmp_path, TOOLSCOUT_API_KEYS=KEYS) as pod:
        threads = [
            threading.Thread(target=pour, args=(pod, *flood), daemon=True)
            for flood in FLOODS.values()
            for _ in range(5)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            assert pod.search(headers={"x-api-key": ACME}).status_code == 200
            thread.join(30)
        assert resident_peak(pod) < 512 * MIB


def test_callers_without_a_key_hold_no_slot(shared: Process):
    head = f"POST {SEARCH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n".encode()
    with ExitStack() as callers:
        silent = [callers.enter_context(shared.connect()) for _ in range(200)]
        for caller in silent:
            caller.sendall(head)
        statuses = {shared.post(BODY, headers={"x-api-key": ACME}).status_code for _ in range(50)}
        assert statuses == {200}
        for caller in silent:
            assert caller.recv(65_536).startswith(b"HTTP/1.1 401")


def hold_slots(server: Process, key: str, number: int, callers: ExitStack) -> list[socket.socket]:
    """Return requests whose bodies do not come."""
    held = []
    for _ in range(number):
        caller = callers.enter_context(server.connect())
        caller.sendall(raw_request(b"", headers=[f"X-API-Key: {key}", "Content-Length: 1000"]))
        held.append(caller)
    return held


def test_one_tenant_cannot_take_all_slots(shared: Process):
    with ExitStack() as callers:
        hold_slots(shared, ACME, 64, callers)
        until(lambda: shared.metric("toolscout_inflight_requests") == 28)
        for _ in range(20):
            assert shared.post(BODY, headers={"x-api-key": ZENITH}).status_code == 200
            assert shared.post(BODY, headers={"x-api-key": ACME}).status_code == 503
    until(lambda: shared.metric("toolscout_inflight_requests") == 0)


class Flood:
    """One tenant that sends all it can, until the end."""

    def __init__(self, server: Process, key: str, lists: bool) -> None:
        self.answers: Counter[int] = Counter()
        self._server = server
        self._key = key
        self._stop = threading.Event()
        self._numbers = count() if lists else None
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(48)]

    def _run(self) -> None:
        client = self._server.new_client(None)
        known = json.dumps(BODY).encode()
        while not self._stop.is_set():
            body = known
            if self._numbers is not None:
                tools = crowd(100, f"widget{next(self._numbers)}")
                body = json.dumps(BODY | {"tools": tools}).encode()
            headers = {"x-api-key": self._key, "content-type": "application/json"}
            with suppress(Exception):
                self.answers[client.post(SEARCH, content=body, headers=headers).status_code] += 1
        client.close()

    def __enter__(self) -> "Flood":
        for thread in self._threads:
            thread.start()
        until(lambda: sum(self.answers.values()) > len(self._threads))
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(30)


@pytest.mark.integration
@pytest.mark.alone
@pytest.mark.parametrize("lists", [False, True], ids=["known lists", "ever new lists"])
def test_a_flood_of_one_tenant_leaves_others_their_share(shared: Process, lists: bool):
    quiet: Counter[int] = Counter()
    new: Counter[str] = Counter()
    with Flood(shared, ACME, lists) as flood:
        for number in range(200):
            known = shared.post(BODY, headers={"x-api-key": ZENITH})
            quiet[known.status_code] += 1
            if number % 10 == 0:
                tools = crowd(50, f"cog{number}")
                answer = shared.post(BODY | {"tools": tools}, headers={"x-api-key": ZENITH})
                new[f"{answer.status_code}"] += 1
    print(f"flood {dict(flood.answers)}; other tenant, known {dict(quiet)}, new {dict(new)}")
    assert quiet[200] >= 198
    assert new["200"] >= 0.9 * new.total()
