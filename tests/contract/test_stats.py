"""Figures of use over the wire."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import ACME_NEW, ACME_OLD, ZENITH
from tests.in_process import serving
from tests.support import TOOLS, Server, crowd

STATS = "/v1/stats"


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a service of its own, so that every search is known."""
    keys = f"acme={ACME_OLD},acme={ACME_NEW},zenith={ZENITH}"
    with serving(tmp_path_factory.mktemp("counted"), api_keys=keys) as started:
        yield started


def stats(server: Server, key: str = ACME_OLD) -> Any:
    return server.get(STATS, **{"x-api-key": key}).json()


def test_searches_are_told_by_ranker_phase_outcome_and_tenant(counted: Server):
    acme = {"x-api-key": ACME_NEW}
    counted.search("read a text file", TOOLS, headers=acme)
    for _ in range(3):
        counted.search("read a text file", TOOLS, headers=acme, ranker="bm25")
    counted.search("zzqx wqqz", TOOLS, headers=acme)
    counted.search("spin", crowd(3), headers={"x-api-key": ZENITH})
    body = stats(counted)
    assert body["searches"] == 5
    assert body["outcomes"] == {"match": 4, "no_match": 1}
    assert body["cache"] == {"hits": 4, "misses": 1}
    assert body["latency_ms"]["bm25"]["total"]["count"] == 3
    times = body["latency_ms"]["bm25"]["rank"]
    assert 0 < times["p50"] <= times["p95"] <= times["p99"]
    tokens = body["tokens"]
    assert tokens["offered"] - tokens["selected"] == tokens["saved"] > 0
    assert body["learning"] == {"observations": 0, "tools": 0}
    assert stats(counted, ZENITH)["searches"] == 1


def test_turns_of_agents_are_counted(counted: Server):
    before = stats(counted)
    body = {"message": "read a text file", "tools": TOOLS, "tier0": ["send_email"]}
    answer = counted.post(body, "/v1/tool-discovery/hot", {"x-api-key": ACME_OLD}).json()
    after = stats(counted)
    assert (before["hot"], after["hot"]) == (0, 1)
    assert after["searches"] == before["searches"]
    assert after["latency_ms"]["hot"]["total"]["count"] == 1
    saved = after["tokens"]["saved"] - before["tokens"]["saved"]
    assert saved == answer["tokens"]["offered"] - answer["tokens"]["total"]


def test_what_was_learned_is_counted(keyed: Server):
    headers = {"x-api-key": ZENITH}
    before = stats(keyed, ZENITH)["learning"]["observations"]
    event = {"pattern": "turn", "tool": "wheel", "success": True}
    keyed.post(event, "/v1/tool-discovery/feedback", headers)
    assert stats(keyed, ZENITH)["learning"]["observations"] == before + 1


def test_tokens_saved_are_counted_by_tenant_and_none_where_nothing_fits(counted: Server):
    sample = 'toolscout_tokens_saved_total{tenant="zenith"}'
    headers = {"x-api-key": ZENITH}
    before = counted.metric(sample)
    answer = counted.search("read a file", explain=True, headers=headers).json()
    after = counted.metric(sample)
    assert after - before == answer["tokens"]["saved"] > 0
    nothing = counted.search("zxqv wvut qqkx", headers=headers)
    assert nothing.json()["selected_names"] == []
    assert counted.metric(sample) == after
    offered = counted.metric('toolscout_tokens_offered_total{tenant="zenith"}')
    assert offered >= 2 * answer["tokens"]["offered"]
    assert stats(counted, ZENITH)["tokens"]["saved"] == after
