"""Bodies of the wrong kind, size or framing get a 4xx problem document."""

import gzip
import json

import pytest

from tests.support import GATEWAY, SEARCH, TOOLS, Server, exchange, problem_of, raw_request

VALID = json.dumps({"pattern": "read a file", "top_k": 2, "tools": TOOLS[:3]}).encode()


@pytest.mark.parametrize(
    "media",
    (
        "text/plain text/json application/xml multipart/form-data image/png json */* "
        "application/x-www-form-urlencoded application/jsonx application/octet-stream"
    ).split(),
)
def test_wrong_media_type(server: Server, media: str):
    response = server.post(VALID, headers={"content-type": media})
    problem_of(response, 415, "unsupported_media_type")


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate", "zstd", "GZIP", "gzip, identity"])
def test_compressed_bodies(server: Server, encoding: str):
    body = gzip.compress(VALID)
    response = server.post(body, headers={"content-encoding": encoding})
    problem_of(response, 415, "unsupported_media_type")


def test_a_compressed_body_that_does_not_say_so(server: Server):
    for path in (SEARCH, GATEWAY):
        problem_of(server.post(gzip.compress(VALID), path), 400, "invalid_json")


def chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in (*chunks, b""))


CHUNKED = ["Transfer-Encoding: chunked"]


def test_chunked_bodies_are_read(server: Server):
    body = chunked(VALID[:10], VALID[10:11], VALID[11:])
    status, _, answer = exchange(server, raw_request(body, headers=CHUNKED))
    assert status == 200
    assert json.loads(answer)["selected_names"][0] == "read_file"


@pytest.mark.parametrize("body", [chunked(VALID[:50]), chunked(b"{"), chunked()])
def test_chunked_and_truncated(server: Server, body: bytes):
    status, headers, answer = exchange(server, raw_request(body, headers=CHUNKED))
    assert (status, json.loads(answer)["code"]) == (400, "invalid_json")
    assert headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("body", [b"zz\r\n", b"-1\r\n\r\n", b"5\r\nabc"])
def test_chunks_that_are_none(server: Server, body: bytes):
    with server.connect() as connection:
        connection.sendall(raw_request(body, headers=[*CHUNKED, "Connection: close"]))
        connection.shutdown(1)
        received = connection.recv(65_536)
    assert received == b"" or received.startswith(b"HTTP/1.1 4")


def test_oversized_and_chunked(small: Server):
    body = chunked(*[b" " * 1_000] * 5)
    status, _, answer = exchange(small, raw_request(body, headers=CHUNKED))
    assert (status, json.loads(answer)["code"]) == (413, "payload_too_large")
    assert small.names("read a file", TOOLS[:2], top_k=1) == ["read_file"]


def test_oversized_by_its_own_word(small: Server):
    request = raw_request(b"", headers=["Content-Length: 99999999999"])
    status, _, answer = exchange(small, request)
    assert (status, json.loads(answer)["code"]) == (413, "payload_too_large")


def test_a_body_that_never_ends(small: Server):
    status, headers, answer = exchange(small, raw_request(b"{", headers=["Content-Length: 100"]))
    assert 400 <= status < 500
    assert headers["content-type"] == "application/problem+json"
    assert headers["connection"] == "close"
    assert json.loads(answer)["status"] == status
    assert small.names("read a file", TOOLS[:2], top_k=1) == ["read_file"]


def test_callers_that_hang_up_are_forgotten(server: Server):
    for cut in (10, 60, 200):
        with server.connect() as connection:
            connection.sendall(raw_request(VALID)[:cut])
    request = raw_request(VALID)
    with server.connect() as connection:
        connection.sendall(request[: len(request) - 20])
    assert server.names("read a file", top_k=1) == ["read_file"]
