"""Whatever a peer or the network does: a usable list of tools, in time, with the right reason."""

import gzip
import socket
import threading
from collections.abc import Callable

import pytest

from tests.client.upstream import NAMES, TOOLS, Exchange, peer
from tests.support import PATIENCE_S, free_port, until
from toolscout.client import Reason

CAP_S = 0.4
"""The timeout of calls of what does not end by itself."""

GOOD = b'{"selected_names":["read_file"]}'

FOREVER_S = 60.0
"""How long a peer keeps those waiting who have no cap; whoever has one leaves it before it ends."""


PART = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"


def sent_until(end: Callable[[Exchange], None], content: bytes) -> Callable[[Exchange], None]:
    """Return a script that sends these bytes and ends the connection."""

    def script(exchange: Exchange) -> None:
        exchange.send(content)
        end(exchange)

    return script


def black_hole(exchange: Exchange) -> None:
    exchange.stopping.wait(FOREVER_S)


def drip(head: bytes) -> Callable[[Exchange], None]:
    def script(exchange: Exchange) -> None:
        exchange.send(head)
        while not exchange.stopping.wait(0.02):
            exchange.send(b" ")
        exchange.close()

    return script


def endless(exchange: Exchange) -> None:
    exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    piece = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    for _ in range(16_384):  # a gigabyte
        exchange.send(piece)


def endless_crumbs(exchange: Exchange) -> None:
    exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not exchange.stopping.is_set():
        exchange.send(b"1\r\n \r\n" * 10_000)


def endless_patience(exchange: Exchange) -> None:
    while not exchange.stopping.is_set():
        exchange.send(b"HTTP/1.1 100 Continue\r\n\r\n" * 2_500)


def bomb(exchange: Exchange) -> None:
    packed = gzip.compress(b" " * (64 << 20))
    exchange.answer(packed, headers=[("Content-Encoding", "gzip")])


def status(code: int, *headers: tuple[str, str], body: bytes = b"no") -> Callable[[Exchange], None]:
    return lambda exchange: exchange.answer(body, code, headers)


def body(content: bytes, *headers: tuple[str, str]) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.answer(content, headers=headers)


HANGING = {
    "black hole": black_hole,
    "slow drip of headers": drip(b"HTTP/1.1 200 OK\r\nX-Slow: "),
    "slow drip of body": drip(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n"),
    "endless chunks of one byte": endless_crumbs,
    "endless 100 Continue": endless_patience,
}
FAILURES = HANGING | {
    "reset mid-body": sent_until(Exchange.reset, PART),
    "closed mid-body": sent_until(Exchange.close, PART),
    "closed without a word": Exchange.close,
    "not HTTP": sent_until(Exchange.close, b"SSH-2.0-OpenSSH_9.6\r\n"),
    "gigabyte body": endless,
    "gigabyte announced": body(b" " * (2 << 20)),
    "small body, huge when unpacked": bomb,
    "gzip that is none": body(GOOD, ("Content-Encoding", "gzip")),
    "gzip cut short": body(gzip.compress(GOOD)[:-20], ("Content-Encoding", "gzip")),
    "an encoding nobody asked for": body(GOOD, ("Content-Encoding", "br")),
    "500": status(500),
    "503 without Retry-After": status(503),
    "503 that asks for too much patience": status(503, ("Retry-After", "60")),
    "bad JSON": body(b'{"selected_names":['),
    "wrong types": body(b'{"selected_names":["read_file",3]}'),
    "names as one text": body(b'{"selected_names":"read_file"}'),
    "a list": body(b'["read_file"]'),
    "a number": body(b"7"),
    "null": body(b"null"),
    "BOM": body(b"\xef\xbb\xbf" + GOOD),
    "trailing bytes": body(GOOD + b"\nGARBAGE"),
    "empty": body(b""),
    "not UTF-8": body(b'{"selected_names":["\xff"]}'),
    "nested too deeply": body(b"[" * 100_000),
    "says it failed": body(b'{"success":false,"selected_names":["read_file"]}'),
}
REFUSALS = {
    "401": status(401),
    "404": status(404),
    "422": status(422),
    "429": status(429, ("Retry-After", "0")),
    "redirect": status(302, ("Location", "http://127.0.0.1:1/")),
    "permanent redirect": status(308, ("Location", "/elsewhere")),
    "401 with a gigabyte": status(401, body=b"x" * (2 << 20)),
}
EMPTY = {
    "no names": body(b'{"selected_names":[]}'),
    "null names": body(b'{"selected_names":null}'),
    "no key": body(b"{}"),
}


def scripted(make, script: Callable[[Exchange], None], **options):
    with peer(script) as fake:
        timeout = CAP_S if script in HANGING.values() else PATIENCE_S
        selector = make(fake.url, timeout=timeout, **options)
        selection = selector.select("open a file", TOOLS)
        if script in HANGING.values():
            assert not fake.ended
        fake.stopping.set()
    return selection, fake, selector.selector


def assert_all_tools(selection) -> None:
    assert selection.fell_open
    assert selection.names == NAMES
    assert selection.tools == TOOLS
    assert selection.detail


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failing_service_costs_nothing_but_the_selection(make, failure):
    selection, fake, selector = scripted(make, FAILURES[failure])
    assert_all_tools(selection)
    assert selection.reason is Reason.API_ERROR
    assert len(fake.requests) == 1 or (failure in HANGING and not fake.requests)
    assert selector.breaker.failures == 1


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_service_that_refuses_is_not_failing(make, refusal):
    selection, fake, selector = scripted(make, REFUSALS[refusal])
    assert_all_tools(selection)
    assert selection.reason is Reason.API_ERROR
    assert len(fake.requests) == 1
    assert selector.breaker.failures == 0


@pytest.mark.parametrize("answer", EMPTY)
def test_an_empty_selection_is_not_a_failure(make, answer):
    selection, _, selector = scripted(make, EMPTY[answer])
    assert_all_tools(selection)
    assert selection.reason is Reason.EMPTY_SELECTION
    assert selector.breaker.failures == 0


def test_unknown_names_alone_fall_open(make):
    selection, _, selector = scripted(make, body(b'{"selected_names":["nope","neither"]}'))
    assert_all_tools(selection)
    assert selection.reason is Reason.UNKNOWN_SELECTION_NAMES
    assert "nope" not in selection.detail
    assert selector.breaker.failures == 0


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (b'{"selected_names":["nope","read_file"]}', ["read_file"]),
        (b'{"selected_names":["read_file","read_file"]}', ["read_file"]),
        (
            b'{"selected_names":["run_tests","read_file"],"scores":[1,2]}',
            ["run_tests", "read_file"],
        ),
    ],
    ids=["one unknown", "duplicates", "unknown fields"],
)
def test_what_is_usable_of_an_answer_is_used(make, content, names):
    selection, _, _ = scripted(make, body(content))
    assert selection.names == names
    assert not selection.fell_open


