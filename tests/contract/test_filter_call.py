"""`filter`: the relevance filter of the proxy, as a call."""

from typing import Any

from tests.contract.test_calls import FILTER
from tests.support import Server, crowd

NAMES = ["search_code", "read_file", "deploy_app", "send_email", "create_db", "run_tests"]
TOOLS: list[dict[str, Any]] = [
    {"name": name, "description": text}
    for name, text in zip(
        NAMES,
        [
            "Search for code patterns",
            "Read file contents",
            "Deploy application to production",
            "Send an email notification",
            "Create database table",
            "Run test suite",
        ],
        strict=True,
    )
]


def split(server: Server, query: str, tools: Any = TOOLS, **fields: Any) -> tuple[list, list]:
    body = {"query": query, "tools": tools, **fields}
    response = server.post(body, FILTER)
    assert response.status_code == 200, response.text
    answer = response.json()
    assert set(answer) == {"kept", "deferred"}
    return answer["kept"], answer["deferred"]


def test_shared_words_decide_and_equals_keep_their_order(server: Server):
    kept, deferred = split(server, "read the code", min_tools=1, max_tools=2)
    assert kept == ["search_code", "read_file"]
    assert deferred == NAMES[2:]
    kept, _ = split(server, "nothing", TOOLS[::-1], min_tools=1, max_tools=2)
    assert kept == NAMES[::-1][:2]


def test_forced_tools_fill_places_first_and_stay_beyond_them(server: Server):
    forced = {"always_keep": ["create_db"], "expanded": ["send_email", "deploy_app"]}
    kept, deferred = split(server, "read file", min_tools=1, max_tools=2, **forced)
    assert kept == ["deploy_app", "send_email", "create_db"]
    assert set(kept) | set(deferred) == set(NAMES)


def test_a_tool_used_lately_goes_before_shared_words(server: Server):
    kept, _ = split(server, "read file", min_tools=1, max_tools=1, recent=["run_tests"])
    assert kept == ["run_tests"]


def test_defaults(server: Server):
    tools = crowd(100, "orchard")
    kept, deferred = split(server, "spin orchard 7", tools)
    assert (len(kept), len(deferred)) == (25, 75)
    assert "orchard_7_spin" in kept
    kept, deferred = split(server, "spin", tools[:10])
    assert (len(kept), len(deferred)) == (8, 2)
    assert split(server, "spin", tools[:5])[1] == []


def test_nothing_is_deferred_when_all_would_stay(server: Server):
    kept, deferred = split(server, "zzz", min_tools=1, max_tools=100, target_ratio=1)
    assert (kept, deferred) == (NAMES, [])


def test_a_tool_sent_twice_counts_once(server: Server):
    kept, deferred = split(server, "read", TOOLS + TOOLS, min_tools=1, max_tools=2)
    assert sorted(kept + deferred) == sorted(NAMES)


def test_by_digest_equals_come_in_the_order_of_their_names(server: Server):
    digest = server.search(tools=TOOLS).headers["x-catalog-digest"]
    body = {"query": "zzz", "catalog": digest, "min_tools": 1, "max_tools": 2}
    assert server.post(body, FILTER).json()["kept"] == ["create_db", "deploy_app"]


def test_descriptions_inside_definitions_count(server: Server):
    inside = {"name": "q9", "definition": {"function": {"description": "Paints zebras"}}}
    kept, _ = split(server, "zebras", [*TOOLS, inside], min_tools=1, max_tools=1)
    assert kept == ["q9"]


def test_null_is_absent(server: Server):
    nulls = dict.fromkeys(
        ["min_tools", "max_tools", "target_ratio", "always_keep", "recent", "expanded"]
    )
    assert split(server, "read", **nulls) == split(server, "read")
