"""The latency budget: a cheaper ranker answers in time, visibly, and the next call is full."""

from pathlib import Path

import pytest

from tests.in_process import serving
from tests.support import TOOLS, Process, crowd, until

MANY = 3_000


def selection(response) -> str:
    assert response.status_code == 200, response.text
    header: str = response.headers["x-tool-selection"]
    return header


@pytest.mark.parametrize("ranker", ["auto", "hybrid", "semantic", "bm25", "regex"])
def test_too_little_time_for_new_tools_steps_down_visibly(server: Process, ranker: str):
    tools = crowd(MANY, f"sprig{ranker}")
    name = f"sprig{ranker}_2500_spin"
    before = server.metric('toolscout_degraded_total{ranker="keyword"}')
    first = server.search(name, tools, ranker=ranker, latency_budget_ms=1)
    assert "ranker=keyword" in selection(first)
    assert "degraded=keyword" in selection(first)
    assert first.json()["selected_names"][0] == name
    assert server.metric('toolscout_degraded_total{ranker="keyword"}') == before + 1


BATCH = "/v1/tool-discovery/search:batch"


def test_new_tools_have_a_budget_of_their_own(tmp_path: Path):
    ask = {"pattern": "spin it around"}
    with serving(tmp_path, latency_budget_ms=1, cold_budget_ms=60_000) as patient:
        first = patient.post(ask | {"tools": crowd(MANY, "sconce")})
        assert "ranker=hybrid" in selection(first)
        assert "degraded=no" in selection(first)
        several = {"patterns": ["spin it round", "a sconce"], "explain": True}
        several["tools"] = crowd(MANY, "sconces")
        results = patient.post(several, BATCH).json()["results"]
        assert [each["degraded"] for each in results] == ["no", "no"]
        asked = patient.post(ask | {"tools": crowd(MANY, "corbel"), "latency_budget_ms": 1})
        assert "degraded=no" not in selection(asked)


def test_known_tools_have_no_part_in_it(tmp_path: Path):
    ask = {"pattern": "spin a finial", "tools": crowd(MANY, "finial")}
    with serving(tmp_path, latency_budget_ms=60_000, cold_budget_ms=1) as hasty:
        assert "degraded=keyword" in selection(hasty.post(ask))
        until(lambda: "cache=hit" in selection(hasty.post(ask)))
        assert "degraded=no" in selection(hasty.post(ask))


def test_the_compile_goes_on_and_the_next_call_is_full(server: Process):
    tools = crowd(MANY, "trellis")
    first = server.search("spin trellis", tools, latency_budget_ms=1)
    assert "degraded=no" not in selection(first)
    digest = first.headers["x-catalog-digest"]

    def known() -> bool:
        return server.search("spin trellis", catalog=digest).status_code == 200

    until(known)
    second = server.search("spin trellis", tools)
    assert "cache=hit" in selection(second)
    assert "degraded=no" in selection(second)
    assert "ranker=hybrid" in selection(second)


def test_a_degraded_answer_explains_its_names(server: Process):
    tools = TOOLS + crowd(MANY, "pergola")
    body = server.search("read a file", tools, latency_budget_ms=1, explain=True).json()
    assert body["degraded"] == "keyword"
    assert body["selected_names"][0] == "read_file"
    assert [match["name"] for match in body["matches"]] == body["selected_names"]
    assert body["counts"]["unique"] == len(tools)


def test_ten_thousand_new_tools_are_answered(server: Process):
    tools = [*crowd(9_999, "lattice"), TOOLS[5]]
    response = server.post({"pattern": "show my meetings in the calendar", "tools": tools})
    assert selection(response).startswith("10000->")
    assert response.json()["selected_names"][0] == "list_meetings"


def test_known_tools_are_ranked_in_full_within_the_default_budget(server: Process):
    server.search()
    response = server.post({"pattern": "read a file", "tools": TOOLS})
    assert "degraded=no" in selection(response)


def test_the_log_tells_a_step_down(server: Process):
    tools = crowd(MANY, "gazebo")
    server.search("gazebo", tools, latency_budget_ms=1, headers={"x-request-id": "step-1"})
    until(lambda: any("step-1" in line for line in server.stdout.splitlines()))
    line = next(line for line in server.stdout.splitlines() if '"step-1"' in line)
    assert '"degraded":"keyword"' in line