def test_too_many_names_are_cut_at_the_cap_in_the_order_of_the_answer(make):
    names = ",".join(f'"{name}"' for name in reversed(NAMES))
    selection, _, _ = scripted(make, body(f'{{"selected_names":[{names}]}}'.encode()))
    assert selection.names == list(reversed(NAMES))[:5]


def test_a_gzip_answer_is_read(make):
    packed = body(gzip.compress(GOOD), ("Content-Encoding", "gzip"))
    selection, _, _ = scripted(make, packed)
    assert selection.names == ["read_file"]


def test_a_refused_connection_is_tried_twice_and_falls_open(make):
    selection = make(f"http://127.0.0.1:{free_port()}").select("x", TOOLS)
    assert_all_tools(selection)
    assert selection.reason is Reason.API_ERROR
    assert selection.attempts == 2


def test_a_server_that_accepts_nobody_is_given_up_in_time(make):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for connection in waiting:  # fill the queue, so that connecting itself hangs
            connection.setblocking(False)
            connection.connect_ex(("127.0.0.1", port))
        selection = make(f"http://127.0.0.1:{port}", timeout=CAP_S).select("x", TOOLS)
        for connection in waiting:
            connection.close()
    assert_all_tools(selection)
    assert selection.latency_ms < FOREVER_S * 1_000  # the system tries for two minutes


def test_a_name_resolution_that_hangs_is_given_up_in_time(make, monkeypatch: pytest.MonkeyPatch):
    over = threading.Event()
    ended: list[bool] = []

    def hang(*_: object, **__: object):
        ended.append(over.wait(FOREVER_S))
        raise socket.gaierror("no such host")

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    selector = make("http://selector.invalid", timeout=CAP_S)
    selection = selector.select("x", TOOLS)
    assert not ended
    over.set()
    assert_all_tools(selection)
    assert selection.reason is Reason.API_ERROR


def test_proxies_of_the_environment_are_not_for_this_machine(make, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    selection, _, _ = scripted(make, body(GOOD))
    assert selection.names == ["read_file"]


def test_calls_that_were_given_up_leave_no_connection_behind(make):
    quick = threading.Event()

    def script(exchange: Exchange) -> None:
        quick.wait(FOREVER_S)
        exchange.answer(GOOD)

    with peer(script) as fake:
        selector = make(fake.url, timeout=CAP_S, max_connections=2)
        assert all(selector.select("x", TOOLS).fell_open for _ in range(4))
        quick.set()
        until(lambda: not selector.select("x", TOOLS).fell_open)
