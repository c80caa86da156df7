"""What callers and networks may send to the proxy, and who may call it at all."""

import json
import socket
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import httpx2
import pytest

from tests.certificates import Authority
from tests.client.upstream import Exchange, Peer, peer
from tests.gateway.proxies import proxy
from tests.support import Process, toolscout, until

KEY = "k" * 32
CHAT = "/v1/chat/completions"


def echo(exchange: Exchange) -> None:
    exchange.answer(b"{}", headers=[("Content-Type", "application/json")])


@pytest.fixture(scope="module")
def upstream():
    with peer(echo) as started:
        yield started


@pytest.fixture(scope="module")
def running(upstream: Peer):
    with proxy(f"{upstream.url}/tenant/v1", TOOLSCOUT_CALLER_TIMEOUT_S="0.9") as started:
        yield started


def raw(running: Process, request: bytes) -> bytes:
    """Send bytes on a connection of their own; return all that comes back."""
    with running.connect() as connection:
        connection.sendall(request)
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
        return answer


def get(path: str, *headers: str) -> bytes:
    lines = [f"GET {path} HTTP/1.1", "Host: localhost", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1")


@pytest.mark.parametrize(
    ("flags", "variables", "said"),
    [
        (["--host", "0.0.0.0"], {}, "TOOLSCOUT_PROXY_KEY"),
        (["--upstream", "https://user:secret@api.example/v1"], {}, "upstream: holds a user"),
        ([], {"TOOLSCOUT_PROXY_KEY": "short"}, "TOOLSCOUT_PROXY_KEY: expected at least 32"),
        (["--tls-key", "/nowhere"], {}, "tls_key: cannot read /nowhere"),
    ],
)
def test_it_refuses_to_start_open_to_others(flags: list[str], variables: dict, said: str):
    arguments = ["proxy", "--upstream", "https://api.example/v1", *flags]
    done = toolscout(*arguments, **variables)
    assert done.returncode == 2
    assert said in done.stderr
    assert "secret" not in done.stderr


def test_a_key_of_its_own_is_asked_for_and_not_passed_on(upstream: Peer):
    flags = ["--host", "0.0.0.0"]
    with proxy(f"{upstream.url}/v1", *flags, TOOLSCOUT_PROXY_KEY=KEY) as started:
        sent = {"authorization": "Bearer provider", "x-toolscout-key": KEY}
        assert httpx2.get(f"{started.url}/models", headers=sent).status_code == 200
        assert upstream.requests[-1].headers["authorization"] == "Bearer provider"
        assert "x-toolscout-key" not in upstream.requests[-1].headers
        count = len(upstream.requests)
        for wrong in ({}, {"x-toolscout-key": "x" * 32}, {"authorization": f"Bearer {KEY}"}):
            refused = httpx2.get(f"{started.url}/models", headers=wrong)
            assert refused.status_code == 401
            assert "X-Toolscout-Key" in refused.json()["error"]["message"]
        assert httpx2.get(f"{started.url}/healthz").status_code == 200
        assert len(upstream.requests) == count
        log = started.log()
    assert KEY not in log
    assert sum("unauthorized" in line for line in log.splitlines()) < 3  # they are counted
    assert "connections_refused unauthorized=" in log


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"host": "127.0.0.1:99", "origin": "http://127.0.0.1:99"}, 200),
    ],
)
def test_pages_of_others_are_refused(running: Process, headers: dict[str, str], status: int):
    assert httpx2.get(f"{running.url}/models", headers=headers).status_code == status


@pytest.mark.parametrize(
    "path",
    (
        "/tenant/v1/../../admin/keys /../admin /%2e%2e/admin /.%2E/admin /..%2fadmin /..%5cadmin "
        "/..;x/admin http://localhost/tenant/v1/../../admin"
    ).split(),
)
def test_no_path_leads_out_of_the_providers(running: Process, upstream: Peer, path: str):
    count = len(upstream.requests)
    assert raw(running, get(path, "Connection: close")).startswith(b"HTTP/1.1 400")
    assert len(upstream.requests) == count


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (get("/a", "X: " + "x" * 100_000), b"431"),
        (get("/a", *(f"X-{n}: x" for n in range(500))), b"431"),
        (b"GET /a HTTP/1.1\r\nHost: localhost\r\nX-", b"408"),
        (b"GET /a HTTP/1.1\r\n\r\n", b"400"),
        (b"nonsense\r\n\r\n", b"400"),
        (get("/a", "Connection: close, content-length", "Content-Length: 0"), b"400"),
        (b"TRACE /a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", b"405"),
    ],
    ids=["long", "many", "half", "hostless", "nonsense", "dropped", "trace"],
)
def test_odd_heads_are_answered(running: Process, request_: bytes, status: bytes):
    assert raw(running, request_).split(b" ")[1] == status


HANDSHAKE = (
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
)


def test_a_websocket_is_refused_and_never_a_plain_request(running: Process, upstream: Peer):
    count = len(upstream.requests)
    with running.connect() as connection:
        connection.sendall(get("/realtime?model=m", *HANDSHAKE))
        answer = connection.recv(65_536)
    assert answer.split(b" ")[1] == b"501"
    assert b"websockets are not passed on" in answer
    assert len(upstream.requests) == count


