"""The decision log: one JSON line per request, without what people wrote."""

import json

from tests.support import TOOLS, Process, until


def line_of(server: Process, request_id: str) -> dict:
    """Return the line of one request, once it has been written."""

    def lines() -> list[dict]:
        found = [json.loads(line) for line in server.stdout.splitlines() if request_id in line]
        return [line for line in found if line.get("request_id") == request_id]

    until(lambda: bool(lines()))
    assert len(lines()) == 1
    return lines()[0]


def test_a_search_writes_one_line(server: Process):
    response = server.search(
        "read a text file", TOOLS + TOOLS, top_k=2, headers={"x-request-id": "log-1"}
    )
    line = line_of(server, "log-1")
    assert line["level"] == "info"
    assert line["time"]
    assert line["status"] == 200
    assert line["outcome"] == "match"
    assert line["ranker"] == "hybrid"
    assert (line["offered"], line["unique"], line["selected"]) == (16, 8, 2)
    assert line["degraded"] == "no"
    assert response.headers["x-catalog-digest"].startswith(line["catalog"])
    assert line["total_ms"] > 0


def test_equal_patterns_are_recognised_but_not_read(server: Process):
    for number, pattern in enumerate(["plugh please", "plugh please", "plugh now"]):
        server.search(pattern, headers={"x-request-id": f"hash-{number}"})
    hashes = [line_of(server, f"hash-{number}")["pattern_hash"] for number in range(3)]
    assert hashes[0] == hashes[1] != hashes[2]
    assert "plugh" not in server.stdout + server.stderr


def test_a_full_log_says_what_was_asked_and_chosen(small: Process):
    small.search("read a file", TOOLS[:3], top_k=1, headers={"x-request-id": "full-1"})
    line = line_of(small, "full-1")
    assert line["pattern"] == "read a file"
    assert line["selected_names"] == ["read_file"]
    assert "Read a text file" not in small.stdout
