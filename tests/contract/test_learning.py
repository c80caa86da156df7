"""Feedback over the wire, and what comes of it."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ACME_NEW, ACME_OLD, ZENITH
from tests.support import TOOLS, Server, crowd, problem_of, running, until
from toolscout.contract.bounds import MAX_TOOL_DEPTH

FEEDBACK, LEARNING = "/v1/tool-discovery/feedback", "/v1/learning"
HOT = "/v1/tool-discovery/hot"
WORKED: dict[str, Any] = {"pattern": "ship the parcel", "tool": "resize_image", "success": True}
KEYS = f"acme={ACME_OLD},acme={ACME_NEW},zenith={ZENITH}"


@pytest.fixture(scope="module")
def learning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service that learns, with keys."""
    folder = tmp_path_factory.mktemp("learning")
    with running(folder, "--learning", TOOLSCOUT_API_KEYS=KEYS) as started:
        yield started


@pytest.fixture
def empty(learning: Server) -> Server:
    """The same, with nothing learned."""
    for key in (ACME_OLD, ZENITH):
        assert learning.client.delete(LEARNING, headers={"x-api-key": key}).status_code == 204
    return learning


def tell(server: Server, body: Any, key: str = ACME_OLD) -> Any:
    return server.post(body, FEEDBACK, {"x-api-key": key})


def names(server: Server, key: str = ACME_OLD, **fields: Any) -> list[str]:
    return server.names("ship the parcel", headers={"x-api-key": key}, **fields)


def known(server: Server, key: str = ACME_OLD) -> Any:
    return server.get(LEARNING, **{"x-api-key": key}).json()


def test_the_next_search_follows_what_worked(empty: Server):
    assert names(empty)[:1] != ["resize_image"]
    answer = tell(empty, {"events": [WORKED] * 3})
    assert (answer.status_code, answer.json()) == (202, {"accepted": 3})
    assert names(empty)[0] == "resize_image"


def test_one_event_may_come_alone(empty: Server):
    answer = tell(empty, WORKED | {"duration_ms": 12, "session": "s", "source": "agent"})
    assert (answer.status_code, answer.json()) == (202, {"accepted": 1})
    (tool,) = known(empty)["tools"]
    assert tool["name"] == "resize_image"
    assert tool["typical_duration_ms"] == 12


def test_experience_is_a_reason(empty: Server):
    tell(empty, {"events": [WORKED] * 3})
    body = empty.search("ship the parcel", explain=True, headers={"x-api-key": ACME_OLD}).json()
    reasons = {reason["via"]: reason for reason in body["matches"][0]["reasons"]}
    assert reasons["learned"]["term"] == "worked"
    assert reasons["learned"]["weight"] > 0
    assert body["outcome"] == "match"


def test_a_tool_tells_how_its_calls_went(empty: Server):
    tools = [*TOOLS, {"name": "idle", "description": "Do nothing"}]
    put = {"tools": tools}
    empty.client.put("/v1/catalogs/used", json=put, headers={"x-api-key": ACME_OLD})

    def shown(name: str, key: str = ACME_OLD, catalog: str = "used") -> Any:
        return empty.get(f"/v1/catalogs/{catalog}/tools/{name}", **{"x-api-key": key})

    unused = shown("resize_image")
    assert not {"uses", "success_rate", "typical_duration_ms"} & set(unused.json())
    assert unused.headers["etag"]
    events = [WORKED | {"duration_ms": 12}] * 2 + [WORKED, WORKED | {"success": False}]
    tell(empty, {"events": events})
    used = shown("resizeImage")
    assert used.json() == unused.json() | {
        "uses": 4,
        "success_rate": 0.75,
        "typical_duration_ms": 12.0,
    }
    assert "etag" not in used.headers
    assert "uses" not in shown("idle").json()


def test_a_tool_that_changed_has_not_been_used(empty: Server):
    headers = {"x-api-key": ACME_OLD}
    path = "/v1/catalogs/changing"
    digest = empty.client.put(path, json={"tools": TOOLS}, headers=headers).json()["digest"]
    tell(empty, WORKED | {"catalog": digest})
    assert empty.get(f"{path}/tools/resize_image", **headers).json()["uses"] == 1
    status = {"status": {"resize_image": "unavailable"}}
    empty.client.patch(path, json=status, headers=headers)
    assert empty.get(f"{path}/tools/resize_image", **headers).json()["uses"] == 1
    other = {"upsert": [{"name": "resize_image", "description": "Crop a picture"}]}
    assert empty.client.patch(path, json=other, headers=headers).status_code == 200
    assert "uses" not in empty.get(f"{path}/tools/resize_image", **headers).json()


