"""Feedback over the wire, and what comes of it."""

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ACME_NEW, ACME_OLD, ZENITH
from tests.contract.learning import FEEDBACK, LEARNING, WORKED, known, names, tell
from tests.in_process import serving
from tests.support import TOOLS, Server, crowd, problem_of, until
from toolscout.contract.bounds import MAX_TOOL_DEPTH


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


@pytest.mark.parametrize(
    ("query", "body", "said"),
    [
        ("?person=ann", b"", "is unknown"),
        ("?session=", b"", "blank"),
        ("?session=ann&session=bob", b"", "name one session"),
        ("", b'{"session": "ann"}', "send no body"),
    ],
)
def test_a_deletion_that_is_not_understood_deletes_nothing(empty: Server, query, body, said):
    tell(empty, WORKED | {"session": "ann"})
    headers = {"x-api-key": ACME_OLD}
    gone = empty.client.request("DELETE", LEARNING + query, headers=headers, content=body)
    assert gone.status_code in (400, 422)
    assert said in gone.text
    assert known(empty)["observations"] == 1


def test_reports_of_memory_are_forgotten_together(empty: Server):
    tell(empty, {"events": [WORKED | {"session": "ann"}, WORKED]})
    gone = empty.client.delete(f"{LEARNING}?session=ann", headers={"x-api-key": ACME_OLD})
    assert gone.status_code == 204
    assert known(empty)["observations"] == 0


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


def test_without_learning_feedback_is_not_swallowed(tmp_path: Path):
    with serving(tmp_path, learning_days=0) as server:
        problem_of(server.post(WORKED, FEEDBACK), 404, "not_found")
        problem_of(server.get(LEARNING), 404, "not_found")
        assert server.get("/v1/stats").json()["learning"] is None


def test_a_tool_is_the_same_however_its_json_is_written(empty: Server):
    def uses(schema: str) -> int | None:
        tools = f'[{{"name": "resize_image", "parameters": {schema}}}]'
        key = {"x-api-key": ACME_OLD}
        # A busy machine answers before all is compiled unless it has the time.
        body = f'{{"pattern": "resize", "latency_budget_ms": 60000, "tools": {tools}}}'.encode()
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


def test_filters_beat_experience(empty: Server):
    tell(empty, {"events": [WORKED] * 3})
    assert "resize_image" not in names(empty, filters={"exclude": ["resize_image"]})
