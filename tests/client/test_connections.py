"""Connections of a selector: what goes over them, and that they are reused and opened again."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor

from tests.client.test_selector import read_file
from tests.client.upstream import TOOLS, peer


def test_a_request_arrives_in_one_packet(make):
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor() as threads:
        selector = make(f"http://127.0.0.1:{listener.getsockname()[1]}")
        calling = threads.submit(selector.select, "open a file", TOOLS)
        connection, _ = listener.accept()
        head, _, content = connection.recv(1 << 16).partition(b"\r\n\r\n")
        connection.close()
        calling.result()
    assert f"content-length: {len(content)}".encode() in head
    assert json.loads(content)["pattern"] == "open a file"


def test_one_connection_serves_many_calls(make):
    with peer(read_file) as fake:
        selector = make(fake.url)
        for _ in range(10):
            assert not selector.select("x", TOOLS).fell_open
        assert fake.connections == 1


def test_a_closed_selector_can_be_used_again(make):
    with peer(read_file) as fake:
        selector = make(fake.url)
        assert not selector.select("x", TOOLS).fell_open
        if hasattr(selector.selector, "close"):
            selector.close()
        else:
            selector.loop.run_until_complete(selector.selector.aclose())
        assert not selector.select("x", TOOLS).fell_open