def test_an_explicit_ranker_does_not_listen(empty: Server):
    tell(empty, {"events": [WORKED] * 3})
    for ranker in ("bm25", "semantic", "regex"):
        assert "resize_image" not in names(empty, ranker=ranker)[:1]


def test_tenants_are_apart_and_keys_of_one_tenant_are_not(empty: Server):
    tell(empty, {"events": [WORKED] * 3})
    assert names(empty, ACME_NEW)[0] == "resize_image"
    assert names(empty, ZENITH)[:1] != ["resize_image"]
    assert known(empty, ZENITH) == {"observations": 0, "tools": []}


def test_what_was_learned_can_be_seen_and_forgotten(empty: Server):
    failed = WORKED | {"success": False}
    tell(empty, {"events": [WORKED, WORKED, WORKED, failed]})
    body = known(empty)
    assert body["observations"] == 4
    (tool,) = body["tools"]
    assert (tool["successes"], tool["failures"], tool["success_rate"]) == (3, 1, 0.75)
    assert empty.client.delete(LEARNING, headers={"x-api-key": ACME_OLD}).status_code == 204
    assert known(empty)["observations"] == 0


def test_filters_beat_experience(empty: Server):
    tell(empty, {"events": [WORKED] * 3})
    assert "resize_image" not in names(empty, filters={"exclude": ["resize_image"]})


def test_tools_that_are_not_offered_are_never_selected(empty: Server):
    tell(empty, {"events": [WORKED] * 3})
    assert "resize_image" not in names(empty, tools=crowd(5))


def test_the_hot_tools_of_a_large_list_follow_what_worked(empty: Server):
    tools = [*TOOLS, *crowd(1_100)]
    tell(empty, {"events": [WORKED] * 3})
    body = {"message": "ship the parcel", "tools": tools}

    def fitting() -> list[str]:
        answer = empty.post(body, "/v1/tool-discovery/hot", {"x-api-key": ACME_OLD})
        assert answer.status_code == 200, answer.text
        return [tool["name"] for tool in answer.json()["tiers"]["tier1"]]

    until(lambda: fitting()[:1] == ["resize_image"])


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"tool": "a", "success": True}, "pattern"),
        ({"pattern": "p", "success": True}, "tool"),
        ({"pattern": "p", "tool": "a"}, "success"),
        (WORKED | {"success": "yes"}, "success"),
        (WORKED | {"duration_ms": -1}, "duration_ms"),
        ({"events": []}, "events"),
        ({"events": [WORKED, WORKED | {"tool": ""}]}, "events[1].tool"),
    ],
)
def test_a_wrong_event_is_refused_with_its_place(learning: Server, body: Any, path: str):
    problem = problem_of(tell(learning, body), 422, "invalid_request")
    assert path in problem["errors"][0]["path"] + problem["errors"][0]["message"]


def test_a_blank_pattern_is_refused_and_nothing_is_kept(empty: Server):
    blank = WORKED | {"pattern": " "}
    problem = problem_of(tell(empty, {"events": [WORKED, blank]}), 422, "empty_pattern")
    assert problem["errors"][0]["path"] == "events[1].pattern"
    assert known(empty)["observations"] == 0


def test_a_key_is_needed(learning: Server):
    problem_of(learning.post(WORKED, FEEDBACK), 401, "unauthorized")
    problem_of(learning.get(LEARNING), 401, "unauthorized")
    problem_of(learning.client.delete(LEARNING), 401, "unauthorized")


def test_without_learning_feedback_is_not_swallowed(server: Server):
    problem_of(server.post(WORKED, FEEDBACK), 404, "not_found")
    problem_of(server.get(LEARNING), 404, "not_found")


def test_other_methods_are_told_which_there_are(learning: Server):
    response = learning.post({}, LEARNING, {"x-api-key": ACME_OLD})
    problem_of(response, 405, "method_not_allowed")
    assert response.headers["allow"] == "GET, DELETE"


def test_feedback_is_counted_by_success(learning: Server):
    before = learning.metric('toolscout_feedback_total{success="no"}')
    tell(learning, WORKED | {"success": False})
    assert learning.metric('toolscout_feedback_total{success="no"}') == before + 1


def test_feedback_that_was_accepted_survives_a_killed_process(tmp_path: Path):
    flags = ["--learning", "--store", f"sqlite:{tmp_path / 'state.db'}"]
    with running(tmp_path, *flags) as server:
        assert server.post({"events": [WORKED] * 3}, FEEDBACK).status_code == 202
        server.signal(signal.SIGKILL)
        server.wait()
    with running(tmp_path, *flags) as server:
        until(lambda: server.names("ship the parcel")[:1] == ["resize_image"])


