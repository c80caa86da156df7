"""What the calls beside search share: keys, limits, errors, digests, metrics, the log."""

from typing import Any

import pytest

from tests.conftest import ZENITH
from tests.support import TOOLS, Server, crowd, problem_of, until

BELOW = "/v1/tool-discovery/"
BATCH, RESOLVE, FILTER = BELOW + "search:batch", BELOW + "resolve", BELOW + "filter"
ASKED: dict[str, dict[str, Any]] = {
    BATCH: {"patterns": ["read a file"], "latency_budget_ms": 60_000},
    RESOLVE: {"names": ["read_file"]},
    FILTER: {"query": "read a file"},
}
calls = pytest.mark.parametrize("path", ASKED)


@calls
def test_the_digest_of_an_answer_stands_for_its_tools(server: Server, path: str):
    tools = crowd(8, "sextant" + path[-3:])
    sent = server.post(ASKED[path] | {"tools": tools}, path)
    assert sent.status_code == 200
    digest = sent.headers["x-catalog-digest"]

    def known() -> bool:
        return server.post(ASKED[path] | {"catalog": digest}, path).status_code == 200

    until(known)
    again = server.post(ASKED[path] | {"catalog": digest}, path)
    assert again.json() == sent.json()
    assert again.headers["x-catalog-digest"] == digest
    assert server.search(tools=tools).headers["x-catalog-digest"] == digest
    assert "decode;dur=" in again.headers["server-timing"]


@calls
def test_a_digest_of_another_tenant_is_unknown(keyed: Server, path: str):
    acme = {"x-api-key": "acme-new-0123456789abcdef0123456789abcdef"}
    tools = crowd(3, "almanac")
    digest = keyed.post({"pattern": "x", "tools": tools}, headers=acme).headers["x-catalog-digest"]
    body = ASKED[path] | {"catalog": digest}
    assert keyed.post(body, path, acme).status_code == 200
    problem_of(keyed.post(body, path, {"x-api-key": ZENITH}), 404, "catalog_unknown")


@calls
def test_a_trailing_slash_makes_no_difference(server: Server, path: str):
    body = ASKED[path] | {"tools": TOOLS}
    assert server.post(body, path + "/").json() == server.post(body, path).json()


@calls
def test_tools_are_needed_and_checked(server: Server, path: str):
    problem_of(server.post(ASKED[path], path), 422, "invalid_request")
    for wrong, place in (
        ([{"name": "a", "risk": 1}], "tools[0].risk"),
        ([{"name": "a", "tags": 1}], "tools[0]"),
    ):
        problem = problem_of(
            server.post(ASKED[path] | {"tools": wrong}, path), 422, "invalid_request"
        )
        assert problem["errors"][0]["path"].startswith(place)


@calls
def test_calls_are_counted_apart_from_searches(server: Server, path: str):
    name = {BATCH: "batch", RESOLVE: "resolve", FILTER: "filter"}[path]

    def counts() -> tuple[float, float, float]:
        good = server.metric(f'toolscout_calls_total{{call="{name}",outcome="ok"}}')
        bad = server.metric(f'toolscout_calls_total{{call="{name}",outcome="invalid_json"}}')
        timed = server.metric(f'toolscout_call_duration_seconds_count{{call="{name}"}}')
        return good, bad, timed

    before = counts()
    server.post(ASKED[path] | {"tools": TOOLS}, path)
    server.post(b"{", path)
    assert counts() == (before[0] + 1, before[1] + 1, before[2] + 2)
