"""Registered catalogs over HTTP."""

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.conftest import ACME_OLD, ZENITH
from tests.in_process import serving
from tests.support import TOOLS, Server, crowd, problem_of, until
from toolscout.server.calls import catalogs as calls

FILTER = "/v1/tool-discovery/filter"
TOOL = {"name": "turn_wheel", "description": "Turn the wheel of the mill. Slowly, e.g. by hand."}


def url(name: str, rest: str = "") -> str:
    return f"/v1/catalogs/{name}{rest}"


def put(server: Server, name: str, tools: Any = TOOLS, **headers: str) -> httpx2.Response:
    return server.client.put(url(name), json={"tools": tools}, headers=headers)


def patch(server: Server, name: str, body: Any, **headers: str) -> httpx2.Response:
    return server.client.patch(url(name), json=body, headers=headers)


def names(server: Server, name: str) -> list[str]:
    page = server.get(url(name, "/tools?detail=names&page_size=1000")).json()
    return [tool["name"] for tool in page["tools"]]


@pytest.mark.parametrize("name", ["-a", ".a", "a b", "ä", "a+b", "a" * 129])
@pytest.mark.parametrize("rest", ["", "/tools", "/index"])
def test_a_name_that_cannot_be_is_told_what_can(server: Server, name: str, rest: str):
    for response in (server.get(url(name, rest)), *([] if rest else [put(server, name)])):
        problem = problem_of(response, 422, "invalid_request")
        assert problem["errors"][0]["path"] == "id"
        assert "A-Z" in problem["detail"]


def test_a_tenant_has_a_limited_number_of_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(calls, "MAX_CATALOGS", 3)
    with serving(tmp_path) as full:
        for number in range(3):
            assert put(full, f"catalog{number}").is_success
        assert put(full, "catalog1").is_success
        problem = problem_of(put(full, "one-more"), 422, "invalid_request")
        assert "at most 3" in problem["detail"]
        assert full.client.delete(url("catalog1")).status_code == 204
        assert put(full, "one-more").status_code == 201


def test_a_change_that_makes_a_list_too_long_is_refused(small: Server):
    five = [{"name": f"tool{number}"} for number in range(5)]
    put(small, "full", five)
    problem = problem_of(patch(small, "full", {"upsert": [{"name": "a"}]}), 422, "too_many_tools")
    assert problem["errors"][0]["path"] == "upsert"
    one_for_one = {"upsert": [{"name": "a"}], "remove": ["tool0"]}
    assert patch(small, "full", one_for_one).status_code == 200
    many = {"upsert": [{"name": f"new{number}"} for number in range(6)]}
    problem = problem_of(patch(small, "full", many), 422, "too_many_tools")
    assert problem["errors"][0]["path"] == "upsert"


