"""A list of which a few tools have changed is answered as any other, and at once by all it has."""

from pathlib import Path

import pytest

from tests.conftest import ACME_OLD, ZENITH
from tests.in_process import serving
from tests.support import Server, crowd, problem_of, until

NEW = {"name": "ship_parcel", "description": "Ship a parcel, as of today"}


def known(server: Server, word: str) -> list:
    """Return tools whose list is compiled completely."""
    tools = crowd(60, word)
    assert "ranker=hybrid" in server.search(tools=tools).headers["x-tool-selection"]
    return tools


def test_what_has_changed_is_found_and_what_is_gone_is_not(server: Server):
    tools = known(server, "washer")
    assert server.names("ship a parcel", [*tools, NEW], top_k=1) == ["ship_parcel"]
    later = [*tools, {**NEW, "name": "post_parcel"}]
    assert server.names("ship a parcel", later, top_k=1) == ["post_parcel"]
    assert "washer_7_spin" not in server.names("washer_7_spin", [*tools[:7], *tools[8:]])


def test_it_is_ranked_by_meaning_with_hardly_any_time(server: Server):
    tools = known(server, "spacer")
    answer = server.search("send a package", [*tools, NEW], latency_budget_ms=100, ranker="hybrid")
    assert answer.json()["selected_names"][0] == "ship_parcel"
    assert (
        answer.headers["x-catalog-digest"] != server.search(tools=tools).headers["x-catalog-digest"]
    )


def test_the_same_tools_in_another_order_are_the_same_catalog(server: Server):
    tools = known(server, "gasket")
    first, other = server.search(tools=tools), server.search(tools=tools[::-1])
    assert first.headers["x-catalog-digest"] == other.headers["x-catalog-digest"]
    assert first.content == other.content


@pytest.mark.parametrize("repeated", [0, 59])
def test_a_tool_that_is_sent_twice_is_offered_once(server: Server, repeated: int):
    tools = known(server, "rivet")
    answer = server.search("spin", [*tools, tools[repeated]], include_definitions=True)
    assert answer.headers["x-tool-selection"].startswith("60->")


def test_a_fault_among_the_new_is_told_by_its_place_in_the_list(server: Server):
    tools = known(server, "flange")
    wrong = {"name": "wrong", "description": "x", "status": "broken"}
    body = problem_of(
        server.search(tools=[*tools[:30], wrong, *tools[30:]]), 422, "invalid_request"
    )
    assert body["errors"][0]["path"] == "tools[30].status"


def test_what_one_caller_sent_is_nothing_that_another_changed(keyed: Server):
    acme = {"authorization": f"Bearer {ACME_OLD}"}
    zenith = {"authorization": f"Bearer {ZENITH}"}
    tools = crowd(60, "dowel")
    keyed.search(tools=tools, headers=acme)
    changed = keyed.search("ship a parcel", [*tools, NEW], headers=acme)
    digest = changed.headers["x-catalog-digest"]
    assert changed.json()["selected_names"][0] == "ship_parcel"
    problem_of(keyed.search(catalog=digest, headers=zenith), 404, "catalog_unknown")
    other = keyed.search("ship a parcel", [*tools, NEW], headers=zenith)
    assert other.content == changed.content


def test_a_compile_in_place_that_fails_is_logged_counted_and_done_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def broken(*_: object) -> None:
        raise KeyError("a defect")

    with serving(tmp_path) as server:
        tools = known(server, "shim")
        monkeypatch.setattr("toolscout.index.changed.LatestLists.compare", broken)
        assert server.names("ship a parcel", [*tools, NEW], top_k=1) == ["ship_parcel"]
        assert server.metric("toolscout_compile_failures_total") == 1
        until(lambda: "compile_failed" in server.stdout)
    assert "KeyError: 'a defect'" in server.stdout
