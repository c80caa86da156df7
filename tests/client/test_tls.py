"""Certificates: one that is vouched for is trusted, any other falls open."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.certificates import Authority
from tests.client.test_chaos import CAP_S, GOOD, assert_all_tools, body
from tests.client.upstream import TOOLS, Exchange, peer
from toolscout.client import Reason


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return a server context whose certificate only the client context beside it trusts."""
    authority = Authority(tmp_path_factory.mktemp("tls"))
    pair = authority.issue("server", server=True, host="tools.example")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.cert, pair.key)
    return context, authority.trusting()


@contextmanager
def secured(context: ssl.SSLContext) -> Iterator[str]:
    """Yield a TLS server that answers once; its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError), context.wrap_socket(listener.accept()[0], True) as connection:
                exchange = Exchange(connection, threading.Event())
                if exchange.read():
                    exchange.answer(GOOD)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"https://localhost:{listener.getsockname()[1]}"
        thread.join(5)


@contextmanager
def tunnelling(port: int, asked: list[bytes]) -> Iterator[str]:
    """Yield a proxy whose one tunnel leads to a port of this machine, whatever is asked for."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with (
                suppress(OSError),
                listener.accept()[0] as near,
                socket.create_connection(("127.0.0.1", port)) as far,
            ):
                asked.append(near.recv(65_536))
                near.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                threading.Thread(target=pump, args=(near, far), daemon=True).start()
                pump(far, near)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(5)


def pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65_536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)


def test_a_certificate_nobody_vouches_for_falls_open_at_once(make, certificate):
    with secured(certificate[0]) as url:
        selection = make(url).select("x", TOOLS)
    assert_all_tools(selection)
    assert selection.reason is Reason.API_ERROR
    assert selection.attempts == 1
    assert "TLS" in selection.detail


def test_a_certificate_of_ones_own_is_trusted(make, certificate):
    with secured(certificate[0]) as url:
        selector = make(url, verify=certificate[1])
        assert selector.select("x", TOOLS).names == ["read_file"]


def test_a_service_behind_a_proxy_is_reached_through_a_tunnel(make, certificate, monkeypatch):
    asked: list[bytes] = []
    with secured(certificate[0]) as url, tunnelling(int(url.rpartition(":")[2]), asked) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy)
        selector = make("https://tools.example", verify=certificate[1])
        assert selector.select("x", TOOLS).names == ["read_file"]
    (request,) = asked
    assert request.startswith(b"CONNECT tools.example:443 HTTP/1.1\r\n")


def test_a_plain_server_behind_https_falls_open(make):
    with peer(body(GOOD)) as fake:
        url = fake.url.replace("http:", "https:")
        selection = make(url, timeout=CAP_S).select("x", TOOLS)
    assert_all_tools(selection)
