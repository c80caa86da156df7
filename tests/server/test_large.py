"""Lists that `cache_bytes` has no room for, and lists too large to rank on the event loop."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.support import Server, crowd, problem_of, running, until
from toolscout.server.calls.search import RANKED_AT_ONCE

MIB = str(1 << 20)
LARGE = crowd(400, "girder")
FEW = crowd(40, "rivet")


@pytest.fixture(scope="module")
def tight(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("tight"), "--cache-bytes", MIB) as server:
        yield server


def put(server: Server, tools: list) -> httpx2.Response:
    return server.client.put("/v1/catalogs/parts", json={"tools": tools})


def test_a_catalog_that_cannot_be_kept_is_refused_by_name(tight: Server):
    refused = problem_of(put(tight, LARGE), 422, "too_many_tools")
    assert "half of cache_bytes is" in refused["detail"]
    assert put(tight, FEW).status_code == 201


def test_a_list_that_cannot_be_kept_is_answered_by_words_and_the_answer_tells_why(tight: Server):
    tools = [*LARGE, *crowd(3, "strut")]
    for _ in range(3):
        answer = tight.search("girder_17_spin", tools, explain=True)
        body = answer.json()
        assert body["selected_names"][0] == "girder_17_spin"
        assert body["degraded"] == "keyword"
        assert any("half of cache_bytes is" in note for note in body["notes"])
        assert "degraded=keyword" in answer.headers["x-tool-selection"]
    until(lambda: "403 tools take" in tight.stdout)
    assert tight.stdout.count("403 tools take") == 1  # compiled once, and logged then


def test_a_list_that_cannot_be_kept_has_no_digest_to_search_by(tight: Server):
    digest = tight.search("spin", LARGE).headers["x-catalog-digest"]
    problem_of(tight.search("spin", catalog=digest), 404, "catalog_unknown")


@pytest.mark.integration
def test_a_list_beyond_the_event_loop_is_ranked_like_any_other(tmp_path: Path):
    tools = crowd(RANKED_AT_ONCE + 1, "joist")
    with running(tmp_path, "--max-tools", "30000") as large:
        digest = large.search("spin", tools).headers["x-catalog-digest"]
        until(lambda: large.search("spin", catalog=digest).status_code == 200)
        found = large.search("joist_17_spin", catalog=digest, latency_budget_ms=10_000)
        assert "degraded=no" in found.headers["x-tool-selection"]
        assert found.json()["selected_names"][0] == "joist_17_spin"
