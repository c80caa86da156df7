"""What one process registers or changes under a name, as the other process answers it."""

import asyncio
from typing import Any

import pytest

from tests.conftest import ACME_NEW, ACME_OLD
from tests.contract.two_processes import known, pair
from tests.support import PATIENCE_S, Server, crowd, until
from toolscout.server.calls import lookup
from toolscout.state.registry import Registry

__all__ = ["pair"]  # a fixture, found by its name


def test_a_registered_name_is_never_unknown_while_its_tools_are_compiled(
    pair: tuple[Server, Server],
):
    one, two = pair
    body = {"tools": crowd(3_000, "cog")}
    put = one.client.put("/v1/catalogs/large", json=body, headers={"x-api-key": ACME_OLD})
    assert put.status_code == 201
    hasty = {"pattern": "spin cog 7", "catalog": "large", "latency_budget_ms": 20}
    for _ in range(20):
        assert two.post(hasty, headers={"x-api-key": ACME_NEW}).status_code in (200, 503)
    until(lambda: known(two, "large", ACME_NEW, pattern="spin cog 7"))


def test_a_registered_name_is_known_to_the_other_process_with_its_first_search(
    pair: tuple[Server, Server],
):
    one, two = pair
    for number in range(20):
        body = {"tools": crowd(200, f"gear{number}")}
        put = one.client.put(f"/v1/catalogs/n{number}", json=body, headers={"x-api-key": ACME_OLD})
        assert put.status_code == 201
        assert known(two, f"n{number}", ACME_NEW, pattern=f"spin gear{number} 7")


def test_a_change_by_the_other_process_is_answered_by_what_was_there_until_it_is_complete(
    pair: tuple[Server, Server],
):
    one, two = pair
    tools = crowd(3_000, "winch")
    older, newer = {"x-api-key": ACME_OLD}, {"x-api-key": ACME_NEW}
    for changed in (tools, [*tools, {"name": "hoist_barge", "description": "Hoist a barge"}]):
        assert one.client.put(
            "/v1/catalogs/dock", json={"tools": changed}, headers=older
        ).is_success
        hasty = {"pattern": "hoist a barge", "catalog": "dock", "latency_budget_ms": 1}
        if changed is tools:
            until(lambda: known(two, "dock", ACME_NEW, pattern="spin winch 7"))
    answer = two.post(hasty, headers=newer)
    assert "cache=hit" in answer.headers["x-tool-selection"]
    until(lambda: "hoist_barge" in two.post(hasty, headers=newer).json()["selected_names"])


def test_a_search_that_meets_a_catalog_registered_anew_has_its_whole_budget(
    pair: tuple[Server, Server], monkeypatch: pytest.MonkeyPatch
):
    one, two = pair
    older, newer = {"x-api-key": ACME_OLD}, {"x-api-key": ACME_NEW}
    find = Registry.find

    async def find_slowly(*args: Any) -> Any:
        await asyncio.sleep(1.5)
        return await find(*args)

    for word in ("bollard", "hawser"):
        one.client.delete("/v1/catalogs/quay", headers=older)
        tools = {"tools": crowd(10, word)}
        assert one.client.put("/v1/catalogs/quay", json=tools, headers=older).is_success
        if word == "bollard":
            until(lambda: known(two, "quay", ACME_NEW, pattern="spin bollard 7"))
    monkeypatch.setattr(lookup, "WAIT_S", 1.0)
    monkeypatch.setattr(Registry, "find", find_slowly)
    asked = {"pattern": "spin hawser 7", "catalog": "quay", "latency_budget_ms": 60_000}
    answer = two.post(asked, headers=newer)
    assert answer.json()["selected_names"][0] == "hawser_7_spin", answer.text


@pytest.fixture
def prompt_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for the store, however busy the machine is."""
    monkeypatch.setattr(lookup, "WAIT_S", PATIENCE_S)


@pytest.mark.usefixtures("prompt_store")
def test_a_catalog_that_was_deleted_by_the_other_process_never_answers_for_its_successor(
    pair: tuple[Server, Server],
):
    one, two = pair
    older, newer = {"x-api-key": ACME_OLD}, {"x-api-key": ACME_NEW}
    large = crowd(3_000, "capstan")
    for tools in (crowd(10, "davit"), large):
        one.client.delete("/v1/catalogs/deck", headers=older)
        assert one.client.put("/v1/catalogs/deck", json={"tools": tools}, headers=older).is_success
        if tools is not large:
            until(lambda: known(two, "deck", ACME_NEW, pattern="spin davit 7"))
    asked = {"pattern": "spin davit 7", "catalog": "deck", "latency_budget_ms": 60_000}
    assert "davit" not in str(two.post(asked, headers=newer).json()["selected_names"])


@pytest.mark.usefixtures("prompt_store")
def test_a_small_change_by_the_other_process_is_answered_with_the_first_search(
    pair: tuple[Server, Server],
):
    one, two = pair
    tools = crowd(10, "fairlead")
    for changed in (tools, tools[1:]):
        put = one.client.put(
            "/v1/catalogs/bow", json={"tools": changed}, headers={"x-api-key": ACME_OLD}
        )
        assert put.is_success
        asked = {"pattern": tools[0]["name"], "catalog": "bow", "latency_budget_ms": 60_000}
        answer = two.post(asked, headers={"x-api-key": ACME_NEW}).json()
        assert (tools[0]["name"] in answer["selected_names"]) == (changed is tools)