@pytest.mark.parametrize(
    "rest", ["", "/tools", "/tools?detail=names", "/index", "/overview", "/tools:complete?prefix=s"]
)
def test_what_the_caller_has_already_is_not_sent_again(server: Server, rest: str):
    put(server, "steady")
    first = server.get(url("steady", rest))
    tag = first.headers["etag"]
    again = server.get(url("steady", rest), **{"if-none-match": tag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    other = server.get(url("steady", rest), **{"if-none-match": '"other"'})
    assert (other.status_code, other.content) == (200, first.content)


def test_a_list_is_registered_described_and_deleted(server: Server):
    made = put(server, "mill")
    assert made.status_code == 201
    body = made.json()
    assert (body["id"], body["tools"], body["version"]) == ("mill", len(TOOLS), 1)
    assert made.headers["etag"] == f'"{body["digest"]}"'
    assert server.get(url("mill")).json() == body
    assert server.client.delete(url("mill")).status_code == 204
    problem_of(server.get(url("mill")), 404, "catalog_unknown")
    problem_of(server.client.delete(url("mill")), 404, "catalog_unknown")


def test_the_same_content_again_is_the_same_version(server: Server):
    first, again = put(server, "same"), put(server, "same", TOOLS[::-1])
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    changed = put(server, "same", [*TOOLS, TOOL])
    assert changed.json()["version"] == 2
    assert changed.json()["digest"] != first.json()["digest"]


def test_a_search_names_the_catalog(server: Server):
    put(server, "searched", [*TOOLS, TOOL])
    inline = server.names("turn the wheel", [*TOOLS, TOOL])
    assert server.names("turn the wheel", catalog="searched") == inline
    put(server, "searched", TOOLS)
    assert "turn_wheel" not in server.names("turn the wheel", catalog="searched")
    problem_of(server.search(catalog="never-registered"), 404, "catalog_unknown")


def test_a_list_that_was_registered_or_changed_is_complete_at_once(server: Server):
    put(server, "whole", crowd(1_500, "cog"))
    asked = {"pattern": "turn the wheel", "catalog": "whole", "latency_budget_ms": 60_000}
    for _ in range(2):
        answer = server.post(asked)
        selection = answer.headers["x-tool-selection"]
        assert "cache=hit" in selection  # which a list has only once its vectors are made
        assert "degraded=no" in selection
        server.client.patch("/v1/catalogs/whole", json={"upsert": [TOOL]})
    assert "turn_wheel" in answer.json()["selected_names"]


def test_a_digest_can_be_looked_into_like_a_name(server: Server):
    digest = server.search(tools=TOOLS).headers["x-catalog-digest"]
    until(lambda: server.get(url(digest)).status_code == 200)
    assert server.get(url(digest)).json() == {"id": digest, "digest": digest, "tools": len(TOOLS)}
    assert names(server, digest) == sorted(tool["name"] for tool in TOOLS)
    problem_of(put(server, digest), 422, "invalid_request")


def test_tools_are_added_replaced_and_removed_together(server: Server):
    put(server, "changed")
    newer = {"name": "read_file", "description": "Read a scroll"}
    body = {"upsert": [TOOL, newer], "remove": ["send_email", "never_there"]}
    assert patch(server, "changed", body).json()["tools"] == len(TOOLS)
    assert "send_email" not in names(server, "changed")
    assert "turn_wheel" in names(server, "changed")
    shown = server.get(url("changed", "/tools/read_file")).json()
    assert shown["summary"] == "Read a scroll"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"status": {"read_file": "broken"}}, "status"),
        ({"upsert": [{"description": "nameless"}]}, "upsert[0]"),
        ({"upsert": [{"name": "a", "definition": "text"}]}, "upsert[0].definition"),
        ({"ttl_s": 0}, "ttl_s"),
    ],
)
def test_a_wrong_change_is_refused_and_changes_nothing(server: Server, body: Any, path: str):
    before = put(server, "kept").json()
    problem = problem_of(patch(server, "kept", body), 422, "invalid_request")
    assert problem["errors"][0]["path"].startswith(path)
    assert server.get(url("kept")).json() == before


def test_what_is_not_there_cannot_be_changed(server: Server):
    before = put(server, "kept").json()
    unknown = patch(server, "kept", {"remove": ["read_file"], "status": {"a": "available"}})
    assert problem_of(unknown, 404, "not_found")["errors"][0]["path"] == "status"
    assert server.get(url("kept")).json() == before
    problem_of(patch(server, "nowhere", {"remove": ["a"]}), 404, "catalog_unknown")


def test_conditions_are_honoured(server: Server):
    tag = put(server, "guarded").headers["etag"]
    other = {"if-match": '"0000"'}
    for refused in (
        put(server, "guarded", [TOOL], **other),
        patch(server, "guarded", {"remove": ["read_file"]}, **other),
        server.client.delete(url("guarded"), headers=other),
        put(server, "guarded", [TOOL], **{"if-none-match": "*"}),
        put(server, "unheard-of", [TOOL], **{"if-match": "*"}),
    ):
        problem_of(refused, 412, "precondition_failed")
    assert server.get(url("guarded")).headers["etag"] == tag
    assert server.get(url("guarded"), **{"if-none-match": tag}).status_code == 304
    assert put(server, "guarded", [TOOL], **{"if-match": tag}).status_code == 200
    assert put(server, "fresh", [TOOL], **{"if-none-match": "*"}).status_code == 201


