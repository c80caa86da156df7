"""Bounds on what multiplies: past one a 422 says which; inside all, no request holds the loop."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.dearest import CATALOG, V1, names, tool_of, values
from tests.attacks.stalls import LIMIT_UNITS, least_stall
from tests.support import SEARCH, TOOLS, Process, crowd, problem_of, running, until
from toolscout.contract.bounds import (
    BOUNDS,
    MAX_ANSWER_BYTES,
    MAX_EVENTS,
    MAX_FILE_CHARS,
    MAX_FILTER_CHARS,
    MAX_MCP_BYTES,
    MAX_NAME_CHARS,
    MAX_NAMES,
    MAX_OFFERED,
    MAX_PATTERNS,
    MAX_RESOLVED,
    MAX_SHOWN,
    MAX_STATUSES,
    MAX_TAGS,
    MAX_TOOL_VALUES,
    MAX_VALUES,
)
from toolscout.server.openapi.document import make_document


@dataclass(frozen=True)
class Past:
    """A request past one bound: where it goes, what it says, and what the answer names."""

    path: str
    body: Any
    says: str


OF_TOOLS = {"pattern": "read", "tools": TOOLS}
AT_MOST_NAMES = f"at most {MAX_NAMES} entries"
PAST = [
    Past(SEARCH, OF_TOOLS | {"always_keep": names(MAX_NAMES + 1)}, AT_MOST_NAMES),
    Past(SEARCH, OF_TOOLS | {"filters": {"exclude": names(MAX_NAMES + 1)}}, AT_MOST_NAMES),
    Past(SEARCH, OF_TOOLS | {"filters": {"tags": ["x" * (MAX_FILTER_CHARS + 1)]}}, "1024"),
    Past(SEARCH, OF_TOOLS | {"context": {"files": ["x" * (MAX_FILE_CHARS + 1)]}}, "4096"),
    Past(SEARCH, OF_TOOLS | {"always_keep": names(MAX_VALUES + 10)}, f"at most {MAX_VALUES}"),
    Past(
        SEARCH,
        b'{"pattern":"x","tools":' + tool_of(values(MAX_TOOL_VALUES)) + b"}",
        f"at most {MAX_TOOL_VALUES}",
    ),
    Past(
        V1 + "filter",
        b'{"query":"x","tools":' + tool_of(values(500_000, b"{}")) + b"}",
        f"at most {MAX_TOOL_VALUES}",
    ),
    Past(
        SEARCH,
        {"pattern": "x", "tools": TOOLS * (10_000 * MAX_OFFERED // len(TOOLS) + 1)},
        f"at most {10_000 * MAX_OFFERED}",
    ),
    Past(V1 + "resolve", {"names": names(MAX_RESOLVED + 1), "tools": TOOLS}, str(MAX_RESOLVED)),
    Past(
        V1 + "search:batch",
        {"patterns": names(MAX_PATTERNS + 1), "tools": TOOLS},
        str(MAX_PATTERNS),
    ),
]


@pytest.fixture(scope="module")
def learning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with running(tmp_path_factory.mktemp("learning")) as service:
        yield service


@pytest.mark.parametrize("past", PAST, ids=lambda past: past.path.rpartition("/")[2])
def test_past_a_bound_the_answer_says_which(server: Process, past: Past):
    response = server.post(past.body, past.path)
    assert response.status_code == 422
    body = problem_of(response, 422, response.json()["code"])
    assert body["code"] in ("invalid_request", "too_many_tools")
    assert past.says in body["detail"].replace(",", "")
    assert body["errors"][0]["path"]


def test_a_list_of_entity_tags_is_bounded(server: Process):
    server.client.put(CATALOG, json={"tools": TOOLS}).raise_for_status()
    tags = ", ".join(f'"{number}"' for number in range(MAX_TAGS + 1))
    problem = problem_of(server.get(CATALOG, **{"if-none-match": tags}), 422, "invalid_request")
    assert str(MAX_TAGS) in problem["detail"]
    few = ", ".join(f'"{number}"' for number in range(MAX_TAGS))
    assert server.get(CATALOG, **{"if-none-match": few}).status_code == 200


def test_a_name_in_a_path_is_bounded(server: Process):
    server.client.put(CATALOG, json={"tools": TOOLS}).raise_for_status()
    path = f"{CATALOG}/tools/{'a.' * MAX_NAME_CHARS}"
    assert str(MAX_NAME_CHARS) in problem_of(server.get(path), 422, "invalid_request")["detail"]


def test_statuses_of_a_change_are_bounded(server: Process):
    server.client.put(CATALOG, json={"tools": TOOLS}).raise_for_status()
    statuses = dict.fromkeys(names(MAX_STATUSES + 1), "available")
    response = server.client.patch(CATALOG, json={"status": statuses})
    assert (
        f"at most {MAX_STATUSES:,} entries"
        in problem_of(response, 422, "invalid_request")["detail"]
    )


def test_an_answer_has_a_largest_size_and_says_what_to_lower(server: Process):
    tools = [{"name": f"tool_{n}", "definition": {"text": "x" * 100_000}} for n in range(50)]
    fields = {"include_definitions": True, "top_k": 50, "min_score": 0}
    problem = problem_of(server.search("tool", tools, **fields), 422, "invalid_request")
    assert str(MAX_ANSWER_BYTES) in problem["detail"]
    assert "top_k" in problem["detail"]
    assert server.search("tool", tools, include_definitions=True, top_k=5).status_code == 200
    server.client.put(CATALOG, json={"tools": tools}).raise_for_status()
    page = server.get(f"{CATALOG}/tools?detail=full&page_size=50")
    assert page.status_code in (200, 422)


def test_shown_tools_are_bounded_over_a_batch(server: Process):
    tools = crowd(1_000, "shownall")
    digest = server.search("spin", tools).headers["x-catalog-digest"]
    until(lambda: server.search("spin", catalog=digest).status_code == 200)
    body = {"patterns": ["spin"] * 8, "top_k": 1_000, "explain": True, "catalog": digest}
    problem = problem_of(server.post(body, V1 + "search:batch"), 422, "invalid_request")
    assert str(MAX_SHOWN) in problem["detail"]
    assert server.post(body | {"explain": False}, V1 + "search:batch").status_code == 200


def test_duplicate_keys_are_no_way_around_a_bound(server: Process):
    twice = b'{"pattern":"x","always_keep":' + values(300_000, b'"a"')
    twice += b',"always_keep":[],"tools":[{"name":"a"}]}'
    problem_of(server.post(twice), 422, "invalid_request")


def test_punctuation_in_texts_is_no_value(learning: Process):
    event = {"pattern": "spin, [a] gadget, " * 150, "tool": "spin", "success": True}
    body = {"events": [event] * MAX_EVENTS}
    assert learning.post(body, V1 + "feedback").status_code == 202
    patterns = {"patterns": ["[" * 4_096] * MAX_PATTERNS, "tools": TOOLS}
    assert learning.post(patterns, V1 + "search:batch").status_code == 200


def test_every_bound_is_in_the_description(server: Process):
    described = server.get("/openapi.json").json()["x-bounds"]
    assert [(each["what"], each["limit"]) for each in described] == [
        (bound.what, bound.limit) for bound in BOUNDS
    ]
    assert make_document()["x-bounds"] == described


def test_a_call_of_mcp_is_bounded(tmp_path: Path):
    pytest.importorskip("mcp")
    with running(tmp_path, "--mcp") as facade:
        junk = b'{"jsonrpc":"2.0","method":"x","params":' + values(MAX_MCP_BYTES) + b"}"
        headers = {"accept": "application/json, text/event-stream"}
        seen = least_stall(facade, lambda: facade.post(junk, "/mcp", headers))
        assert seen.stall_units <= LIMIT_UNITS
        problem = problem_of(facade.post(junk, "/mcp", headers), 413, "payload_too_large")
        assert str(MAX_MCP_BYTES) in problem["detail"]
