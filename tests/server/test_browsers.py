"""What a page in somebody's browser can do with a service that needs no key: nothing."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ZENITH
from tests.support import GATEWAY, SEARCH, TOOLS, Process, exchange, problem_of, running

BODY = {"pattern": "read a file", "top_k": 1, "tools": TOOLS[:3]}
FEEDBACK = "/v1/tool-discovery/feedback"
EVENT = {"pattern": "read a file", "tool": "send_email", "success": True}


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """Yield a service without keys that learns, on a loopback address."""
    with running(tmp_path_factory.mktemp("local"), "--mcp") as started:
        yield started


@pytest.mark.parametrize("path", [SEARCH, GATEWAY, FEEDBACK, "/v1/catalogs/office", "/mcp"])
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "x"]
)
def test_other_names_are_misdirected(local: Process, path: str, host: str):
    method = "PUT" if "catalogs" in path else "POST"
    response = local.client.request(method, path, json=BODY, headers={"host": host})
    problem_of(response, 421, "misdirected")


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:80", "127.0.0.1:1", "[::1]:8080", "[::1]"]
)
def test_loopback_names_are_ours(local: Process, host: str):
    assert local.post(BODY, headers={"host": host}).status_code == 200


@pytest.mark.parametrize("path", [SEARCH, FEEDBACK, "/mcp"])
@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:1", "http://[", "file://"]
)
def test_pages_of_others_may_not_ask(local: Process, path: str, origin: str):
    problem_of(local.post(BODY, path, {"origin": origin}), 403, "forbidden")


def test_the_own_page_may_ask(local: Process):
    for name in ("127.0.0.1", "localhost"):
        own = f"{name}:{local.port}"
        headers = {"origin": f"http://{own}", "host": own}
        assert local.post(BODY, headers=headers).status_code == 200


def test_a_body_must_say_that_it_is_json(local: Process):
    body = json.dumps(EVENT).encode()
    own = f"Host: localhost\r\nContent-Length: {len(body)}\r\n"
    for media in ("", "Content-Type: text/plain\r\n"):
        request = f"POST {FEEDBACK} HTTP/1.1\r\n{own}{media}\r\n".encode() + body
        status, _, answer = exchange(local, request)
        assert (status, json.loads(answer)["code"]) == (415, "unsupported_media_type")
    assert local.get("/v1/learning").json()["observations"] == 0
    assert local.post(EVENT, FEEDBACK).status_code == 202


def test_a_key_is_enough(keyed: Process):
    """No page of others knows it."""
    headers = {"host": "selector.example:8080", "x-api-key": ZENITH}
    assert keyed.post(BODY, headers=headers).status_code == 200
    assert keyed.post(BODY, headers=headers | {"origin": "https://a.example"}).status_code == 200


def test_a_service_may_be_called_by_the_names_it_is_given(tmp_path: Path):
    names = "toolscout:8080, Tools.Example.com"
    with running(tmp_path, "--allowed-hosts", names, TOOLSCOUT_API_KEYS=ZENITH) as server:
        key = {"x-api-key": ZENITH}
        for host in ("toolscout:8080", "tools.example.com", "tools.example.com:1", "localhost:8"):
            assert server.post(BODY, headers=key | {"host": host}).status_code == 200
        for host in ("toolscout:8081", "toolscout", "evil.example"):
            problem_of(server.post(BODY, headers=key | {"host": host}), 421, "misdirected")