def test_null_is_as_absent(server: Server):
    body = {"tools": TOOLS, "ttl_s": None, "keep": None}
    assert server.client.put(url("nulls"), json=body).status_code in (200, 201)


def test_a_catalog_expires(server: Server):
    body = {"tools": TOOLS, "ttl_s": 600}
    made = server.client.put(url("brief"), json=body)
    assert "expires_at" in made.json()
    assert server.get(url("brief")).status_code == 200
    assert server.client.put(url("brief"), json=body | {"ttl_s": 0.01}).status_code == 200
    until(lambda: server.get(url("brief")).status_code == 404)
    problem_of(server.get(url("brief")), 404, "catalog_unknown")


def test_changes_at_the_same_time_are_all_kept(server: Server):
    put(server, "busy", [TOOL])

    async def all_of_them() -> list[int]:
        async with server.async_client() as client:
            tools = crowd(4, "valve")
            answers = await asyncio.gather(
                *(client.patch(url("busy"), json={"upsert": [tool]}) for tool in tools)
            )
            return [answer.status_code for answer in answers]

    assert asyncio.run(all_of_them()) == [200] * 4
    assert len(names(server, "busy")) == 5


def test_pages_follow_each_other_without_a_gap_or_an_empty_last_one(server: Server):
    tools = crowd(10, "pump")
    put(server, "paged", tools)
    found, cursor, pages = [], "", 0
    while True:
        page = server.get(url("paged", f"/tools?page_size=5&detail=names{cursor}")).json()
        found += [tool["name"] for tool in page["tools"]]
        pages += 1
        if "next_cursor" not in page:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert found == sorted(tool["name"] for tool in tools)
    assert pages == 2
    assert page["total"] == 10


@pytest.mark.parametrize("cursor", ["", "x", "12", "%C3%A9", "OjU6NQ=="])
def test_a_cursor_of_no_page_is_refused(server: Server, cursor: str):
    put(server, "cursors", crowd(9, "crank"))
    answer = server.get(url("cursors", f"/tools?cursor={cursor}"))
    problem_of(answer, 400, "bad_cursor")


def test_a_cursor_belongs_to_its_content(server: Server):
    put(server, "moved", crowd(9, "gear"))
    cursor = server.get(url("moved", "/tools?page_size=2")).json()["next_cursor"]
    put(server, "moved", crowd(8, "gear"))
    problem_of(server.get(url("moved", f"/tools?cursor={cursor}")), 400, "bad_cursor")


@pytest.mark.parametrize(
    "query",
    ["page_size=0", "page_size=x", "page_size=1001", "detail=all", "page_size=" + "9" * 5_000],
)
def test_a_wrong_query_is_refused(server: Server, query: str):
    put(server, "queried")
    problem = problem_of(server.get(url("queried", f"/tools?{query}")), 422, "invalid_request")
    assert problem["errors"][0]["path"] == query.partition("=")[0]


@pytest.mark.parametrize("spelling", ["turn_wheel", "turnWheel", "turn-wheel", "turn%20wheel"])
def test_a_tool_is_found_by_any_spelling(server: Server, spelling: str):
    put(server, "spelled", [*TOOLS, TOOL])
    brief = server.get(url("spelled", f"/tools/{spelling}")).json()
    assert brief["name"] == "turn_wheel"
    assert brief["summary"] == "Turn the wheel of the mill."
    assert "description" not in brief
    full = server.get(url("spelled", f"/tools/{spelling}?detail=full")).json()
    assert full["description"] == TOOL["description"]