CHAINS, INSIGHTS = "/v1/tool-discovery/chains", "/v1/tool-discovery/insights"
REPORT: dict[str, Any] = {
    "intent": "ship the parcel to a customer",
    "chain": ["search_code", "create_issue", "translate_text"],
    "success": True,
}


def report(server: Server, body: Any, times: int = 3) -> None:
    for _ in range(times):
        answer = server.post(body, CHAINS, {"x-api-key": ACME_OLD})
        assert (answer.status_code, answer.json()) == (202, {"accepted": 1})


def insight(server: Server, pattern: str, key: str = ACME_OLD) -> Any:
    return server.client.get(
        INSIGHTS, params={"pattern": pattern}, headers={"x-api-key": key}
    ).json()


def test_a_chain_is_suggested_for_a_like_intent(empty: Server):
    nothing = {"chain": [], "confidence": 0.0, "evidence": 0}
    assert insight(empty, REPORT["intent"]) == nothing
    report(empty, REPORT)
    found = insight(empty, "ship a parcel to the customers")
    assert found["chain"] == REPORT["chain"]
    assert found["evidence"] == 3
    assert 0.3 < found["confidence"] <= 1
    assert insight(empty, "weather tomorrow")["confidence"] < 0.3
    assert insight(empty, REPORT["intent"], ZENITH) == nothing


def test_a_chain_that_failed_is_not_suggested(empty: Server):
    report(empty, REPORT | {"success": False})
    assert insight(empty, REPORT["intent"])["chain"] == []


def test_the_next_tools_of_a_chain_take_free_slots(empty: Server):
    report(empty, REPORT)
    plain = names(empty, top_k=5)
    chained = names(empty, top_k=5, complete_chain=True)
    assert set(REPORT["chain"]) <= set(chained)
    assert set(REPORT["chain"]) - set(plain)
    assert len(chained) <= 5
    headers = {"x-api-key": ACME_OLD}
    body = empty.search(
        "ship the parcel", top_k=5, complete_chain=True, explain=True, headers=headers
    ).json()
    via = {match["name"]: {r["via"] for r in match["reasons"]} for match in body["matches"]}
    assert all("chain" in via[name] for name in set(REPORT["chain"]) - set(plain))


def test_a_chain_obeys_filters_pins_and_the_cap(empty: Server):
    report(empty, REPORT)
    fields: dict[str, Any] = {"complete_chain": True, "top_k": 2, "always_keep": ["get_weather"]}
    chosen = names(empty, filters={"exclude": ["search_code"]}, **fields)
    assert len(chosen) == 2
    assert "search_code" not in chosen
    assert chosen[-1] == "get_weather"


def test_a_chain_is_followed_for_its_own_intent_where_no_tool_matches(empty: Server):
    report(empty, REPORT | {"intent": "zorb the quux"}, times=2)
    headers = {"x-api-key": ACME_OLD}
    assert empty.names("zorb the quux", headers=headers) == []
    answer = empty.search(
        "zorb the quux", complete_chain=True, always_keep=["get_weather"], headers=headers
    )
    assert answer.json()["selected_names"] == [*REPORT["chain"], "get_weather"]
    assert "outcome=weak" in answer.headers["x-tool-selection"]
    assert empty.names("qqfp kkvd", complete_chain=True, headers=headers) == []


def test_one_odd_report_does_not_halve_the_confidence_of_six(empty: Server):
    report(empty, REPORT, times=6)
    before = insight(empty, REPORT["intent"])
    report(empty, REPORT | {"chain": ["get_weather", "send_email"]}, times=1)
    after = insight(empty, REPORT["intent"])
    assert after["chain"] == before["chain"]
    assert after["confidence"] > 0.8 * before["confidence"]


def test_the_hot_tools_follow_a_chain(empty: Server):
    report(empty, REPORT)
    body = {"message": REPORT["intent"], "tools": TOOLS}
    tiers = empty.post(body, HOT, {"x-api-key": ACME_OLD}).json()["tiers"]
    assert set(REPORT["chain"]) <= {tool["name"] for tool in tiers["tier1"]}


@pytest.mark.parametrize("failures", [1, 20])
def test_failures_alone_take_no_tool_out_of_the_answer(empty: Server, failures: int):
    tools = [*TOOLS, *crowd(40)]
    headers = {"x-api-key": ACME_OLD}
    for pattern in ("read a text file", "spin gadget number 7"):
        before = empty.names(pattern, tools, headers=headers)
        for tool in before:
            event = {"pattern": pattern, "tool": tool, "success": False}
            tell(empty, {"events": [event] * failures})
            after = empty.names(pattern, tools, headers=headers)
            assert set(after) == set(before)
            assert after.index(tool) - before.index(tool) <= 2
            empty.client.delete(LEARNING, headers=headers)


