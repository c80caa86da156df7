"""Catalogs that PostgreSQL keeps tool by tool answer like others, as far as they can."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ACME_OLD, ZENITH
from tests.contract.external_catalogs import (
    DIFF,
    LIMITED,
    RELEASED,
    ask,
    change,
    get,
    names,
    servers,
)
from tests.in_process import serving
from tests.postgres_server import PostgresServer
from tests.support import SEARCH, TOOLS, Server, crowd, problem_of

__all__ = ["servers"]  # a fixture, found by its name

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    "pattern",
    [
        *("read a file", "spin gadget 7", "gadget_12_spin", "show the diff", "zzz qqq xxyy"),
        *("dosyayı oku", "bild skalieren"),
    ],
)
def test_the_best_tools_are_those_of_the_whole_list(servers: tuple[Server, Server], pattern: str):
    whole = (
        servers[0]
        .search(pattern, [*TOOLS, *crowd(300), DIFF], headers={"x-api-key": ACME_OLD})
        .json()["selected_names"]
    )
    for server in servers:
        assert names(server, pattern)[:1] == whole[:1]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"namespaces": ["GIT"]}, ["git.show_diff"]),
        ({"tags": ["code"]}, ["git.show_diff"]),
        ({"only": ["read_file"]}, ["read_file"]),
        ({"exclude": ["read_file"], "only": ["read_file"]}, []),
        ({"tags": ["nothing"]}, []),
    ],
)
def test_filters_hold_for_what_is_brought(
    servers: tuple[Server, Server], filters: dict[str, Any], expected: list[str]
):
    found = names(servers[0], "read a file or show a diff", filters=filters, no_match_below=0)
    assert found == expected


def test_pins_and_explanations_are_there(servers: tuple[Server, Server]):
    answer = ask(servers[1], "read a file", always_keep=["git.show_diff"], explain=True).json()
    assert "git.show_diff" in answer["selected_names"]
    assert answer["counts"]["unique"] == len(TOOLS) + 301
    assert answer["matches"][0]["reasons"]


def test_a_turn_can_be_reported(servers: tuple[Server, Server]):
    assert ask(servers[0], "read a file", turn="t1").status_code == 200
    report = {"turn": "t1", "tool": "read_file", "success": True}
    head = {"x-api-key": ACME_OLD}
    assert servers[0].post(report, "/v1/tool-discovery/feedback", head).status_code == 202
    assert names(servers[0], "read a file")[0] == "read_file"


def test_a_key_sees_only_its_part(servers: tuple[Server, Server]):
    assert names(servers[0], "read a file or show a diff", key=LIMITED, no_match_below=0) == [
        "git.show_diff"
    ]
    assert get(servers[0], "/tools/read_file", LIMITED).status_code == 404
    problem_of(ask(servers[0], "read a file", ZENITH), 404, "catalog_unknown")


def test_batches_tiers_and_names_are_answered(servers: tuple[Server, Server]):
    head = {"x-api-key": ACME_OLD}
    batch = servers[0].post(
        {"patterns": ["read a file", "show the diff"], "catalog": "all"},
        f"{SEARCH}:batch",
        head,
    )
    firsts = [result["selected_names"][0] for result in batch.json()["results"]]
    assert firsts == ["read_file", "git.show_diff"]
    hot = servers[0].post(
        {"message": "show the diff", "tier0": ["read_file"], "catalog": "all"},
        "/v1/tool-discovery/hot",
        head,
    )
    assert [tool["name"] for tool in hot.json()["tiers"]["tier0"]] == ["read_file"]
    assert hot.json()["tiers"]["tier1"][0]["name"] == "git.show_diff"
    shown = sum(len(hot.json()["tiers"][tier]) for tier in ("tier0", "tier1"))
    assert hot.json()["tiers"]["deferred_count"] == len(TOOLS) + 301 - shown
    resolved = servers[0].post(
        {"names": ["readFile", "show_diff"], "catalog": "all"}, "/v1/tool-discovery/resolve", head
    )
    assert [one["name"] for one in resolved.json()["results"]] == ["read_file", "git.show_diff"]
    assert get(servers[0], "/tools/read-file").json()["name"] == "read_file"


@pytest.mark.parametrize("path", ["/tools", "/index", "/tools:complete?prefix=re", "/overview"])
def test_what_needs_all_tools_is_refused_by_name(servers: tuple[Server, Server], path: str):
    problem_of(get(servers[0], path), 422, "catalog_too_large_for")


def test_regular_expressions_and_filters_by_words_are_refused(servers: tuple[Server, Server]):
    problem_of(ask(servers[0], "read.*", ranker="regex"), 422, "catalog_too_large_for")
    assert names(servers[0], "read|write file")  # read as words
    body = {"query": "read a file", "catalog": "all"}
    answer = servers[0].post(body, "/v1/tool-discovery/filter", {"x-api-key": ACME_OLD})
    problem_of(answer, 422, "catalog_too_large_for")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"tools": TOOLS, "keep": "postgres", "ttl_s": 5}, "ttl_s"),
        ({"tools": TOOLS, "keep": "elsewhere"}, "keep"),
        ({"tools": crowd(1_001), "keep": "postgres"}, "tools"),
        ({"tools": [{"name": 5}], "keep": "postgres"}, "tools[0].name"),
    ],
)
def test_a_bad_catalog_is_refused_and_nothing_is_written(
    servers: tuple[Server, Server], body: dict[str, Any], field: str
):
    answer = servers[0].client.put("/v1/catalogs/bad", json=body, headers={"x-api-key": ACME_OLD})
    assert answer.status_code == 422
    assert field in answer.text
    assert (
        servers[0].client.get("/v1/catalogs/bad", headers={"x-api-key": ACME_OLD}).status_code
        == 404
    )


def test_a_patch_means_the_same_as_for_a_whole_catalog(servers: tuple[Server, Server]):
    server, head = servers[0], {"x-api-key": ACME_OLD}
    change(server, "PUT", {"tools": TOOLS, "keep": "postgres"}, "same")
    before = server.client.get("/v1/catalogs/same", headers=head).json()
    assert change(server, "PATCH", {"upsert": TOOLS[:1]}, "same") == 200
    assert server.client.get("/v1/catalogs/same", headers=head).json() == before
    first = TOOLS[0]["name"]
    both = {"upsert": TOOLS[:1], "remove": [first]}
    assert change(server, "PATCH", both, "same") == 200
    assert server.client.get(f"/v1/catalogs/same/tools/{first}", headers=head).status_code == 404
    assert change(server, "PATCH", {"status": {first: "unavailable"}}, "same") == 404
    new = {"upsert": [{"name": "brand_new"}], "status": {"brand_new": "unavailable"}}
    assert change(server, "PATCH", new, "same") == 200
    assert server.client.get("/v1/catalogs/same", headers=head).json()["tools"] == len(TOOLS)


@pytest.mark.parametrize(
    "tool",
    [
        {"name": "nul\0name"},
        {"name": "tagged", "tags": ["a\0b"]},
        {"name": "長" * 1_024},
    ],
)
def test_what_postgresql_cannot_have_is_refused(
    servers: tuple[Server, Server], tool: dict[str, Any]
):
    assert change(servers[0], "PATCH", {"upsert": [tool]}) == 422


def test_a_tool_with_a_name_too_long_to_ask_for_is_found_by_the_others(
    servers: tuple[Server, Server],
):
    long = "".join(sha256(bytes([number])).hexdigest() for number in range(80))
    definition = {"name": long, "description": "Grind corn to flour"}
    tool = {"name": "grind_corn", "definition": definition}
    assert change(servers[0], "PUT", {"tools": [tool], "keep": "postgres"}, "mill") == 201
    answer = ask(servers[1], "grind_corn", catalog="mill")
    assert answer.json()["selected_names"] == ["grind_corn"]


def test_nul_characters_in_questions_match_nothing(servers: tuple[Server, Server]):
    assert names(servers[0], "read\0 a file", always_keep=["a\0"])[0] == "read_file"
    assert names(servers[0], "read a file", filters={"only": ["a\0"]}) == []
    assert names(servers[0], "read a file", filters={"tags": ["a\0"]}) == []
    assert change(servers[0], "PATCH", {"remove": ["a\0"]}) == 200
    assert get(servers[0], "/tools/a%00").status_code == 404


def found_by_a_new_process(folder: Path, store: PostgresServer) -> str:
    """Return the first tool for reading a file, by a service that has compiled nothing yet."""
    settings: dict[str, Any] = {"store": store.url, "api_keys": f"acme={ACME_OLD}"}
    with serving(folder, **settings, latency_budget_ms=10_000) as server:
        return names(server, "read a file")[0]


def test_a_damaged_row_is_compiled_anew(
    servers: tuple[Server, Server], postgres_server: PostgresServer, tmp_path: Path
):
    postgres_server.ask("UPDATE toolscout.tools SET compiled = '\\x00' WHERE name = 'read_file';")
    assert found_by_a_new_process(tmp_path, postgres_server) == "read_file"


@pytest.mark.parametrize("wire", ["junk", "[]", '{"name": 5}', '{"name": "another"}'])
def test_a_row_that_is_no_tool_is_found_no_more_until_it_is_written_anew(
    servers: tuple[Server, Server], postgres_server: PostgresServer, wire: str
):
    tools = crowd(3, f"spoilt{len(wire)}")
    spoilt = tools[0]["name"]
    body = {"tools": tools, "keep": "postgres"}
    assert change(servers[0], "PUT", body, "spoilt") in (200, 201)
    query = f"UPDATE toolscout.tools SET wire = '{wire}' WHERE name = '{spoilt}';"
    postgres_server.ask(query)
    asked = {"catalog": "spoilt", "detail": "full", "explain": True, "top_k": 3}
    assert spoilt not in names(servers[0], spoilt, **asked)
    assert change(servers[0], "PATCH", {"status": {spoilt: "unavailable"}}, "spoilt") == 404
    assert change(servers[0], "PUT", body, "spoilt") == 200
    assert names(servers[0], spoilt, **asked)[0] == spoilt


def test_a_key_that_sees_a_part_is_not_told_how_much_there_is(servers: tuple[Server, Server]):
    answer = ask(servers[0], "show the diff", LIMITED, explain=True, no_match_below=0)
    assert answer.json()["counts"]["unique"] == 1
    assert answer.headers["x-tool-selection"].startswith("1->1")


def test_a_key_that_sees_a_part_learns_nothing_of_hidden_tools(servers: tuple[Server, Server]):
    seen = [DIFF, {**DIFF, "name": "git.show_log", "description": "Show the log of a project"}]
    ledger = {"description": "Show the differences of a ledger"}
    hidden = [{"name": f"ledger_{n}", **ledger} for n in range(20)]
    worlds = {"few": [*seen, *hidden[:2]], "many": [*seen, *hidden, RELEASED]}
    told = []
    for name, tools in worlds.items():
        assert change(servers[0], "PUT", {"tools": tools, "keep": "postgres"}, name) == 201
        found = []
        for ranker in ("hybrid", "bm25", "semantic"):
            fields = {"catalog": name, "explain": True, "ranker": ranker}
            answer = ask(servers[0], "show the differences", LIMITED, **fields)
            shown = answer.json()
            assert shown["selected_names"][:1] == ["git.show_diff"]
            for passing in ("turn", "request_id", "timings_ms"):
                shown.pop(passing, None)
            found.append((shown, answer.headers["x-catalog-digest"]))
        one = servers[0].client.get(
            f"/v1/catalogs/{name}/tools/git.show_diff", headers={"x-api-key": LIMITED}
        )
        told.append((found, one.json(), one.headers["etag"]))
    assert told[0] == told[1]


def test_a_deleted_catalog_is_gone_and_its_name_free(servers: tuple[Server, Server]):
    one, two = servers
    body = {"tools": TOOLS, "keep": "postgres"}
    assert change(one, "PUT", body, "short") == 201
    assert change(two, "PUT", {"tools": TOOLS[:1]}, "short") == 200  # whole, from now on
    assert get(one, "").status_code == 200
    assert change(two, "DELETE", None, "short") == 204
    asked = {"pattern": "read a file", "catalog": "short"}
    problem_of(one.post(asked, headers={"x-api-key": ACME_OLD}), 404, "catalog_unknown")


def test_without_the_database_searches_of_it_say_so(
    servers: tuple[Server, Server], postgres_server: PostgresServer
):
    with postgres_server.hanging():
        problem_of(ask(servers[0], "read a file", latency_budget_ms=500), 503, "store_unavailable")
    assert names(servers[1], "read a file")


def test_tools_of_another_build_are_compiled_anew(
    servers: tuple[Server, Server], postgres_server: PostgresServer, tmp_path: Path
):
    postgres_server.ask("UPDATE toolscout.tools SET build = 'older', compiled = '';")
    assert found_by_a_new_process(tmp_path, postgres_server) == "read_file"


def test_another_store_refuses_to_keep_tools_one_by_one(tmp_path: Path):
    with serving(tmp_path, api_keys=f"acme={ACME_OLD}") as server:
        assert change(server, "PUT", {"tools": TOOLS, "keep": "postgres"}) == 422