def test_several_tools_come_whole_with_what_the_others_may_have_meant(server: Server):
    put(server, "several")
    body = server.post({"names": ["readFile", "red_file", "zzz"]}, url("several", "/tools:batch"))
    answer = body.json()
    assert [tool["name"] for tool in answer["schemas"]] == ["read_file"]
    assert answer["count"] == 1
    assert answer["errors"] == [{"name": "red_file", "suggestions": ["read_file"]}, {"name": "zzz"}]


def test_names_are_completed_in_any_spelling(server: Server):
    put(server, "completed", [*TOOLS, {"name": "mcp__files__read_dir"}])
    answer = server.get(url("completed", "/tools:complete?prefix=readF")).json()
    assert answer == {"names": ["read_file"]}
    answer = server.get(url("completed", "/tools:complete?prefix=read")).json()
    assert answer == {"names": ["mcp__files__read_dir", "read_file"]}
    assert server.get(url("completed", "/tools:complete?prefix=")).json() == {"names": []}


def test_the_index_has_every_tool_in_a_line(server: Server):
    long = {"name": "long_one", "description": "word " * 100}
    put(server, "indexed", [*TOOLS, long])
    tools = server.get(url("indexed", "/index")).json()["tools"]
    assert [tool["name"] for tool in tools] == sorted(tool["name"] for tool in [*TOOLS, long])
    assert all(len(tool["summary"]) <= 123 for tool in tools)


@pytest.mark.parametrize("count", [1, 2_000])
def test_an_overview_is_short_however_large_the_catalog(server: Server, count: int):
    tools = [{"name": f"space{n % 300}__tool_{n}"} for n in range(count)]
    put(server, "large", tools)
    body = server.get(url("large", "/overview")).json()
    assert body["tools"] == count
    assert len(body["text"]) <= 2_000
    assert "space0" in body["text"]


def test_tenants_register_apart_and_need_a_key(keyed: Server):
    problem_of(put(keyed, "mine"), 401, "unauthorized")
    assert put(keyed, "mine", TOOLS, **{"x-api-key": ACME_OLD}).status_code == 201
    problem_of(keyed.get(url("mine"), **{"x-api-key": ZENITH}), 404, "catalog_unknown")
    assert keyed.get(url("mine"), **{"x-api-key": ACME_OLD}).status_code == 200


def test_a_registered_catalog_outlives_the_process(tmp_path: Path):
    store = f"sqlite:{tmp_path / 'state.db'}"
    with serving(tmp_path, store=store) as server:
        tag = put(server, "lasting", [*TOOLS, TOOL]).headers["etag"]
    with serving(tmp_path, store=store) as server:
        assert server.get(url("lasting")).headers["etag"] == tag
        # A search waits 5 ms for the store; on a busy machine the first may be too early.
        until(lambda: server.search("turn", catalog="lasting").status_code == 200)
        found = server.names("turn the wheel", catalog="lasting")
        assert found[0] == "turn_wheel"


def test_a_status_can_be_read_back_and_taken_back(server: Server):
    digest = put(server, "told", [*TOOLS, TOOL]).json()["digest"]
    gone = patch(server, "told", {"status": {"turn_wheel": "unavailable"}})
    assert gone.status_code == 200
    assert "turn_wheel" not in server.names("turn the wheel", catalog="told")
    assert server.get(url("told", "/tools/turn_wheel")).json()["status"] == "unavailable"
    kept = server.post({"query": "turn the wheel", "catalog": "told", "max_tools": 1}, FILTER)
    assert "turn_wheel" not in kept.json()["kept"] + kept.json()["deferred"]
    back = patch(server, "told", {"status": {"turn_wheel": "available"}})
    assert back.json()["digest"] == digest
    assert server.names("turn the wheel", catalog="told")[0] == "turn_wheel"
