"""A body is read alike, however it is cut on its way."""

import json

import pytest

from tests.support import Process, crowd, raw_request, read_response

MANY = crowd(1_500, "gasket")
"""Some 300 KB: more than the application is woken for at once."""


def body(tools: int, top_k: int = 3) -> bytes:
    return json.dumps({"pattern": "gasket", "top_k": top_k, "tools": MANY[:tools]}).encode()


def cut(text: bytes, size: int) -> list[bytes]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def answer(server: Process, pieces: list[bytes]) -> bytes:
    with server.connect() as connection:
        for piece in pieces:
            connection.sendall(piece)
        status, _, given = read_response(connection)
    assert status == 200, given
    return given


@pytest.mark.parametrize("tools", [3, 400, 1_500])
def test_a_body_is_read_alike_however_it_is_cut(server: Process, tools: int):
    whole = raw_request(body(tools))
    expected = answer(server, [whole])
    assert json.loads(expected)["selected_names"]
    for size in (1_000, 70_000, 200_000):
        assert answer(server, cut(whole, size)) == expected


@pytest.mark.parametrize("tools", [3, 400, 1_500])
def test_a_body_in_chunks_is_read_as_a_whole_one(server: Process, tools: int):
    expected = answer(server, [raw_request(body(tools))])
    for size in (1_000, 70_000, 300_000):
        chunks = [b"%x\r\n%s\r\n" % (len(one), one) for one in cut(body(tools), size)]
        sent = raw_request(b"", headers=["Transfer-Encoding: chunked"])
        assert answer(server, [sent, *chunks, b"0\r\n\r\n"]) == expected


def test_requests_behind_one_another_keep_their_bodies_apart(server: Process):
    bodies = [body(tools, top_k) for top_k, tools in enumerate((400, 3, 1_500, 7), 1)]
    expected = [answer(server, [raw_request(one)]) for one in bodies]
    *requests, last = map(raw_request, bodies)
    with server.connect() as connection:
        connection.sendall(
            b"".join([*requests, last.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)])
        )
        answers = b"".join(iter(lambda: connection.recv(65_536), b""))
    places = [answers.find(one) for one in expected]
    assert places == sorted(places)
    assert places[0] > 0
