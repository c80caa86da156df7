"""Prometheus metrics: what is counted, and what never stands in them."""

import re

import pytest

from tests.support import TOOLS, Process, crowd

SEARCH_COUNTS = [
    'toolscout_requests_total{outcome="match"}',
    'toolscout_request_duration_seconds_count{phase="total"}',
    'toolscout_request_duration_seconds_count{phase="decode"}',
    'toolscout_request_duration_seconds_count{phase="rank"}',
    "toolscout_offered_tools_count",
    "toolscout_selected_tools_count",
]


@pytest.mark.parametrize("sample", SEARCH_COUNTS)
def test_a_search_is_counted_once(server: Process, sample: str):
    before = server.metric(sample)
    assert server.search("read a text file").status_code == 200
    assert server.metric(sample) == before + 1


def test_hits_and_misses_are_counted(server: Process):
    hit, miss = (f'toolscout_catalog_cache_requests_total{{result="{r}"}}' for r in ("hit", "miss"))
    before = server.metric(hit), server.metric(miss)
    for _ in range(3):
        server.search(tools=crowd(5, "gasket"))
    assert (server.metric(hit), server.metric(miss)) == (before[0] + 2, before[1] + 1)
    assert server.metric("toolscout_catalog_cache_bytes") > 0
    assert server.metric("toolscout_catalog_cache_entries") > 0


def test_offered_tools_are_counted_without_duplicates(server: Process):
    before = server.metric("toolscout_offered_tools_sum")
    server.search(tools=TOOLS + TOOLS)
    assert server.metric("toolscout_offered_tools_sum") == before + len(TOOLS)


def test_memory_time_and_files_of_the_process_are_there(server: Process):
    assert server.metric("process_resident_memory_bytes") > 30 * 2**20
    assert server.metric("process_cpu_seconds_total") > 0.1
    assert 3 < server.metric("process_open_fds") < server.metric("process_max_fds")
    assert server.metric("process_start_time_seconds") > 1.7e9


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("", "text/plain; version=0.0.4; charset=utf-8"),
        ("*/*", "text/plain; version=0.0.4; charset=utf-8"),
        ("application/openmetrics-text;version=1.0.0;q=0.5", "application/openmetrics-text"),
        ("text/plain;version=1.0.0;q=0.3,*/*;q=0.2", "text/plain; version=1.0.0"),
        ("application/openmetrics-text;version=1.x", "text/plain; version=0.0.4"),
        ("text/plain;version=;;;,,", "text/plain; version=0.0.4"),
    ],
)
def test_a_scraper_gets_the_form_that_it_accepts(server: Process, accept: str, media: str):
    answer = server.get("/metrics", accept=accept)
    assert answer.headers["content-type"].startswith(media)
    assert "toolscout_requests_total{" in answer.text
    assert answer.text.endswith("# EOF\n") == ("openmetrics" in media)
    assert "_created" not in answer.text


def test_nothing_of_a_request_stands_in_a_metric(server: Process):
    tools = [{"name": "plughtool", "description": "plughtext"}]
    server.search("plughpattern", tools, ranker="semantic")
    server.search(ranker="plughranker")
    server.get("/plughpath")
    assert "plugh" not in server.get("/metrics").text


def test_every_metric_has_a_name_of_ours_a_type_and_a_help(server: Process):
    text = server.get("/metrics").text
    families = re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE)
    assert len(families) >= 10
    for name, _ in families:
        assert name.startswith(("toolscout_", "process_"))
        assert f"# HELP {name} " in text
    assert {
        "toolscout_shed_total",
        "toolscout_degraded_total",
        "toolscout_inflight_requests",
        "toolscout_build_info",
    } <= {name for name, _ in families}