def test_a_later_success_makes_up_for_a_failure(empty: Server):
    tools = [*TOOLS, *crowd(40)]
    headers = {"x-api-key": ACME_OLD}
    pattern = "spin gadget"
    before = empty.names(pattern, tools, headers=headers)
    event = {"pattern": pattern, "tool": before[0]}
    tell(empty, {"events": [event | {"success": False}] * 3})
    assert empty.names(pattern, tools, headers=headers)[0] != before[0]
    tell(empty, {"events": [event | {"success": True}] * 3})
    assert empty.names(pattern, tools, headers=headers) == before


def test_a_named_tool_stays_before_the_chain(empty: Server):
    report(empty, REPORT | {"intent": "call resize_image"})
    headers = {"x-api-key": ACME_OLD}
    chosen = empty.names("call resize_image", complete_chain=True, headers=headers)
    assert chosen[0] == "resize_image"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (REPORT | {"chain": ["alone"]}, "invalid_request"),
        (REPORT | {"chain": ["a"] * 21}, "invalid_request"),
        (REPORT | {"intent": " "}, "empty_pattern"),
        ({"chain": ["a", "b"], "success": True}, "invalid_request"),
    ],
)
def test_a_wrong_chain_is_refused(learning: Server, body: Any, code: str):
    problem_of(learning.post(body, CHAINS, {"x-api-key": ACME_OLD}), 422, code)


def test_an_insight_needs_a_pattern(learning: Server):
    answer = learning.get(INSIGHTS, **{"x-api-key": ACME_OLD})
    problem_of(answer, 422, "empty_pattern")


def test_a_tool_that_failed_keeps_a_score_between_zero_and_one(empty: Server):
    events = [{"pattern": "read a file", "tool": "read_file", "success": False}] * 20
    tell(empty, {"events": events})
    headers = {"x-api-key": ACME_OLD}
    body = empty.search("read a file", explain=True, headers=headers).json()
    assert body["selected_names"]
    assert all(0 <= match["score"] <= 1 for match in body["matches"])


def test_a_tool_is_the_same_however_its_json_is_written(empty: Server):
    def uses(schema: str) -> int | None:
        tools = f'[{{"name": "resize_image", "parameters": {schema}}}]'
        key = {"x-api-key": ACME_OLD}
        body = f'{{"pattern": "resize", "tools": {tools}}}'.encode()
        digest = empty.post(body, headers=key).headers["x-catalog-digest"]
        if not known(empty)["observations"]:
            tell(empty, WORKED | {"catalog": digest})
        return empty.get(f"/v1/catalogs/{digest}/tools/resize_image", **key).json().get("uses")

    assert uses('{"type":"object","properties":{"w":{"type":"number"}}}') == 1
    assert uses('{"properties": {"w": {"type": "number"}}, "type": "object"}') == 1
    assert uses('{"type": "object", "properties": {"w": {"type": "string"}}}') is None


def test_a_tool_nested_as_deep_as_may_be_is_learned(empty: Server):
    key = {"x-api-key": ACME_OLD}
    taken = 0
    for depth in range(MAX_TOOL_DEPTH - 3, MAX_TOOL_DEPTH + 2):
        schema = '{"a":' * depth + "{}" + "}" * depth
        tools = f'[{{"name": "resize_image", "parameters": {schema}}}]'
        answer = empty.post(f'{{"pattern": "resize", "tools": {tools}}}'.encode(), headers=key)
        assert answer.status_code in (200, 400)
        if answer.status_code == 200:
            digest = answer.headers["x-catalog-digest"]
            taken += tell(empty, WORKED | {"catalog": digest}).json()["accepted"]
    assert known(empty)["observations"] == taken == 3


def test_a_tool_whose_annotations_no_parser_takes_is_learned_as_it_was_sent(empty: Server):
    key = {"x-api-key": ACME_OLD}
    tools = b'[{"name": "resize_image", "annotations": {"most": 1e999}}]'
    body = b'{"pattern": "resize_image", "tools": ' + tools + b"}"
    digest = empty.post(body, headers=key).headers["x-catalog-digest"]
    tell(empty, WORKED | {"catalog": digest})
    assert empty.post(body, headers=key).json()["selected_names"] == ["resize_image"]
    (tool,) = known(empty)["tools"]
    assert tool["content"]