def test_a_status_that_no_answer_can_have_is_a_bad_gateway():
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    with (
        peer(lambda exchange: exchange.answer(b"{}", status=999)) as odd,
        proxy(odd.url) as started,
    ):
        for path in ("/models", "/chat/completions"):
            answer = httpx2.post(f"{started.url}{path}", json=body)
            assert (answer.status_code, answer.json()["error"]["code"]) == (502, "bad_status")
        assert "Traceback" not in started.log()


def test_paths_cannot_forge_lines_of_the_log():
    with proxy("http://127.0.0.1:9") as started:
        assert httpx2.get(f"{started.url}/a%0aERROR%1b[2J").status_code == 502
        raw(started, get("/b\x9b", "Connection: close"))
        log = started.log()
    assert "ERROR" not in log.replace("%0aERROR", "")
    assert not any(ord(char) < 32 and char != "\n" for char in log)


def test_a_body_that_is_too_large_to_search_is_passed_on_as_it_is():
    tools = [{"type": "function", "function": {"name": f"t{n}"}} for n in range(50)]
    with peer(echo) as model, proxy(model.url) as started:
        for size in (100, 4_500_000):
            asked = {"model": "m", "messages": [{"role": "user", "content": "é" * size}]}
            body = json.dumps(asked | {"tools": tools}, ensure_ascii=False).encode()
            for content in (body, iter([body])):  # of a known length, and in chunks
                headers = {"content-type": "application/json"}
                url = started.url + CHAT
                answer = httpx2.post(url, content=content, headers=headers, timeout=120)
                assert answer.json() == {}
                assert (model.requests[-1].body == body) is (size > 100)


CHAT_HEAD = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def test_a_slow_body_is_passed_on_unsearched_and_one_that_stops_is_refused(upstream: Peer):
    count = len(upstream.requests)
    slow = f"{CHAT}: passed on unsearched: too slow"
    with proxy(upstream.url, TOOLSCOUT_CALLER_TIMEOUT_S="2") as started:
        with started.connect() as trickle:
            trickle.sendall(f"{CHAT_HEAD}Content-Length: 100000\r\n\r\n{{".encode())
            sent = 1

            def is_too_slow() -> bool:
                nonlocal sent
                trickle.sendall(b" ")
                sent += 1
                return slow in started.stdout + started.stderr

            until(is_too_slow)
            trickle.sendall(b" " * (100_000 - sent))
            assert trickle.recv(65_536).startswith(b"HTTP/1.1 200")
        answer = raw(started, f"{CHAT_HEAD}Content-Length: 9\r\n\r\n{{".encode())
        log = started.log()
    assert answer.startswith(b"HTTP/1.1 408")
    assert "too large" not in log
    assert len(upstream.requests) == count + 1


def test_where_too_many_bytes_are_held_a_request_is_passed_on_unsearched(upstream: Peer):
    with proxy(upstream.url, "--max-held-bytes", "10") as started:
        assert httpx2.post(started.url + CHAT, json={"messages": []}).status_code == 200
        log = started.log()
    assert f"{CHAT}: passed on unsearched: too many bytes are held" in log


def test_a_provider_that_gives_no_answer_is_not_said_to_be_out_of_reach():
    def script(exchange: Exchange) -> None:
        if exchange.number:
            exchange.send(b"SSH-2.0-x\r\n")
        exchange.close()

    with peer(script) as odd, proxy(odd.url) as started:
        for _ in range(2):
            response = httpx2.post(started.url + CHAT, json={"messages": []})
            assert response.status_code == 502
            assert "broke off or gave no answer of HTTP" in response.json()["error"]["message"]


def test_https_is_served_with_a_certificate(upstream: Peer, tmp_path: Path):
    authority = Authority(tmp_path)
    pair = authority.issue("localhost", server=True)
    flags = ["--tls-cert", str(pair.cert), "--tls-key", str(pair.key)]
    with proxy(upstream.url, *flags) as started:
        url = started.url.replace("http:", "https:").replace("127.0.0.1", "localhost")
        answer = httpx2.get(f"{url}/models", verify=authority.trusting(), trust_env=False)
        assert answer.status_code == 200


@pytest.mark.parametrize(("drain", "whole"), [("20", True), ("0", False)])
def test_running_streams_may_end_after_sigterm(drain: str, whole: bool):
    def slow(exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n")
        exchange.send(b"Content-Length: 10\r\n\r\nbegin")
        exchange.stopping.wait(1.5)
        exchange.send(b" end.")

    with peer(slow) as model, proxy(model.url, "--drain", drain) as started:
        with httpx2.stream("GET", f"{started.url}/events", timeout=20) as answer:
            pieces = answer.iter_raw()
            read = next(pieces)
            started.process.terminate()
            try:
                for piece in pieces:
                    read += piece
            except httpx2.HTTPError:
                pass
        assert (read == b"begin end.") is whole
        assert started.process.wait(20) == 0


def test_callers_without_end_do_not_keep_others_out(upstream: Peer):
    with proxy(upstream.url, TOOLSCOUT_CALLER_TIMEOUT_S="0.9") as started, ExitStack() as stack:
        port = int(started.url.rpartition(":")[2])
        connect = partial(socket.create_connection, ("127.0.0.1", port))
        halves = [stack.enter_context(connect()) for _ in range(50)]
        for half in halves:
            half.sendall(b"GET / HTTP/1.1\r\nX-")
        until(lambda: all(map(_is_ended, halves)))
        assert httpx2.get(f"{started.url}/models").status_code == 200


def _is_ended(connection: socket.socket) -> bool:
    connection.settimeout(0.2)
    try:
        while connection.recv(4_096):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True
